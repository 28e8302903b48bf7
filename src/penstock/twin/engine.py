"""The event loop: arrivals, services, back-pressure and micro-batches until a control step ends.

Blocking is after service: a row whose result finds the next buffer full stays where it is, with the
server that holds it, until there is room. A row between regions is on its way for as long as these
are apart, and already has its place in the buffer that it goes to. Stations with keys have replicas
with a queue each (`keys.engine`); micro-batches are those of `batches`.
"""

from math import inf
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.model.compiling import compiled, entry, inlined
from penstock.twin.batches import await_trigger, begin, commit, finish_tasks, is_late
from penstock.twin.kernels import record, service_time, uniform
from penstock.twin.keys.engine import (
    count_service,
    flow,
    free_replica,
    happen_to_keys,
    next_key_event,
    receive,
    switch_table,
    write_down,
)
from penstock.twin.records import IDLE, NO_INDEX
from penstock.twin.rows import (
    append,
    give_back,
    move,
    next_done,
    pop,
    pop_done,
    push,
    put_first,
    take,
)

# A station: rows enter, wait, are served, and leave when their results are placed.


@inlined
def elapse(station: Any, now: float) -> None:
    """Bring the totals over time up to now, before anything changes."""
    totals = station.totals
    seconds = now - station.since
    if seconds == 0.0:
        return
    station.since = now
    totals.busy_seconds += station.busy * seconds
    totals.server_seconds += station.servers * seconds
    totals.row_seconds += (totals.arrived - totals.finished) * seconds


@inlined
def _plan(state: Any, station: Any) -> None:
    """Note when something next happens at the station."""
    station.due = min(next_done(state.rows, station), station.batch.moment)
    if station.keyed.keys > 0:
        station.due = min(station.due, next_key_event(state, station))
    if station.far:
        station.due = min(station.due, _next_delivery(state, station))


@inlined
def _new_row(state: Any, station: Any, created: float, entered: float) -> int:
    """A row that enters a station now, or when it has travelled."""
    index = take(state.clock[0], state.rows)
    row = state.rows[index]
    row.created, row.entered, row.home = created, entered, station.index
    return index


@inlined
def _enter(state: Any, station: Any, index: int, now: float) -> None:
    """A row comes in and waits, or is served at once."""
    elapse(station, now)
    station.totals.arrived += 1
    if station.keyed.keys > 0:
        receive(state, station, index, now)
    else:
        append(state.rows, station.waiting, index)
        _engage(state, station, now)


@inlined
def _engage(state: Any, station: Any, now: float) -> None:
    """Servers without a row take the next ones, in order."""
    if station.keyed.keys > 0:
        flow(state, station, now)
        return
    lane = station.taken if station.batch.trigger > 0.0 else station.waiting
    while lane.count > 0 and station.busy + station.holding < station.servers:
        _start(state, station, pop(state.rows, lane), now)


@inlined
def _start(state: Any, station: Any, index: int, now: float) -> None:
    clock, row, totals = state.clock[0], state.rows[index], station.totals
    row.order = clock.services
    clock.services += 1
    row.service = service_time(station)
    row.done = now + row.service * station.pace
    totals.started += 1
    totals.waited += now - row.entered
    push(state.rows, station, index)


@inlined
def _end_service(state: Any, station: Any, now: float) -> int:
    """The row that is done; its server has no row then."""
    elapse(station, now)
    index = pop_done(state.rows, station)
    totals = station.totals
    excess = state.rows[index].service - totals.nominal
    totals.served += 1
    totals.excess += excess
    totals.excess_squared += excess * excess
    if station.keyed.keys > 0:
        count_service(state, index)
    return index


@inlined
def _free_server(state: Any, station: Any, visit: int, now: float) -> None:
    """A server that has no row any more leaves if it has to, or takes the next."""
    if station.keyed.keys > 0:
        free_replica(state, station, visit, now)
        return
    if station.leaving > 0:
        station.leaving -= 1
        station.servers -= 1
    _engage(state, station, now)


@inlined
def _visit_of(state: Any, station: Any, index: int) -> int:
    """What a replica has to be freed of, where there are keys."""
    visit: int = state.tags[index].visit if station.keyed.keys > 0 else NO_INDEX
    return visit


@inlined
def _leave(state: Any, station: Any, index: int, now: float) -> None:
    """A row whose results are all placed leaves."""
    elapse(station, now)
    row, totals = state.rows[index], station.totals
    totals.finished += 1
    totals.stayed += now - row.entered
    record(state.ages, station, now - row.created)
    if state.journal.size > 0 and station.keyed.keys > 0:
        write_down(state, index, now)
    give_back(state.clock[0], state.rows, index)


# Results: how many a row has, which way they go, and whether there is room.


@inlined
def _draw_results(station: Any) -> int:
    """Draw how many output rows a row has."""
    one_more = station.fraction > 0.0 and uniform(station.way_chance) < station.fraction
    return int(station.whole + one_more)


