"""The best rows of sliding windows: preference queries over streams that are out of order.

`api` has the calls for users and `criterion` says what is best. A query has two stages (`stages`):
`panestage` finds the best tuples of each part of a pane, with heavy panes split by `splitting`;
`emit` and `emitter` collect parts and find the windows that are complete by `punctuation`, and
`tasks` merge parts and answer windows. `tuples`, `part` and `work` are what travels between them,
`measures` what a controller learns of a running query.
"""

from penstock.query.preference.api import Settings, prefer, skyline, top_delta
from penstock.query.preference.measures import Measures
from penstock.query.preference.splitting import Splitting

__all__ = ["Measures", "Settings", "Splitting", "prefer", "skyline", "top_delta"]
