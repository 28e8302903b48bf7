"""A station with keys: its splitter, its replicas, and keys that migrate.

The splitter sends each row to the replica that has its key. It takes rows in order, and waits where
the next one's replica is full. Under S-BLK it keeps the rows of moving keys; once every state has
come it hands them out one by one, and takes no others meanwhile (mpc, Section 5.2.2). With
micro-batches it takes the rows of a batch at the trigger, and replicas have room for all of them.

When a key moves from one replica to another (mpc, Section 4.2.2), the messages about it stand in
the same queues as rows, so that a replica that reads `move out` has served or set aside every row
of the key that was routed to it.
"""

from math import inf
from typing import Any

from penstock.model.compiling import compiled, inlined
from penstock.twin.kernels import service_time, uniform
from penstock.twin.keys.state import MOVE_IN, MOVE_OUT, R_BLK, ROW_OF_KEY, S_BLK
from penstock.twin.records import NO_INDEX
from penstock.twin.rows import append, give_back, pop, push, take


@inlined
def receive(state: Any, station: Any, index: int, now: float) -> None:
    """A row comes. Its key and its work are drawn here, so no decision can change them.

    The splitter mostly sends it on at once; calling `flow` for that would cost as much as the row.
    """
    row, tag, key_index = state.rows[index], state.tags[index], _draw_key(state, station)
    key = state.keys[key_index]
    station.mean = key.mean
    tag.kind, tag.key, tag.number = ROW_OF_KEY, key_index, station.totals.arrived - 1
    row.service = service_time(station)
    key.arrived += 1
    _measure_gap(station.keyed, now)
    if _goes_at_once(state, station, index):
        _route(state, station, index, now)
        return
    append(state.rows, station.waiting, index)
    if station.batch.trigger == 0.0:
        flow(state, station, now)


@inlined
def _goes_at_once(state: Any, station: Any, index: int) -> bool:
    keyed, by_row = station.keyed, station.batch.trigger == 0.0
    behind = station.waiting.count > 0 or keyed.handing or keyed.protocol == S_BLK
    return bool(by_row and not behind and not _is_full(state, station, index))


@compiled
def flow(state: Any, station: Any, now: float) -> None:
    """The splitter takes in rows until one has to wait."""
    keyed, rows = station.keyed, state.rows
    lane = station.taken if station.batch.trigger > 0.0 else station.waiting
    while lane.count > 0 and not keyed.handing:
        index: int = lane.first
        if keyed.protocol == S_BLK and _has_to_be_held(state, index):
            state.keys[state.tags[index].key].held += 1
            append(rows, keyed.held, pop(rows, lane))
        elif _is_full(state, station, index):
            return
        else:
            _route(state, station, pop(rows, lane), now)


@inlined
def next_key_event(state: Any, station: Any) -> float:
    """When a state arrives, or the splitter hands out a row."""
    keyed = station.keyed
    arrives: float = state.visits[keyed.transit.first].arrives if keyed.transit.count > 0 else inf
    soonest: float = min(arrives, keyed.hand_due)
    return soonest


@compiled
def happen_to_keys(state: Any, station: Any, now: float) -> None:
    """A state has come, or else it is time to hand out a row."""
    keyed = station.keyed
    if keyed.transit.count > 0 and state.visits[keyed.transit.first].arrives <= now:
        _engage(state, station, _settle(state, station, now), now)
        _hand_out_if_ready(keyed, now)
        _go_on(state, station, now)
    else:
        _hand_out(state, station, now)


@inlined
def count_service(state: Any, index: int) -> None:
    """A row of a key was served."""
    key = state.keys[state.tags[index].key]
    key.served += 1
    key.work += state.rows[index].service


@inlined
def free_replica(state: Any, station: Any, visit: int, now: float) -> None:
    """A replica is rid of a row of that visit, and takes the next."""
    number: int = state.visits[visit].replica
    replica = state.replicas[number]
    replica.serving = 0
    replica.left -= 1
    if replica.left == 0 and number - station.keyed.first_replica >= station.keyed.active:
        station.servers -= 1
    state.visits[visit].left -= 1
    _depart_if_done(state, station, visit, now)
    if replica.queue.count + replica.ready.count > 0:
        _engage(state, station, number, now)
    _go_on(state, station, now)