@inlined
def _place_results(
    state: Any, station: Any, index: int, left: int, chosen: int, first_at: int, now: float
) -> bool:
    """Place so many results of a row; False if one found no room and the row is blocked.

    The first takes the chosen way, if any. A row that was the first in line at station `first_at`
    stays first there if it has more.
    """
    row = state.rows[index]
    while left > 0:
        if chosen == NO_INDEX:
            chosen = _choose_way(state, station)
        way = state.ways[chosen]
        target = state.stations[way.target]
        if not _has_room(target):
            row.left, row.way = left, chosen
            _block(state, target, index, way.target == first_at)
            return False
        if way.delay > 0.0:
            arrives = now + way.delay
            append(state.rows, way.transit, _new_row(state, target, row.created, arrives))
            target.coming += 1
            station.due = min(station.due, arrives)
        else:
            _enter(state, target, _new_row(state, target, row.created, now), now)
        left -= 1
        chosen = NO_INDEX
    return True


@inlined
def _send(state: Any, station: Any, index: int, now: float) -> bool:
    """Place the results of a row that is done; False if the row is blocked."""
    return _place_results(state, station, index, _draw_results(station), NO_INDEX, NO_INDEX, now)


@inlined
def _has_room(station: Any) -> bool:
    """Whether a row could enter the buffer."""
    return bool(station.waiting.count + station.coming < station.buffer)


@inlined
def _block(state: Any, station: Any, index: int, first: bool) -> None:
    state.clock[0].blocked += 1
    if first:
        put_first(state.rows, station.blocked, index)
    else:
        append(state.rows, station.blocked, index)


@inlined
def _choose_way(state: Any, station: Any) -> int:
    way: int = station.first_way
    last = station.last_way - 1
    if way < last:
        chance = uniform(station.way_chance)
        while way < last and chance >= state.ways[way].share:
            way += 1
    return way


@inlined
def _next_delivery(state: Any, station: Any) -> float:
    """When the next row that left the station enters another region."""
    soonest = inf
    for w in range(station.first_way, station.last_way):
        transit = state.ways[w].transit
        if transit.count > 0:
            soonest = min(soonest, state.rows[transit.first].entered)
    return soonest


@compiled
def _deliver(state: Any, station: Any, now: float) -> None:
    """Let a row enter that has arrived from this station, or all, where they await a trigger."""
    rows = state.rows
    for w in range(station.first_way, station.last_way):
        transit, target = state.ways[w].transit, state.stations[state.ways[w].target]
        if transit.count == 0 or rows[transit.first].entered > now:
            continue
        awaits_trigger = target.batch.trigger > 0.0 and target.keyed.keys == 0
        if awaits_trigger and rows[transit.last].entered <= now:
            elapse(target, now)
            target.totals.arrived += transit.count
            target.coming -= transit.count
            move(rows, transit, target.waiting, transit.count)
        else:
            target.coming -= 1
            _enter(state, target, pop(rows, transit), now)
        return


# Micro-batches of a station.


@inlined
def _trigger(state: Any, station: Any, now: float) -> None:
    """Open a batch if rows wait."""
    if station.waiting.count > 0:
        _open(state, station, now)
    else:
        await_trigger(station.batch, now)


@compiled
def _open(state: Any, station: Any, now: float) -> None:
    elapse(station, now)
    batch = station.batch
    begin(batch, station.servers, now)
    # Only at the source can more rows wait than the buffer holds: the rest wait outside.
    most = min(station.buffer, station.servers * batch.share)
    batch.unfinished = min(station.waiting.count, most)
    move(state.rows, station.waiting, station.taken, batch.unfinished)
    _engage(state, station, now)


@inlined
def _collect(state: Any, station: Any, index: int, now: float) -> None:
    """A row is done: keep it with the batch, and after the last one make ready to release."""
    visit = _visit_of(state, station, index)
    append(state.rows, station.results, index)
    station.batch.unfinished -= 1
    _free_server(state, station, visit, now)
    if station.batch.unfinished == 0:
        busy = finish_tasks(station.batch, station.service_chance, now)
        station.totals.busy_seconds += station.servers * busy


@compiled
def _serve_alone(state: Any, station: Any, until: float) -> None:
    """Go on with the open batch before that moment, while nothing else happens anywhere."""
    clock, stations = state.clock[0], state.stations
    if station.keyed.keys > 0:
        return
    for m in range(stations.size):
        if m != station.index:
            until = min(until, stations[m].due)
    if station.far:
        until = min(until, _next_delivery(state, station))
    while next_done(state.rows, station) < until:
        clock.now = next_done(state.rows, station)
        _collect(state, station, _end_service(state, station, clock.now), clock.now)


@compiled
def _release(state: Any, station: Any, now: float) -> None:
    """Release the results of row after row, until one is blocked or the loop has to make space."""
    while station.results.count > 0 and _has_space(state):
        index = pop(state.rows, station.results)
        if not _send(state, station, index, now):
            station.batch.moment = inf
            return
        _leave(state, station, index, now)
    _release_next(state, station, now)


