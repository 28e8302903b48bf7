"""The event loop: what happens next happens, until the end of the control step."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.model.compiling import compiled, entry, inlined
from penstock.plant.twin.batches import collect, go_on, next_result, trigger
from penstock.plant.twin.completions import next_done
from penstock.plant.twin.routing import draw_results, has_room, place_results
from penstock.plant.twin.rows import pop
from penstock.plant.twin.state import IDLE, NOBODY
from penstock.plant.twin.stations import (
    elapse,
    end_service,
    engage,
    enter,
    free_server,
    leave,
    plan,
)

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
