"""All that the twin of a pane stage and a window stage knows at one moment.

Tuples that wait or are served at a worker of the pane stage are linked lists. Panes, what is known
of their parts, and windows are rings: the one with number k is at k modulo the ring's size.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.plant.twin.state import LANE, Array, _sources

UPDATE: Final = 0
"""A task that puts a part of a pane into the result of a window (WIN_UPDATE)."""
MERGE: Final = 1
"""A task that makes one part of two parts of a window."""
REMEMBERED: Final = 5
"""Closed panes whose parts make the base of the splitting threshold."""

PANE_CLOCK: Final = np.dtype(
    [
        ("now", "f8"),
        ("cursor", "i8"),  # next of the arrivals in hand
        ("length", "f8"),  # seconds of a pane
        ("newest", "f8"),  # time of the newest tuple
        ("slack", "f8"),  # K: by how much a tuple may be late
        ("max_slack", "f8"),  # the longest that is waited for a tuple
        ("delay", "f8"),  # the latest tuple since the newest was the newest
        ("punctuation", "f8"),
        ("announced", "f8"),  # when the last punctuation was sent
        ("gap", "f8"),  # seconds between two punctuations at the least
        ("oldest", "i8"),  # the first pane that is not closed
        ("last", "i8"),  # the last pane that got a tuple
        ("threshold", "f8"),  # tuples of a part before the next worker takes over
        ("active", "i8"),  # workers that get tuples
        ("free", "i8"),  # first place for a tuple that is free
        ("spare", "i8"),  # and how many are
        ("pace", "f8"),  # seconds for a second of work
        ("arrived", "i8"),
        ("dropped", "i8"),
        ("closed", "i8"),  # panes
        ("parts", "i8"),  # of closed panes
        ("kept", "f8"),  # tuples that are in the skyline of their part
        ("sent", "i8"),  # results of parts under way to the window stage
        ("turns", "i8"),  # results that were ever sent
        ("expecting", "i8"),  # the oldest pane of which the window stage waits for a part
        (f"sources_{_sources()}", "i8"),  # keeps numba from loading code of an older version
    ]
)

WORKER: Final = np.dtype(
    [
        ("queue", LANE),  # tuples that are not done
        ("free_at", "f8"),  # when it is done with all of them
        ("service", "f8"),  # seconds of work that it ever got
        ("scheduled", "i8"),  # tuples that it got in this period
        ("done", "i8"),  # tuples that it was done with
        ("done_service", "f8"),
        ("busy_before", "f8"),  # seconds of work done before this period
    ]
)

TUPLE: Final = np.dtype([("done", "f8"), ("service", "f8"), ("next", "i8")])

PANE: Final = np.dtype([("owner", "i8"), ("parts", "i8")])

RESULT: Final = np.dtype([("at", "f8"), ("turn", "i8"), ("pane", "i8"), ("tuples", "i8")])

LEDGER: Final = np.dtype([("expected", "i8"), ("received", "i8")])  # -1: not closed yet

WINDOW_CLOCK: Final = np.dtype(
    [
        ("now", "f8"),
        ("active", "i8"),  # workers that get tasks
        ("busy", "i8"),
        ("merges", "i8"),  # whether tasks may merge parts
        ("panes", "i8"),  # of a window
        ("stride", "i8"),  # panes between two windows
        ("first", "i8"),  # the oldest window that is not done
        ("last", "i8"),  # the first window of which nothing has come
        ("pending", "i8"),  # parts that wait in all windows
        ("pace", "f8"),
        ("received", "i8"),  # parts
        ("turns", "i8"),  # tasks that were begun
        ("updates", "i8"),  # tasks that were done
        ("merged", "i8"),
        ("busy_seconds", "f8"),
        ("worker_seconds", "f8"),
        ("finished", "i8"),  # windows in this step
        ("windows", "i8"),  # and since the start
        (f"sources_{_sources()}", "i8"),
    ]
)

WINDOW: Final = np.dtype(
    [
        ("tuples", "i8"),  # that its result takes into account
        ("busy", "i8"),
        ("merging", "i8"),  # merges under way
        ("panes", "i8"),  # of which all parts have come
        ("head", "i8"),  # of the parts that wait
        ("count", "i8"),
        ("done", "i8"),
    ]
)

TASK: Final = np.dtype(
    [("done", "f8"), ("turn", "i8"), ("kind", "i8"), ("window", "i8"), ("tuples", "i8")]
)


class PaneState(NamedTuple):
    """The arrays, in the order in which compiled code takes them."""

    clock: Array
    """Of the pane stage: one record."""
    workers: Array
    tuples: Array
    panes: Array
    counts: NDArray[np.int64]
    """By pane and worker, tuples of the part."""
    results: Array
    """A heap: what the window stage will receive, the earliest first."""
    ledger: Array
    """By pane, its parts as the window stage counts them."""
    sizes: NDArray[np.int64]
    """By closed pane modulo REMEMBERED and by part, its tuples; 0 for none."""
    costs: NDArray[np.float64]
    """Seconds that a tuple takes where so many came before it in its part."""
    skyline: NDArray[np.float64]
    """Tuples in the skyline of so many."""
    other: Array
    """Clock of the window stage: one record."""
    windows: Array
    parts: NDArray[np.int64]
    """By window, tuples behind each part that waits: rings."""
    tasks: Array
    """Those under way."""
    finished: NDArray[np.float64]
    """End of each window that was done in this step, and when it was done."""
    rates: NDArray[np.float64]
    """Seconds of a task, and of a comparison in it."""
