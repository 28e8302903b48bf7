"""The event loop of a keyed operator: what happens next happens, until the end of the step."""

from math import inf
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.model.compiling import entry, inlined
from penstock.plant.twin.keyed_moves import announce, open_visit, settle
from penstock.plant.twin.keyed_replicas import end_service, engage
from penstock.plant.twin.keyed_splitter import (
    flow,
    go_on,
    hand_out,
    hand_out_if_ready,
    receive,
    stop_handing_out,
)

REACHED: Final = 0
"""The end of the step."""
MORE_ARRIVALS: Final = 1
"""Every arrival in hand has come; the next may come before the end."""
MORE_ROWS: Final = 2
"""The next row may find no room."""
MORE_JOURNAL: Final = 3
"""The journal is full."""


@entry
def advance(state: Any, arrivals: NDArray[np.float64], end: float) -> int:
    """Let everything happen that happens by `end`; says why it stopped.

    Of events at the same moment arrivals come first, then states, then what the splitter hands out.
    """
    clock = state.clock[0]
    while clock.rows.spare > 0:
        if clock.cursor == arrivals.size:
            return MORE_ARRIVALS
        if state.journal.size > 0 and clock.written == state.journal.size:
            return MORE_JOURNAL
        arrival, replica = arrivals[clock.cursor], _first_done(state)
        moment = min(arrival, _next_state(state), clock.hand_due, state.done[replica])
        if moment > end:
            _pass_time(clock, end)
            clock.totals.seconds = end
            return REACHED
        _pass_time(clock, moment)
        if arrival <= moment:
            clock.cursor += 1
            receive(state)
        else:
            _happen(state, replica)
    return MORE_ROWS


@entry
def reroute(state: Any, owners: NDArray[np.int64], replicas: int) -> None:
    """Put another routing table in force; there is room for two messages a key, and a visit."""
    clock = state.clock[0]
    stop_handing_out(state)
    for k in range(state.keys.size):
        if state.visits[state.keys[k].visit].replica != owners[k]:
            open_visit(state, k, owners[k])
    announce(state)
    clock.active, clock.span = replicas, max(clock.span, replicas)
    clock.existing = replicas
    for r in range(replicas, clock.span):
        clock.existing += state.replicas[r].left > 0
    for r in range(clock.span):
        engage(state, r)
    flow(state)
    hand_out_if_ready(state)


@inlined
def _happen(state: Any, replica: int) -> None:
    clock = state.clock[0]
    if _next_state(state) <= clock.now:
        engage(state, settle(state))
        hand_out_if_ready(state)
        go_on(state)
    elif clock.hand_due <= clock.now:
        hand_out(state)
    else:
        end_service(state, replica)
        go_on(state)


@inlined
def _next_state(state: Any) -> float:
    transit = state.clock[0].transit
    return state.visits[transit.first].arrives if transit.count > 0 else inf


@inlined
def _first_done(state: Any) -> int:
    best = 0
    for r in range(1, state.clock[0].span):
        if state.done[r] < state.done[best]:
            best = r
    return best


@inlined
def _pass_time(clock: Any, now: float) -> None:
    seconds, totals = now - clock.since, clock.totals
    totals.busy_seconds += clock.busy * seconds
    totals.server_seconds += clock.existing * seconds
    totals.row_seconds += (totals.arrived - totals.finished) * seconds
    clock.now = clock.since = now