@compiled
def write_down(state: Any, index: int, now: float) -> None:
    """Keep a row that was done in the journal."""
    clock, row, tag = state.clock[0], state.rows[index], state.tags[index]
    entry = state.journal[clock.written]
    clock.written += 1
    entry.number, entry.key, entry.replica = tag.number, tag.key, row.order
    entry.arrived, entry.begun, entry.done = row.entered, tag.begun, now


@compiled
def switch_table(state: Any, station: Any, owners: Any, active: int, now: float) -> None:
    """Put another routing table in force; there is room for two messages a key, and a visit."""
    keyed = station.keyed
    _stop_handing_out(keyed)
    for k in range(keyed.keys):
        key = keyed.first_key + k
        if state.visits[state.keys[key].visit].replica != owners[k]:
            _open_visit(state, station, key, owners[k])
    _announce(state, station)
    keyed.active, keyed.span = active, max(keyed.span, active)
    first = keyed.first_replica
    station.servers = active
    for r in range(first + active, first + keyed.span):
        station.servers += state.replicas[r].left > 0
    for r in range(first, first + keyed.span):
        _engage(state, station, r, now)
    flow(state, station, now)
    _hand_out_if_ready(keyed, now)


# The splitter.


@inlined
def _is_full(state: Any, station: Any, index: int) -> bool:
    """Whether the replica that has a row's key has no room for it."""
    if station.batch.trigger > 0.0 or station.buffer == inf:
        return False
    replica = state.replicas[state.visits[state.keys[state.tags[index].key].visit].replica]
    return bool(replica.waiting >= station.buffer)


@inlined
def _route(state: Any, station: Any, index: int, now: float) -> None:
    """Send a row to the replica that has its key."""
    tag = state.tags[index]
    tag.visit = state.keys[tag.key].visit
    visit = state.visits[tag.visit]
    replica = state.replicas[visit.replica]
    visit.left += 1
    replica.left += 1
    replica.waiting += 1
    append(state.rows, replica.queue, index)
    if not replica.serving:
        _engage(state, station, visit.replica, now)


@inlined
def _has_to_be_held(state: Any, index: int) -> bool:
    key = state.keys[state.tags[index].key]
    return bool(key.held > 0 or not state.visits[key.visit].here)


@inlined
def _hand_out_if_ready(keyed: Any, now: float) -> None:
    """Under S-BLK, begin to hand out when every state has come."""
    if keyed.away == 0 and keyed.held.count > 0 and not keyed.handing:
        keyed.handing = 1
        keyed.hand_due = now + keyed.hand_out_time


@inlined
def _stop_handing_out(keyed: Any) -> None:
    keyed.handing = 0
    keyed.hand_due = inf


@inlined
def _hand_out(state: Any, station: Any, now: float) -> None:
    """Hand out the row whose turn it is, or wait until its replica has room."""
    keyed, rows = station.keyed, state.rows
    if _is_full(state, station, keyed.held.first):
        keyed.hand_due = inf
        return
    index = pop(rows, keyed.held)
    state.keys[state.tags[index].key].held -= 1
    keyed.hand_due = now + keyed.hand_out_time
    _route(state, station, index, now)
    if keyed.held.count == 0:
        _stop_handing_out(keyed)
        flow(state, station, now)


@inlined
def _go_on(state: Any, station: Any, now: float) -> None:
    """A replica may have room again."""
    if station.keyed.handing and station.keyed.hand_due == inf:
        station.keyed.hand_due = now
    if station.waiting.count + station.taken.count > 0:
        flow(state, station, now)


@inlined
def _draw_key(state: Any, station: Any) -> int:
    """By the alias method (Walker, 1977)."""
    keyed = station.keyed
    draw = uniform(keyed.key_chance) * keyed.keys
    place = int(draw)
    key = state.keys[keyed.first_key + place]
    chosen: int = keyed.first_key + (place if draw - place < key.limit else key.alias)
    return chosen


