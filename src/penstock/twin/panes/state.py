"""All that the twin of a pane stage and a window stage knows at one moment.

Tuples that wait or are served at a worker of the pane stage are linked lists. Panes, what is known
of their parts, and windows are rings: the one with number k is at k modulo the ring's size.
"""

from dataclasses import dataclass
from math import ceil, inf
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.core.graph import Module
from penstock.core.panes import Panes
from penstock.model.skyline import Floats, check_dimensions, comparisons, expected_sizes
from penstock.twin.observing import TOTALS
from penstock.twin.records import (
    BATCH,
    CHANCE,
    HEAP,
    INDEX,
    LANE,
    NO_INDEX,
    NODE,
    POOL,
    Array,
    check_room,
    equip_batch,
    grown,
    longer,
)

UPDATE: Final = 0
"""A task that puts a part of a pane into the result of a window (WIN_UPDATE)."""
MERGE: Final = 1
"""A task that makes one part of two parts of a window."""
REACHED: Final = 0
"""Everything has happened until the end of the step."""
MORE_ARRIVALS: Final = 1
"""The next tuple may come before the end; for the rest see `more`."""
MORE_TUPLES: Final = 2
MORE_RESULTS: Final = 3
MORE_PANES: Final = 4
MORE_LEDGER: Final = 5
MORE_WINDOWS: Final = 6
MORE_PARTS: Final = 7
MORE_FINISHED: Final = 8
REMEMBERED: Final = 5
"""Closed panes whose parts make the base of the splitting threshold."""

STAGE: Final = np.dtype(
    [
        ("active", "i8"),  # workers that get tuples, or tasks
        ("pace", "f8"),  # seconds for a second of work
        ("batch", BATCH),
        ("chance", CHANCE),
        ("since", "f8"),  # the totals cover the time until then
        ("closed_busy", "f8"),  # busy and all worker-seconds when the last micro-batch ended
        ("closed_servers", "f8"),
        ("totals", TOTALS),  # of tuples, or of parts of panes
    ]
)
"""What both stages have in common with a station of the event loop."""

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
        ("free", INDEX),  # first place for a tuple that is free
        ("spare", "i8"),  # and how many are
        ("dropped", "i8"),  # tuples that came after their pane was closed
        ("closed", "i8"),  # panes
        ("parts", "i8"),  # of closed panes
        ("kept", "f8"),  # tuples that are in the skyline of their part
        ("sent", HEAP),  # results of parts under way to the window stage
        ("uncommitted", LANE),  # results of the open micro-batch
        ("results", POOL),  # places for more
        ("turns", "i8"),  # results that were ever sent
        ("expecting", "i8"),  # the oldest pane of which the window stage waits for a part
        ("distance", "f8"),  # seconds that a result takes to the window stage
        ("held", "i8"),  # tuples that have come and wait for a trigger
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

TUPLE: Final = np.dtype([("done", "f8"), ("service", "f8"), ("next", INDEX)], align=True)

PANE: Final = np.dtype([("owner", "i8"), ("parts", "i8")])

RESULT: Final = np.dtype([*NODE, ("pane", "i8"), ("tuples", "i8")])
"""Done when the part is at the window stage."""

LEDGER: Final = np.dtype([("expected", "i8"), ("received", "i8")])  # -1: not closed yet

