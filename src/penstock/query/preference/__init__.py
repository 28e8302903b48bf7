"""Preference queries over streams that are out of order: the best rows of sliding windows.

`api` has the calls for users, `criterion` what is best, and `stages` the two stages of a query. The
pane stage (`pane_stage`) finds the best tuples of each part of a pane, with heavy panes split by
`splitting`. The window stage collects parts, finds complete windows by `punctuation` (`emitter`),
and merges parts and answers windows. `tuples` and `parts` are what travels between them,
`measures` what a controller learns about a running query.
"""

from penstock.query.preference.api import Settings, prefer, skyline, top_delta
from penstock.query.preference.measures import Measures
from penstock.query.preference.splitting import Splitting

__all__ = ["Measures", "Settings", "Splitting", "prefer", "skyline", "top_delta"]
