"""The splitter of a keyed operator: takes rows in, and sends each to the replica with its key.

It takes rows in order, and waits where the next one's replica is full. Under S-BLK it keeps the
rows of moving keys; once every state has come it hands them out one by one, and takes no others
meanwhile (mpc, Section 5.2.2).
"""

from math import inf
from typing import Any

from penstock.model.compiling import inlined
from penstock.plant.twin.draws import service_time, uniform
from penstock.plant.twin.keyed_replicas import is_full, route
from penstock.plant.twin.keyed_state import ROW_OF_KEY, S_BLK
from penstock.plant.twin.rows import append, pop, take


@inlined
def receive(state: Any) -> None:
    """A row comes. Its key and its work are drawn here, so no decision can change them."""
    clock, index = state.clock[0], take(state.clock[0].rows, state.rows)
    row, key_index = state.rows[index], _draw_key(state)
    key = state.keys[key_index]
    clock.mean = key.mean
    row.kind, row.key, row.number = ROW_OF_KEY, key_index, clock.totals.arrived
    row.arrived, row.work = clock.now, service_time(clock)
    key.arrived += 1
    clock.totals.arrived += 1
    _measure_gap(clock)
    append(state.rows, clock.input, index)
    flow(state)


@inlined
def flow(state: Any) -> None:
    """Take in rows until one has to wait."""
    clock, rows = state.clock[0], state.rows
    while clock.input.count > 0 and not clock.handing:
        row = rows[clock.input.first]
        if clock.protocol == S_BLK and _has_to_be_held(state, row):
            state.keys[row.key].held += 1
            append(rows, clock.held, pop(rows, clock.input))
        elif is_full(state, row):
            return
        else:
            route(state, pop(rows, clock.input))


@inlined
def hand_out_if_ready(state: Any) -> None:
    """Under S-BLK, begin to hand out when every state has come."""
    clock = state.clock[0]
    if clock.away == 0 and clock.held.count > 0 and not clock.handing:
        clock.handing = 1
        clock.hand_due = clock.now + clock.hand_out_time


@inlined
def stop_handing_out(state: Any) -> None:
    """Another table has come."""
    clock = state.clock[0]
    clock.handing = 0
    clock.hand_due = inf


@inlined
def hand_out(state: Any) -> None:
    """Hand out the row whose turn it is, or wait until its replica has room."""
    clock, rows = state.clock[0], state.rows
    if is_full(state, rows[clock.held.first]):
        clock.hand_due = inf
        return
    index = pop(rows, clock.held)
    state.keys[rows[index].key].held -= 1
    clock.hand_due = clock.now + clock.hand_out_time
    route(state, index)
    if clock.held.count == 0:
        stop_handing_out(state)
        flow(state)


@inlined
def go_on(state: Any) -> None:
    """A replica may have room again."""
    clock = state.clock[0]
    if clock.handing and clock.hand_due == inf:
        clock.hand_due = clock.now
    flow(state)


@inlined
def _has_to_be_held(state: Any, row: Any) -> bool:
    key = state.keys[row.key]
    return bool(key.held > 0 or not state.visits[key.visit].here)


@inlined
def _draw_key(state: Any) -> int:
    """By the alias method (Walker, 1977)."""
    draw = uniform(state.clock[0].key_chance) * state.keys.size
    place = int(draw)
    key = state.keys[place]
    return place if draw - place < key.limit else int(key.alias)


@inlined
def _measure_gap(clock: Any) -> None:
    """Mean and spread of the gaps between rows, by Welford's method."""
    gap = clock.now - clock.latest
    clock.latest = clock.now
    clock.gaps += 1
    deviation = gap - clock.gap_mean
    clock.gap_mean += deviation / clock.gaps
    clock.gap_spread += deviation * (gap - clock.gap_mean)
