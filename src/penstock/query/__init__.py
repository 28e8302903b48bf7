"""Operators for Spark users.

| operator | what it is for |
|---|---|
| `skyline` | the rows of each window that no other dominates |
| `top_delta` | the rows of each window that are dominated in the fewest columns |
| `prefer` | the same by a preference of your own |
| `Splitting` | heavy panes split over workers, by a threshold that changes while a query runs |
| `Measures` | metrics of both stages for a batch of a running query |
| `keyed` | state by key behind a routing table that changes while the query runs |
| `kernels` | skyline and dominance factors of plain arrays; needs no Spark |
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.query.preference import Measures, Settings, Splitting, prefer, skyline, top_delta


__all__ = ["Measures", "Settings", "Splitting", "prefer", "skyline", "top_delta"]


def __getattr__(name: str) -> Any:
    """Import Spark only for those who ask for what needs it."""
    if name in __all__:
        return getattr(import_module("penstock.query.preference"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
