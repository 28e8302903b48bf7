"""Rows in linked lists: those that are free, and the lanes that others stand in.

How many rows a list has is counted, so where its last row points to means nothing.
"""

from typing import Any

from penstock.model.compiling import inlined


@inlined
def take(clock: Any, rows: Any) -> int:
    """A row that was free; the event loop sees to it that there is one."""
    index: int = clock.free
    clock.free = rows[index].next
    clock.spare -= 1
    return index


@inlined
def give_back(clock: Any, rows: Any, index: int) -> None:
    """Make a row free again."""
    rows[index].next = clock.free
    clock.free = index
    clock.spare += 1


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
