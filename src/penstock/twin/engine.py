"""The event loop: arrivals, services, back-pressure and micro-batches until a control step ends.

Blocking is after service: a row whose result finds the next buffer full stays where it is, with the
server that holds it, until there is room.

Of a station with micro-batches, all rows that wait at a trigger are one batch. The servers work
through it in parallel; when the last row is done, and both overheads have passed, the results
leave. Triggers fall on multiples of the interval; after a batch that overran, the next starts at
once if rows wait.
"""

from math import inf
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.model.compiling import compiled, entry, inlined
from penstock.twin.kernels import lognormal, record, service_time, uniform
from penstock.twin.rows import append, give_back, pop, put_first, take
from penstock.twin.state import IDLE, NOBODY, OPEN

# Which of a station's busy servers will be done first: a skew heap of the rows that they serve.
#
# The heap is threaded through the rows, so any number of servers fits.


@inlined
def push(rows: Any, station: Any, index: int) -> None:
    """A server has begun with the row, and will be done with it at `row.done`."""
    rows[index].next = rows[index].right = NOBODY
    station.first_done = _merge(rows, station.first_done, index)
    station.busy += 1


@inlined
def pop_done(rows: Any, station: Any) -> int:
    """Take out the row that is done first."""
    index: int = station.first_done
    station.first_done = _merge(rows, rows[index].next, rows[index].right)
    station.busy -= 1
    return index


@inlined
def next_done(rows: Any, station: Any) -> float:
    """When the next server will be done."""
    if station.first_done == NOBODY:
        return inf
    moment: float = rows[station.first_done].done
    return moment


@inlined
def _merge(rows: Any, a: int, b: int) -> int:
    """One heap of two: walk down the right sides, and swap children on the way."""
    if a == NOBODY or b == NOBODY:
        return a if b == NOBODY else b
    if _before(rows, b, a):
        a, b = b, a
    root = a
    while rows[a].right != NOBODY:
        below = rows[a].right
        if _before(rows, b, below):
            below, b = b, below
        rows[a].right, rows[a].next = rows[a].next, below
        a = below
    rows[a].right, rows[a].next = rows[a].next, b
    return root


@inlined
def _before(rows: Any, a: int, b: int) -> bool:
    """Whether row a is done before row b; of two at the same moment, the one begun first is."""
    first, second = rows[a], rows[b]
    if first.done == second.done:
        return bool(first.order < second.order)
    return bool(first.done < second.done)


# A station: rows enter, wait, are served, and leave when their results are placed.


@inlined
def elapse(station: Any, now: float) -> None:
    """Bring the totals over time up to now, before anything changes."""
    totals = station.totals
    seconds = now - station.since
    station.since = now
    totals.busy_seconds += station.busy * seconds
    totals.server_seconds += station.servers * seconds
    totals.row_seconds += (totals.arrived - totals.finished) * seconds


@inlined
def plan(rows: Any, station: Any) -> None:
    """Note when something next happens at the station."""
    station.due = min(next_done(rows, station), station.moment)


@inlined
def enter(clock: Any, station: Any, rows: Any, created: float, now: float) -> None:
    """A row comes in and waits, or is served at once."""
    elapse(station, now)
    station.totals.arrived += 1
    index = take(clock, rows)
    row = rows[index]
    row.created, row.entered, row.home = created, now, station.index
    append(rows, station.waiting, index)
    engage(clock, station, rows, now)


@inlined
def engage(clock: Any, station: Any, rows: Any, now: float) -> None:
    """Servers without a row take the next ones, in order."""
    lane = station.taken if station.trigger > 0.0 else station.waiting
    while lane.count > 0 and station.busy + station.holding < station.servers:
        _start(clock, station, rows, pop(rows, lane), now)


@inlined
def _start(clock: Any, station: Any, rows: Any, index: int, now: float) -> None:
    row, totals = rows[index], station.totals
    row.order = clock.services
    clock.services += 1
    row.service = service_time(station)
    row.done = now + row.service
    totals.started += 1
    totals.waited += now - row.entered
    push(rows, station, index)
    station.due = min(station.due, row.done)


@inlined
def end_service(station: Any, rows: Any, now: float) -> int:
    """The row that is done; its server has no row then."""
    elapse(station, now)
    index = pop_done(rows, station)
    totals = station.totals
    excess = rows[index].service - totals.nominal
    totals.served += 1
    totals.excess += excess
    totals.excess_squared += excess * excess
    return index