WINDOW_CLOCK: Final = np.dtype(
    [
        ("now", "f8"),
        ("tasks", HEAP),  # those under way
        ("idle", POOL),  # places for more
        ("merges", "i8"),  # whether tasks may merge parts
        ("panes", "i8"),  # of a window
        ("stride", "i8"),  # panes between two windows
        ("first", "i8"),  # the oldest window that is not done
        ("last", "i8"),  # the first window of which nothing has come
        ("pending", "i8"),  # parts that wait in all windows
        ("turns", "i8"),  # tasks that were begun
        ("updates", "i8"),  # tasks that were done
        ("merged", "i8"),
        ("finished", "i8"),  # windows in this step
        ("committed", "i8"),  # those of them whose micro-batch has ended
        ("windows", "i8"),  # and since the start
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

TASK: Final = np.dtype([*NODE, ("kind", "i8"), ("window", "i8"), ("tuples", "i8")])


class PaneState(NamedTuple):
    """The arrays, in the order in which compiled code takes them."""

    stages: Array
    """Two records: the pane stage and the window stage."""
    clock: Array
    """Of the pane stage: one record."""
    workers: Array
    tuples: Array
    panes: Array
    counts: NDArray[np.int64]
    """By pane and worker, tuples of the part."""
    results: Array
    """What the window stage will receive."""
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


# What tuples and tasks of a preference query take, by the tuples that they are compared with.


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Seconds of work, on tuples whose coordinates are independent.

    >>> costs = Costs(tuple_time=30e-6, comparison=0.2e-6)
    >>> first, thousandth = costs.of_tuples(1000)[[0, 999]]
    >>> f"the first tuple of a part takes {first * 1e6:.0f} us, the 1000th {thousandth * 1e6:.0f}"
    'the first tuple of a part takes 30 us, the 1000th 99'
    """

    tuple_time: float = 0.0
    """Of a tuple in the pane stage, before it is compared."""
    task_time: float = 0.0
    """Of a task of the window stage, before tuples are compared."""
    comparison: float = 0.0
    """Of a comparison of two tuples in the pane stage,"""
    window_comparison: float | None = None
    """and in the window stage; the same unless given."""
    dimensions: int = 8
    """Coordinates of a tuple."""

    def __post_init__(self) -> None:
        """Refuse work that takes less than no time."""
        check_dimensions(self.dimensions)
        for name in ("tuple_time", "task_time", "comparison", "window_comparison"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < inf:
                raise SettingError(f"{name} of the twin must be 0 s or more, got {value:g}")

    def of_tuples(self, most: int) -> Floats:
        """Of a tuple of which 0, 1, 2... up to `most` others of its part came before."""
        compared = comparisons(most, dimensions=self.dimensions)
        return self.tuple_time + self.comparison * compared

    def sizes(self, most: int) -> Floats:
        """Tuples in the result of 0, 1, 2... up to `most` tuples."""
        return expected_sizes(most, dimensions=self.dimensions)

    @property
    def of_tasks(self) -> tuple[float, float]:
        """Of a task, and of a comparison in it."""
        each = self.comparison if self.window_comparison is None else self.window_comparison
        return self.task_time, each


# The state of both stages at time zero, and room for more when it runs short.


PUNCTUATION_GAP: Final = 0.010
"""Seconds between two punctuations, at the least."""
MOST_TUPLES: Final = 1 << 27
"""Tuples that may wait at once: three gigabytes of them."""
MOST_WINDOWS: Final = 1 << 17
"""Windows that may be open at once."""
_TABLE: Final = 1 << 21
"""Tuples up to which costs and sizes grow; skylines hardly do beyond."""
_SECOND: Final = 1e6


def build(
    pane_stage: Module,
    window_stage: Module,
    panes: Panes,
    costs: Costs,
    *,
    slack: float,
    max_slack: float = inf,
    heaviest: float,
    merges: bool,
    distance: float = 0.0,
    seed: np.random.SeedSequence | None = None,
) -> PaneState:
    """No tuple anywhere, and the initial workers waiting; `heaviest` is a window's most tuples."""
    workers, table = pane_stage.max_replicas, int(min(max(2 * heaviest, 1024), _TABLE))
    open_panes = ceil(slack * _SECOND / panes.length) + 8
    rows = panes.window // panes.length
    state = PaneState(
        stages=np.zeros(2, STAGE),
        clock=np.zeros(1, PANE_CLOCK),
        workers=np.zeros(workers, WORKER),
        tuples=np.zeros(0, TUPLE),
        panes=np.zeros(open_panes, PANE),
        counts=np.zeros((open_panes, workers), np.int64),
        results=np.zeros(0, RESULT),
        ledger=np.zeros(4 * open_panes, LEDGER),
        sizes=np.zeros((REMEMBERED, workers), np.int64),
        costs=costs.of_tuples(table),
        skyline=costs.sizes(table),
        other=np.zeros(1, WINDOW_CLOCK),
        windows=np.zeros(4 * rows + 8, WINDOW),
        parts=np.zeros((4 * rows + 8, rows * (workers + 2)), np.int64),
        tasks=np.zeros(0, TASK),
        finished=np.zeros((1024, 2)),
        rates=np.array(costs.of_tasks),
    )
    state.panes["owner"] = NO_INDEX
    state.ledger["expected"] = -1
    clock, other = state.clock[0], state.other[0]
    clock["length"], clock["distance"] = panes.length / _SECOND, distance
    clock["slack"], clock["max_slack"] = slack, max_slack
    clock["gap"], clock["announced"] = PUNCTUATION_GAP, -inf
    clock["newest"], clock["last"], clock["threshold"] = -inf, -1, inf
    other["panes"], other["stride"] = rows, panes.slide // panes.length
    other["merges"] = merges
    for pool in (clock, clock["results"], other["idle"]):
        pool["free"] = NO_INDEX
    clock["sent"]["first_done"] = other["tasks"]["first_done"] = NO_INDEX
    draws = (seed or np.random.SeedSequence(0)).generate_state(2, np.uint64)
    for stage, module, draw in zip(state.stages, (pane_stage, window_stage), draws, strict=True):
        equip_batch(stage["batch"], module)
        stage["active"], stage["chance"] = module.initial_replicas, draw
    tasks = grown(state.tasks, window_stage.max_replicas, other["idle"])
    return more_results(more_tuples(state._replace(tasks=tasks)))


def more_tuples(state: PaneState) -> PaneState:
    """Room for twice as many tuples that wait."""
    old, clock = state.tuples, state.clock[0]
    size = max(2 * len(old), 4096)
    remedy = "let the pane stage have more workers"
    check_room(size, MOST_TUPLES, "tuples wait", clock["now"], remedy)
    return state._replace(tuples=grown(old, size, clock))


def more_results(state: PaneState) -> PaneState:
    """Room for twice as many results under way."""
    size = max(2 * len(state.results), 1024, 4 * len(state.workers))
    return state._replace(results=grown(state.results, size, state.clock[0]["results"]))


def more_panes(state: PaneState) -> PaneState:
    """Room for twice as many open panes."""
    clock, size = state.clock[0], 2 * len(state.panes)
    live = (int(clock["oldest"]), int(clock["last"]) + 1)
    panes, counts = _ring(state.panes, size, live), _ring(state.counts, size, live)
    numbers = np.arange(*live) % size
    spare = np.setdiff1d(np.arange(size), numbers)
    panes["owner"][spare] = NO_INDEX
    return more_ledger(state._replace(panes=panes, counts=counts))


def more_ledger(state: PaneState) -> PaneState:
    """Room for twice as many panes with parts under way."""
    clock, size = state.clock[0], 2 * len(state.ledger)
    live = (int(clock["expecting"]), int(clock["expecting"]) + len(state.ledger))
    made = _ring(state.ledger, size, live)
    made["expected"][np.setdiff1d(np.arange(size), np.arange(*live) % size)] = -1
    return state._replace(ledger=made)


def more_windows(state: PaneState) -> PaneState:
    """Room for twice as many open windows."""
    other, size = state.other[0], 2 * len(state.windows)
    remedy = "let the window stage have more workers"
    check_room(size, MOST_WINDOWS, "windows wait", other["now"], remedy)
    live = (int(other["first"]), int(other["last"]))
    return state._replace(
        windows=_ring(state.windows, size, live), parts=_ring(state.parts, size, live)
    )


def more_parts(state: PaneState) -> PaneState:
    """Room for twice as many parts at each window, the first of them at the beginning."""
    old = state.parts
    made = np.zeros((len(old), 2 * old.shape[1]), np.int64)
    for place, window in enumerate(state.windows):
        made[place, : old.shape[1]] = np.roll(old[place], -int(window["head"]))
    state.windows["head"] = 0
    return state._replace(parts=made)


def more_finished(state: PaneState) -> PaneState:
    """Room for twice as many windows in a step."""
    return state._replace(finished=longer(state.finished, 2 * len(state.finished)))


def more(state: PaneState, lack: int) -> PaneState:
    """Room for twice as many of what compiled code found too little of."""
    growing = {
        MORE_TUPLES: more_tuples,
        MORE_RESULTS: more_results,
        MORE_PANES: more_panes,
        MORE_LEDGER: more_ledger,
        MORE_WINDOWS: more_windows,
        MORE_PARTS: more_parts,
        MORE_FINISHED: more_finished,
    }
    return growing[lack](state)


def _ring(old: Any, size: int, live: tuple[int, int]) -> Any:
    """A larger ring with the same numbers in it."""
    made = np.zeros((size, *old.shape[1:]), old.dtype)
    numbers = np.arange(*live)
    made[numbers % size] = old[numbers % len(old)]
    return made