@inlined
def _measure_gap(keyed: Any, now: float) -> None:
    """Mean and spread of the gaps between rows, by Welford's method."""
    gap = now - keyed.latest
    keyed.latest = now
    keyed.gaps += 1
    deviation = gap - keyed.gap_mean
    keyed.gap_mean += deviation / keyed.gaps
    keyed.gap_spread += deviation * (gap - keyed.gap_mean)


# Replicas: each serves its rows one by one, in the order they were routed.


@compiled
def _engage(state: Any, station: Any, number: int, now: float) -> None:
    """A replica without a row takes its next one, reading messages and setting rows aside."""
    replica = state.replicas[number]
    if not replica.serving and replica.ready.count > 0:
        _start(state, station, number, pop(state.rows, replica.ready), now)
    while not replica.serving and replica.queue.count > 0:
        index: int = replica.queue.first
        tag = state.tags[index]
        if tag.kind == MOVE_IN and not state.visits[tag.visit].here:
            return
        pop(state.rows, replica.queue)
        if tag.kind == ROW_OF_KEY:
            replica.waiting -= 1
            _take_up(state, station, number, index, now)
        else:
            if tag.kind == MOVE_OUT:
                state.visits[tag.visit].closed = 1
                _depart_if_done(state, station, tag.visit, now)
            give_back(state.clock[0], state.rows, index)


@inlined
def _take_up(state: Any, station: Any, number: int, index: int, now: float) -> None:
    visit = state.visits[state.tags[index].visit]
    if visit.here:
        _start(state, station, number, index, now)
    else:
        append(state.rows, visit.pending, index)


@inlined
def _start(state: Any, station: Any, number: int, index: int, now: float) -> None:
    row, totals = state.rows[index], station.totals
    state.tags[index].begun = now
    row.order = number - station.keyed.first_replica
    row.done = now + row.service * station.pace
    state.replicas[number].serving = 1
    totals.started += 1
    totals.waited += now - row.entered
    push(state.rows, station, index)


# Migration.


@inlined
def _open_visit(state: Any, station: Any, key_index: int, replica: int) -> None:
    """From now on a key's rows are another replica's; its state follows."""
    key, visits = state.keys[key_index], state.visits
    index, before = take(state.clock[0].visits, visits), key.visit
    visit = visits[index]
    visit.key, visit.replica, visit.onward = key_index, replica, NO_INDEX
    visit.here, visit.closed, visit.left, visit.pending.count = 0, 0, 0, 0
    visits[before].onward = index
    key.visit, key.moved = index, 1
    station.keyed.away += 1
    _send(state, MOVE_OUT, before)


@inlined
def _announce(state: Any, station: Any) -> None:
    """Under R-BLK, have replicas wait for keys, behind whatever takes keys away from them."""
    first = station.keyed.first_key
    for k in range(first, first + station.keyed.keys):
        if state.keys[k].moved and station.keyed.protocol == R_BLK:
            _send(state, MOVE_IN, state.keys[k].visit)
        state.keys[k].moved = 0


@inlined
def _send(state: Any, kind: int, visit: int) -> None:
    """Put a message about a visit into the queue of its replica."""
    index = take(state.clock[0], state.rows)
    state.tags[index].kind, state.tags[index].visit = kind, visit
    append(state.rows, state.replicas[state.visits[visit].replica].queue, index)


@inlined
def _depart_if_done(state: Any, station: Any, index: int, now: float) -> None:
    """After its last row a key's state leaves for the next visit."""
    visits = state.visits
    visit = visits[index]
    if visit.closed and visit.here and visit.left == 0:
        onward: int = visit.onward
        visits[onward].arrives = now + station.keyed.migration_time
        station.due = min(station.due, visits[onward].arrives)
        append(visits, station.keyed.transit, onward)
        give_back(state.clock[0].visits, visits, index)


@inlined
def _settle(state: Any, station: Any, now: float) -> int:
    """The state that is due has come; rows that waited for it are ready. Says at which replica."""
    visits, rows = state.visits, state.rows
    index = pop(visits, station.keyed.transit)
    visit = visits[index]
    replica: int = visit.replica
    visit.here = 1
    station.keyed.away -= 1
    station.keyed.moved += 1
    while visit.pending.count > 0:
        append(rows, state.replicas[replica].ready, pop(rows, visit.pending))
    _depart_if_done(state, station, index, now)
    return replica
