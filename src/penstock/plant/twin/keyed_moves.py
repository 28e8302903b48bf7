"""The state of a key moves from one replica to another (mpc, Section 4.2.2).

Messages stand in the same queues as rows, so that a replica that reads `move out` has served or set
aside every row of the key that was routed to it.
"""

from typing import Any

from penstock.model.compiling import inlined
from penstock.plant.twin.keyed_state import MOVE_IN, MOVE_OUT, R_BLK
from penstock.plant.twin.rows import append, give_back, pop, take
from penstock.plant.twin.state import NOBODY


@inlined
def open_visit(state: Any, key_index: int, replica: int) -> None:
    """From now on a key's rows are another replica's; its state follows."""
    clock, key, visits = state.clock[0], state.keys[key_index], state.visits
    index, before = take(clock.visits, visits), key.visit
    visit = visits[index]
    visit.key, visit.replica, visit.onward = key_index, replica, NOBODY
    visit.here, visit.closed, visit.left, visit.pending.count = 0, 0, 0, 0
    visits[before].onward = index
    key.visit, key.moved = index, 1
    clock.away += 1
    _tell(state, MOVE_OUT, before)


@inlined
def announce(state: Any) -> None:
    """Under R-BLK, tell replicas to wait for keys, behind whatever takes keys away from them."""
    for k in range(state.keys.size):
        if state.keys[k].moved and state.clock[0].protocol == R_BLK:
            _tell(state, MOVE_IN, state.keys[k].visit)
        state.keys[k].moved = 0


@inlined
def close(state: Any, index: int) -> None:
    """The last row of a visit has come."""
    state.visits[index].closed = 1
    depart_if_done(state, index)


@inlined
def depart_if_done(state: Any, index: int) -> None:
    """After its last row a key's state leaves for the next visit."""
    clock, visits = state.clock[0], state.visits
    visit = visits[index]
    if visit.closed and visit.here and visit.left == 0:
        onward: int = visit.onward
        visits[onward].arrives = clock.now + clock.migration_time
        append(visits, clock.transit, onward)
        give_back(clock.visits, visits, index)


@inlined
def settle(state: Any) -> int:
    """The state that is due has come; rows that waited for it are ready. Says at which replica."""
    clock, visits, rows = state.clock[0], state.visits, state.rows
    index = pop(visits, clock.transit)
    visit = visits[index]
    replica: int = visit.replica
    visit.here = 1
    clock.away -= 1
    clock.moved += 1
    while visit.pending.count > 0:
        append(rows, state.replicas[replica].ready, pop(rows, visit.pending))
    depart_if_done(state, index)
    return replica


@inlined
def _tell(state: Any, kind: int, visit: int) -> None:
    index = take(state.clock[0].rows, state.rows)
    state.rows[index].kind, state.rows[index].visit = kind, visit
    append(state.rows, state.replicas[state.visits[visit].replica].queue, index)
