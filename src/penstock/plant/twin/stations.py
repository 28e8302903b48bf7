"""A station: rows enter, wait, are served, and leave when their results are placed."""

from typing import Any

from penstock.model.compiling import inlined
from penstock.plant.twin.completions import next_done, pop_done, push
from penstock.plant.twin.draws import service_time
from penstock.plant.twin.latency import record
from penstock.plant.twin.rows import append, give_back, pop, take


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
