"""Results of a row go to the next stations, or are blocked before a full one.

Blocking after service: a row whose result finds the next buffer full stays where it is, with the
server that holds it, until there is room.
"""

from typing import Any

from penstock.model.compiling import inlined
from penstock.plant.twin.draws import uniform
from penstock.plant.twin.rows import append, put_first
from penstock.plant.twin.state import NOBODY
from penstock.plant.twin.stations import enter


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