@inlined
def free_server(clock: Any, station: Any, rows: Any, now: float) -> None:
    """A server that has no row any more leaves if it was told to, or takes the next."""
    if station.leaving > 0:
        station.leaving -= 1
        station.servers -= 1
    engage(clock, station, rows, now)


@inlined
def leave(clock: Any, station: Any, rows: Any, ages: Any, index: int, now: float) -> None:
    """A row whose results are all placed leaves."""
    elapse(station, now)
    row, totals = rows[index], station.totals
    totals.finished += 1
    totals.stayed += now - row.entered
    record(ages, station.index, now - row.created)
    give_back(clock, rows, index)


@inlined
def draw_results(station: Any, row: Any) -> None:
    """Draw how many output rows a row has."""
    row.left = station.whole
    if station.fraction > 0.0 and uniform(station.way_chance) < station.fraction:
        row.left += 1
    row.way = NOBODY


@inlined
def place_results(
    clock: Any, stations: Any, ways: Any, rows: Any, index: int, first_at: int, now: float
) -> bool:
    """Place a row's results; False if one found no room and the row is blocked.

    A row that was the first in line at station `first_at` stays first there if it has more.
    """
    row = rows[index]
    while row.left > 0:
        if row.way == NOBODY:
            row.way = _choose_way(stations[row.home], ways)
        target = stations[row.way]
        if not has_room(target):
            _block(clock, target, rows, index, row.way == first_at)
            return False
        enter(clock, target, rows, row.created, now)
        row.left -= 1
        row.way = NOBODY
    return True


@inlined
def has_room(station: Any) -> bool:
    """Whether a row could enter the buffer."""
    return bool(station.waiting.count < station.buffer)


@inlined
def _block(clock: Any, station: Any, rows: Any, index: int, first: bool) -> None:
    clock.blocked += 1
    if first:
        put_first(rows, station.blocked, index)
    else:
        append(rows, station.blocked, index)


@inlined
def _choose_way(station: Any, ways: Any) -> int:
    way, last = station.first_way, station.last_way - 1
    if way < last:
        chance = uniform(station.way_chance)
        while way < last and chance >= ways[way].share:
            way += 1
    target: int = ways[way].target
    return target


@inlined
def trigger(clock: Any, station: Any, rows: Any, now: float) -> None:
    """Open a batch if rows wait."""
    if station.waiting.count > 0:
        _open(clock, station, rows, now)
    else:
        _await_trigger(station, now)


@inlined
def collect(clock: Any, station: Any, rows: Any, index: int, now: float) -> None:
    """A row is done: keep it with the batch, and after the last one make ready to release."""
    append(rows, station.results, index)
    station.unfinished -= 1
    free_server(clock, station, rows, now)
    if station.unfinished == 0:
        _finish_tasks(station, now)


@inlined
def _finish_tasks(station: Any, now: float) -> None:
    """What tasks take beyond their rows keeps every server busy, the rest of the batch none.

    New servers lengthen both alike: while they load, they take processors from the others.
    """
    beyond = station.task_overhead + station.overhead
    lasts = beyond
    if station.overhead_sigma > 0.0:
        lasts *= lognormal(station.service_chance, station.overhead_sigma)
    if station.fresh > 0:
        lasts += station.warm_up
    if beyond > 0.0:
        busy = lasts * station.task_overhead / beyond
        station.totals.busy_seconds += station.servers * busy
    station.moment = now + lasts


@inlined
def next_result(station: Any, rows: Any) -> int:
    """The row whose results are released next; nothing else is due until they are placed."""
    station.moment = inf
    return pop(rows, station.results)


@inlined
def go_on(clock: Any, station: Any, rows: Any, now: float) -> None:
    """A row has been released: release the next at once, or end the batch."""
    if station.results.count > 0:
        station.moment = now
    else:
        _close(clock, station, rows, now)


@compiled
def _open(clock: Any, station: Any, rows: Any, now: float) -> None:
    elapse(station, now)
    _find_next_trigger(station, now)
    station.fresh, station.crew = int(station.servers > station.crew), station.servers
    station.phase, station.opened, station.moment = OPEN, now, inf
    # Only at the source can more rows wait than the buffer holds: the rest wait outside.
    station.unfinished = min(station.waiting.count, station.buffer, station.servers * station.share)
    for _ in range(station.unfinished):
        append(rows, station.taken, pop(rows, station.waiting))
    engage(clock, station, rows, now)


@inlined
def _close(clock: Any, station: Any, rows: Any, now: float) -> None:
    station.closed_busy = station.totals.busy_seconds
    station.closed_servers = station.totals.server_seconds
    station.totals.batches += 1
    station.totals.batch_seconds += now - station.opened
    if now >= station.tick * station.trigger:
        trigger(clock, station, rows, now)
    else:
        _await_trigger(station, now)


