"""The state of both stages at time zero, and room for more when it runs short."""

from math import ceil, inf
from typing import Any, Final

import numpy as np

from penstock.core.errors import PlantError
from penstock.core.graph import Module
from penstock.core.panes import Panes
from penstock.plant.twin.panes_costs import Costs
from penstock.plant.twin.panes_state import (
    LEDGER,
    PANE,
    PANE_CLOCK,
    REMEMBERED,
    RESULT,
    TASK,
    TUPLE,
    WINDOW,
    WINDOW_CLOCK,
    WORKER,
    PaneState,
)
from penstock.plant.twin.state import NOBODY, Array

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
) -> PaneState:
    """No tuple anywhere, and the initial workers waiting; `heaviest` is a window's most tuples."""
    workers, table = pane_stage.max_replicas, _table(heaviest)
    open_panes = ceil(slack * _SECOND / panes.length) + 8
    rows = panes.window // panes.length
    state = PaneState(
        clock=np.zeros(1, PANE_CLOCK),
        workers=np.zeros(workers, WORKER),
        tuples=np.zeros(0, TUPLE),
        panes=np.zeros(open_panes, PANE),
        counts=np.zeros((open_panes, workers), np.int64),
        results=np.zeros(max(1024, 4 * workers), RESULT),
        ledger=np.zeros(4 * open_panes, LEDGER),
        sizes=np.zeros((REMEMBERED, workers), np.int64),
        costs=costs.of_tuples(table),
        skyline=costs.sizes(table),
        other=np.zeros(1, WINDOW_CLOCK),
        windows=np.zeros(4 * rows + 8, WINDOW),
        parts=np.zeros((4 * rows + 8, rows * (workers + 2)), np.int64),
        tasks=np.zeros(window_stage.max_replicas, TASK),
        finished=np.zeros((1024, 2)),
        rates=np.array(costs.of_tasks),
    )
    state.panes["owner"] = NOBODY
    state.ledger["expected"] = -1
    _set_clocks(state, panes, slack)
    state.clock["max_slack"] = max_slack
    state.clock["active"] = pane_stage.initial_replicas
    state.other["active"] = window_stage.initial_replicas
    state.other["merges"] = merges
    return more_tuples(state)


def _table(heaviest: float) -> int:
    """Entries of the tables of costs and sizes."""
    return int(min(max(2 * heaviest, 1024), _TABLE))


def _set_clocks(state: PaneState, panes: Panes, slack: float) -> None:
    clock, other = state.clock, state.other
    clock["length"], clock["slack"] = panes.length / _SECOND, slack
    clock["gap"], clock["announced"] = PUNCTUATION_GAP, -inf
    clock["threshold"], clock["free"] = inf, NOBODY
    clock["newest"], clock["last"] = -inf, -1
    clock["pace"] = other["pace"] = 1.0
    other["panes"] = panes.window // panes.length
    other["stride"] = panes.slide // panes.length


def more_tuples(state: PaneState) -> PaneState:
    """Room for twice as many tuples that wait."""
    old, clock = state.tuples, state.clock[0]
    size = max(2 * len(old), 4096)
    if size > MOST_TUPLES:
        raise PlantError(
            f"more than {len(old):,} tuples wait after {clock['now']:g} s, and the twin holds at "
            "most so many; lower the rate, or let the pane stage have more workers"
        )
    made = _longer(old, size)
    made["next"][len(old) :] = np.arange(len(old) + 1, size + 1)
    made["next"][-1] = clock["free"]
    clock["free"] = len(old)
    clock["spare"] += size - len(old)
    return state._replace(tuples=made)


def more_results(state: PaneState) -> PaneState:
    """Room for twice as many results under way."""
    return state._replace(results=_longer(state.results, 2 * len(state.results)))


def more_panes(state: PaneState) -> PaneState:
    """Room for twice as many open panes."""
    clock, size = state.clock[0], 2 * len(state.panes)
    live = (int(clock["oldest"]), int(clock["last"]) + 1)
    panes, counts = _ring(state.panes, size, live), _ring(state.counts, size, live)
    numbers = np.arange(*live) % size
    spare = np.setdiff1d(np.arange(size), numbers)
    panes["owner"][spare] = NOBODY
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
    if size > MOST_WINDOWS:
        raise PlantError(
            f"more than {len(state.windows):,} windows wait after {other['now']:g} s, and the twin "
            "holds at most so many; lower the rate, or let the window stage have more workers"
        )
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
    return state._replace(finished=_longer(state.finished, 2 * len(state.finished)))


def _longer(old: Array, size: int) -> Array:
    made: Array = np.zeros((size, *old.shape[1:]), old.dtype)
    made[: len(old)] = old
    return made


def _ring(old: Any, size: int, live: tuple[int, int]) -> Any:
    """A larger ring with the same numbers in it."""
    made = np.zeros((size, *old.shape[1:]), old.dtype)
    numbers = np.arange(*live)
    made[numbers % size] = old[numbers % len(old)]
    return made
