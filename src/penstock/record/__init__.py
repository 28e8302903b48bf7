"""What a run leaves behind: a folder with its settings, every tick, and a summary.

Writing: `folder` is the run folder as it is written, with `settings` of the run, values as JSON by
`codec`, without `secrets`, on a `disk` that may be full. Reading: `load` reads a folder back,
`follow` while it grows, and `replay` plays it as a plant. What it came to: `measures` are columns
over time, `acts` what each step changed, `latency` and `summary` the figures, `running` the same
figures while a run goes on, `results` the same in words.
"""

from penstock.record.codec import tick_from_json, tick_to_json
from penstock.record.folder import RunFolder
from penstock.record.load import Run, load
from penstock.record.settings import FORMAT, RunSettings, run_path
from penstock.record.summary import SloCheck, Summary, summarise

__all__ = [
    "FORMAT",
    "Run",
    "RunFolder",
    "RunSettings",
    "SloCheck",
    "Summary",
    "load",
    "run_path",
    "summarise",
    "tick_from_json",
    "tick_to_json",
]