@inlined
def _release_next(state: Any, station: Any, now: float) -> None:
    """Rows have been released: the next is at once, or the batch ends."""
    if station.results.count > 0:
        station.batch.moment = now
    else:
        _close(state, station, now)


@inlined
def _close(state: Any, station: Any, now: float) -> None:
    commit(station, now)
    if is_late(station.batch, now):
        _trigger(state, station, now)
    else:
        await_trigger(station.batch, now)


# The loop.


REACHED: Final = 0
"""The end of the step."""
MORE_ARRIVALS: Final = 1
"""Every arrival in hand has come; the next may come before the end."""
MORE_ROWS: Final = 2
"""The next event could need more rows than there is room for."""
MORE_JOURNAL: Final = 3
"""The journal is full."""


@entry
def advance(state: Any, arrivals: NDArray[np.float64], end: float) -> int:
    """Let everything happen that happens by `end`; says why it stopped.

    Each turn is one bounded piece of work, so that space for it is checked once a turn. Of events
    at the same moment, arrivals come first, then those at stations that feed others, so that a
    trigger takes every row that has come by then.
    """
    clock, stations = state.clock[0], state.stations
    _resume(state)
    while _has_space(state):
        if clock.blocked > 0 and _unblock_one(state):
            continue
        if clock.cursor == arrivals.size:
            return MORE_ARRIVALS
        station, arrival = stations[_next_station(stations)], arrivals[clock.cursor]
        if min(arrival, station.due) > end:
            _pass_time(state, end)
            return REACHED
        clock.now = min(arrival, station.due)
        if arrival <= station.due:
            clock.cursor += 1
            source = stations[clock.source]
            _enter(state, source, _new_row(state, source, arrival, arrival), arrival)
        else:
            _happen(state, station, min(arrival, end))
    return MORE_ROWS if clock.spare < clock.reserve else MORE_JOURNAL


@entry
def reroute(state: Any, m: int, owners: NDArray[np.int64], active: int) -> None:
    """Put another routing table of a station in force."""
    switch_table(state, state.stations[m], owners, active, state.clock[0].now)


@inlined
def _has_space(state: Any) -> bool:
    """Whether there are enough free rows for one piece of work, and the journal has a line."""
    clock = state.clock[0]
    full = clock.written == state.journal.size > 0
    return bool(clock.spare >= clock.reserve and not full)


@inlined
def _resume(state: Any) -> None:
    """Servers may have come or gone while Python had the state."""
    for m in range(state.stations.size):
        _engage(state, state.stations[m], state.clock[0].now)
        _plan(state, state.stations[m])


@inlined
def _pass_time(state: Any, end: float) -> None:
    state.clock[0].now = end
    for m in range(state.stations.size):
        elapse(state.stations[m], end)
        state.stations[m].totals.seconds = end


@inlined
def _next_station(stations: Any) -> int:
    best = 0
    for m in range(1, stations.size):
        if stations[m].due < stations[best].due:
            best = m
    return best


@inlined
def _happen(state: Any, station: Any, until: float) -> None:
    """What is due at a station, and what else it does alone before that moment."""
    now = state.clock[0].now
    if station.keyed.keys > 0 and next_key_event(state, station) <= now:
        elapse(station, now)
        happen_to_keys(state, station, now)
    elif station.far and _next_delivery(state, station) <= now:
        _deliver(state, station, now)
    elif next_done(state.rows, station) > now and station.batch.phase == IDLE:
        _trigger(state, station, now)
    elif next_done(state.rows, station) > now:
        _release(state, station, now)
    else:
        index = _end_service(state, station, now)
        if station.batch.trigger > 0.0:
            _collect(state, station, index, now)
            _serve_alone(state, station, until)
        else:
            station.holding += 1
            if _send(state, station, index, now):
                _finish(state, station, index, now)
    _plan(state, station)


@inlined
def _finish(state: Any, station: Any, index: int, now: float) -> None:
    """All results of a row are placed, so its server, or its micro-batch, goes on."""
    if station.batch.trigger > 0.0:
        _leave(state, station, index, now)
        _release_next(state, station, now)
    else:
        visit = _visit_of(state, station, index)
        _leave(state, station, index, now)
        station.holding -= 1
        _free_server(state, station, visit, now)


@compiled
def _unblock_one(state: Any) -> bool:
    """Let in the row that was blocked first, if a buffer that blocks some has room.

    Downstream first: room there frees servers upstream, which then make room where they are.
    """
    for m in range(state.stations.size - 1, -1, -1):
        if state.stations[m].blocked.count > 0 and _has_room(state.stations[m]):
            state.clock[0].blocked -= 1
            index = pop(state.rows, state.stations[m].blocked)
            row, now = state.rows[index], state.clock[0].now
            home = state.stations[row.home]
            if _place_results(state, home, index, row.left, row.way, m, now):
                _finish(state, home, index, now)
                _plan(state, home)
            return True
    return False
