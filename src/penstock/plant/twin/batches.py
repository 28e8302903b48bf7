"""Micro-batches: rows are taken together at a trigger, and their results released together.

All rows that wait at a trigger are one batch. The servers work through it in parallel; when the
last row is done, and both overheads have passed, the results leave. Triggers fall on multiples of
the interval; after a batch that overran, the next starts at once if rows wait.
"""

from math import inf
from typing import Any

from penstock.model.compiling import compiled, inlined
from penstock.plant.twin.draws import lognormal
from penstock.plant.twin.rows import append, pop
from penstock.plant.twin.state import IDLE, OPEN
from penstock.plant.twin.stations import elapse, engage, free_server


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
