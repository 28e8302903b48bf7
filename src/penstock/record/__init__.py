"""What a run leaves behind: a folder with its settings, every tick, and a summary."""

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