@inlined
def _await_trigger(station: Any, now: float) -> None:
    _find_next_trigger(station, now)
    station.phase, station.moment = IDLE, station.tick * station.trigger


@inlined
def _find_next_trigger(station: Any, now: float) -> None:
    station.tick = max(station.tick, int(now / station.trigger))
    while station.tick * station.trigger <= now:
        station.tick += 1


REACHED: Final = 0
"""The end of the step."""
MORE_ARRIVALS: Final = 1
"""Every arrival in hand has come; the next may come before the end."""
MORE_ROWS: Final = 2
"""The next event could need more rows than there is room for."""


@entry
def advance(
    clocks: Any,
    stations: Any,
    ways: Any,
    rows: Any,
    ages: Any,
    arrivals: NDArray[np.float64],
    end: float,
) -> int:
    """Let everything happen that happens by `end`; says why it stopped.

    Each turn is one bounded piece of work, so that room for rows is checked once a turn. Of events
    at the same moment, arrivals come first, then those at stations that feed others, so that a
    trigger takes every row that has come by then.
    """
    clock = clocks[0]
    _resume(clock, stations, rows)
    while clock.spare >= clock.reserve:
        if clock.blocked > 0 and _unblock_one(clock, stations, ways, rows, ages):
            continue
        if clock.cursor == arrivals.size:
            return MORE_ARRIVALS
        station, arrival = stations[_next_station(stations)], arrivals[clock.cursor]
        if min(arrival, station.due) > end:
            _pass_time(clock, stations, end)
            return REACHED
        clock.now = min(arrival, station.due)
        if arrival <= station.due:
            clock.cursor += 1
            enter(clock, stations[clock.source], rows, arrival, arrival)
        else:
            _happen(clock, stations, ways, rows, ages, station)
    return MORE_ROWS


@inlined
def _resume(clock: Any, stations: Any, rows: Any) -> None:
    """Servers may have come or gone while Python had the state."""
    for m in range(stations.size):
        engage(clock, stations[m], rows, clock.now)
        plan(rows, stations[m])


@inlined
def _pass_time(clock: Any, stations: Any, end: float) -> None:
    clock.now = end
    for m in range(stations.size):
        elapse(stations[m], end)
        stations[m].totals.seconds = end


@inlined
def _next_station(stations: Any) -> int:
    best = 0
    for m in range(1, stations.size):
        if stations[m].due < stations[best].due:
            best = m
    return best


@inlined
def _happen(clock: Any, stations: Any, ways: Any, rows: Any, ages: Any, station: Any) -> None:
    now = clock.now
    if next_done(rows, station) > now and station.phase == IDLE:
        trigger(clock, station, rows, now)
    elif next_done(rows, station) > now:
        index = next_result(station, rows)
        _send(clock, stations, ways, rows, ages, station, index)
    else:
        index = end_service(station, rows, now)
        if station.trigger > 0.0:
            collect(clock, station, rows, index, now)
        else:
            station.holding += 1
            _send(clock, stations, ways, rows, ages, station, index)
    plan(rows, station)


@inlined
def _send(
    clock: Any, stations: Any, ways: Any, rows: Any, ages: Any, station: Any, index: int
) -> None:
    draw_results(station, rows[index])
    if place_results(clock, stations, ways, rows, index, NOBODY, clock.now):
        _finish(clock, station, rows, ages, index)


@inlined
def _finish(clock: Any, station: Any, rows: Any, ages: Any, index: int) -> None:
    """All results of a row are placed, so its server, or its micro-batch, goes on."""
    leave(clock, station, rows, ages, index, clock.now)
    if station.trigger > 0.0:
        go_on(clock, station, rows, clock.now)
    else:
        station.holding -= 1
        free_server(clock, station, rows, clock.now)


@compiled
def _unblock_one(clock: Any, stations: Any, ways: Any, rows: Any, ages: Any) -> bool:
    """Let in the row that was blocked first, if a buffer that blocks some has room.

    Downstream first: room there frees servers upstream, which then make room where they are.
    """
    for m in range(stations.size - 1, -1, -1):
        if stations[m].blocked.count > 0 and has_room(stations[m]):
            clock.blocked -= 1
            index = pop(rows, stations[m].blocked)
            if place_results(clock, stations, ways, rows, index, m, clock.now):
                home = stations[rows[index].home]
                _finish(clock, home, rows, ages, index)
                plan(rows, home)
            return True
    return False
