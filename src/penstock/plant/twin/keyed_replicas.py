"""Replicas of a keyed operator: each serves its rows one by one, in the order they were routed."""

from math import inf
from typing import Any

from penstock.model.compiling import inlined
from penstock.plant.twin.keyed_moves import close, depart_if_done
from penstock.plant.twin.keyed_state import MOVE_OUT, ROW_OF_KEY
from penstock.plant.twin.latency import record
from penstock.plant.twin.rows import append, give_back, pop
from penstock.plant.twin.state import NOBODY


@inlined
def is_full(state: Any, row: Any) -> bool:
    """Whether the replica that has a row's key has no room for it."""
    replica = state.replicas[state.visits[state.keys[row.key].visit].replica]
    return bool(replica.waiting >= state.clock[0].buffer)


@inlined
def route(state: Any, index: int) -> None:
    """Send a row to the replica that has its key."""
    row = state.rows[index]
    row.visit = state.keys[row.key].visit
    visit = state.visits[row.visit]
    replica = state.replicas[visit.replica]
    visit.left += 1
    replica.left += 1
    replica.waiting += 1
    append(state.rows, replica.queue, index)
    engage(state, visit.replica)


@inlined
def engage(state: Any, number: int) -> None:
    """A replica without a row takes its next one, reading messages and setting rows aside."""
    replica = state.replicas[number]
    if replica.serving == NOBODY and replica.ready.count > 0:
        _start(state, number, pop(state.rows, replica.ready))
    while replica.serving == NOBODY and replica.queue.count > 0:
        index: int = replica.queue.first
        row = state.rows[index]
        if row.kind == ROW_OF_KEY:
            pop(state.rows, replica.queue)
            replica.waiting -= 1
            _take_up(state, number, index)
        elif row.kind == MOVE_OUT:
            pop(state.rows, replica.queue)
            close(state, row.visit)
            give_back(state.clock[0].rows, state.rows, index)
        elif state.visits[row.visit].here:
            pop(state.rows, replica.queue)
            give_back(state.clock[0].rows, state.rows, index)
        else:
            return


@inlined
def _take_up(state: Any, number: int, index: int) -> None:
    visit = state.visits[state.rows[index].visit]
    if visit.here:
        _start(state, number, index)
    else:
        append(state.rows, visit.pending, index)


@inlined
def _start(state: Any, number: int, index: int) -> None:
    clock, row = state.clock[0], state.rows[index]
    row.begun = clock.now
    state.replicas[number].serving = index
    state.done[number] = clock.now + row.work * clock.pace
    clock.busy += 1
    clock.totals.started += 1
    clock.totals.waited += clock.now - row.arrived


@inlined
def end_service(state: Any, number: int) -> None:
    """A replica is done with its row, and takes the next."""
    clock, replica = state.clock[0], state.replicas[number]
    index: int = replica.serving
    replica.serving = NOBODY
    state.done[number] = inf
    clock.busy -= 1
    replica.left -= 1
    if replica.left == 0 and number >= clock.active:
        clock.existing -= 1
    _count(state, state.rows[index])
    _write_down(state, state.rows[index], number)
    _leave(state, index)
    engage(state, number)


@inlined
def _leave(state: Any, index: int) -> None:
    visit: int = state.rows[index].visit
    give_back(state.clock[0].rows, state.rows, index)
    state.visits[visit].left -= 1
    depart_if_done(state, visit)


@inlined
def _count(state: Any, row: Any) -> None:
    totals, key = state.clock[0].totals, state.keys[row.key]
    excess, age = row.work - totals.nominal, state.clock[0].now - row.arrived
    totals.served += 1
    totals.finished += 1
    totals.stayed += age
    totals.excess += excess
    totals.excess_squared += excess * excess
    key.served += 1
    key.work += row.work
    record(state.ages, 0, age)


@inlined
def _write_down(state: Any, row: Any, number: int) -> None:
    clock = state.clock[0]
    if state.journal.size > 0:
        entry = state.journal[clock.written]
        clock.written += 1
        entry.number, entry.key, entry.replica = row.number, row.key, number
        entry.arrived, entry.begun, entry.done = row.arrived, row.begun, clock.now
