"""Rows in linked lists and heaps: those that are free, those that wait, those that are served.

How many rows a list has is counted, so where its last row points to means nothing. The heap of the
rows that a station serves is threaded through the rows, so any number of servers fits.
"""

from math import inf
from typing import Any

from penstock.model.compiling import inlined
from penstock.twin.records import NO_INDEX


@inlined
def take(pool: Any, rows: Any) -> int:
    """A row that was free; the event loop sees to it that there is one."""
    index: int = pool.free
    pool.free = rows[index].next
    pool.spare -= 1
    return index


@inlined
def give_back(pool: Any, rows: Any, index: int) -> None:
    """Make a row free again."""
    rows[index].next = pool.free
    pool.free = index
    pool.spare += 1


@inlined
def append(rows: Any, lane: Any, index: int) -> None:
    """Put a row at the end of a lane."""
    if lane.count == 0:
        lane.first = index
    else:
        rows[lane.last].next = index
    lane.last = index
    lane.count += 1


@inlined
def put_first(rows: Any, lane: Any, index: int) -> None:
    """Put a row at the head of a lane."""
    rows[index].next = lane.first
    if lane.count == 0:
        lane.last = index
    lane.first = index
    lane.count += 1


@inlined
def pop(rows: Any, lane: Any) -> int:
    """Take the row at the head of a lane that has one."""
    index: int = lane.first
    lane.first = rows[index].next
    lane.count -= 1
    return index


@inlined
def move(rows: Any, lane: Any, other: Any, count: int) -> None:
    """Move so many rows, one at least, from the head of a lane to the end of another."""
    first, last = lane.first, lane.last
    if count < lane.count:
        last = first
        for _ in range(count - 1):
            last = rows[last].next
    if other.count == 0:
        other.first = first
    else:
        rows[other.last].next = first
    lane.first, other.last = rows[last].next, last
    lane.count -= count
    other.count += count


# Which of a station's busy servers will be done first: a skew heap of the rows that they serve.


@inlined
def push(rows: Any, station: Any, index: int) -> None:
    """A server has begun with the row, and will be done with it at `row.done`."""
    rows[index].next = rows[index].right = NO_INDEX
    station.first_done = _merge(rows, station.first_done, index)
    station.busy += 1
    station.due = min(station.due, rows[index].done)


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
    if station.first_done == NO_INDEX:
        return inf
    moment: float = rows[station.first_done].done
    return moment


@inlined
def _merge(rows: Any, a: int, b: int) -> int:
    """One heap of two: walk down the right sides, and swap children on the way."""
    if a == NO_INDEX or b == NO_INDEX:
        return a if b == NO_INDEX else b
    if _before(rows, b, a):
        a, b = b, a
    root = a
    while rows[a].right != NO_INDEX:
        below = rows[a].right
        if _before(rows, b, below):
            below, b = b, below
        rows[a].right, rows[a].next = rows[a].next, below
        a = below
    rows[a].right, rows[a].next = rows[a].next, b
    return root


@inlined
def _before(rows: Any, a: int, b: int) -> bool:
    """Whether row a is done before row b; of two at the same moment, the lower order is."""
    first, second = rows[a], rows[b]
    if first.done == second.done:
        return bool(first.order < second.order)
    return bool(first.done < second.done)
