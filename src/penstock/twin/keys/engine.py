"""The event loop of a keyed operator: splitter, replicas and migration until a control step ends.

The splitter sends each row to the replica that has its key. It takes rows in order, and waits where
the next one's replica is full. Under S-BLK it keeps the rows of moving keys; once every state has
come it hands them out one by one, and takes no others meanwhile (mpc, Section 5.2.2).

When a key moves from one replica to another (mpc, Section 4.2.2), the messages about it stand in
the same queues as rows, so that a replica that reads `move out` has served or set aside every row
of the key that was routed to it.
"""

from math import inf
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.model.compiling import entry, inlined
from penstock.twin.kernels import record, service_time, uniform
from penstock.twin.keys.state import MOVE_IN, MOVE_OUT, R_BLK, ROW_OF_KEY, S_BLK
from penstock.twin.rows import append, give_back, pop, take
from penstock.twin.state import NOBODY


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


# Replicas of a keyed operator: each serves its rows one by one, in the order they were routed.


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
