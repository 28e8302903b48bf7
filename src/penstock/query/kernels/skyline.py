"""The points that no other dominates, in compiled code.

A group of rows goes through these steps, each of which drops rows that some other dominates:

1. *Pivots.* The best row of a sample is held against all others, again and again while that halves
   them. On correlated data hardly anything is left after it.
2. *Order.* What is left is sorted by height, the sum of its coordinates on the scale of a sample,
   and rows of equal height by their coordinates. Now whatever dominates a row stands before it, so
   that a row which survives those before it is in the skyline; and equal rows are neighbours, so
   that only the first of them is looked at.
3. *Blocks.* Every coordinate has a level from 0 to 15. A block holds up to 1,024 rows of the
   skyline in words of 64 bits: for each dimension and level, the rows at or below that level. The
   words of a row's levels, one for each dimension, ANDed, leave the few rows of the block that can
   dominate it, and those are compared in full. Rows that survive a full block are carried into the
   next one.

Levels and heights need only be monotone to be right: samples decide how fast it is, never what
comes out. Infinite coordinates are coordinates like any other.
"""

from contextlib import suppress
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.model.compiling import compiled, entry, inlined, require_compiler
from penstock.query.kernels.inputs import Floats, Longs, as_points, as_starts

lowest_bit: Any = None
"""In compiled code, the number of the lowest bit that is set; some bit must be."""

with suppress(ImportError):  # `skyline_mask` refuses without numba
    from numba import types
    from numba.extending import intrinsic

    # One instruction that Python has no word for.

    def _generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    def _lowest_bit(_: Any, word: Any) -> Any:
        return types.int64(word), _generate

    lowest_bit = intrinsic(_lowest_bit)


FEW: Final = 48
"""Rows that are faster to compare all with all."""
SAMPLE: Final = 32
"""Rows that samples have: no more than a few."""
LEVELS: Final = 16
WORDS: Final = 16
"""Of a full block: with 8 dimensions, the masks take 16 kB, half of a core's nearest cache."""
BITS: Final = 64
LANES: Final = 4
"""Dimensions that are ANDed at a time."""
_STEPS: Final = 2.0**24 - 1.0
"""Resolution of heights: three bytes to sort by."""
_FAR: Final = 1e300
"""Stands for infinity where a difference is taken."""
_UPWARDS: Final = -np.triu(np.ones((LEVELS, LEVELS), np.int64))
"""By level: all bits for each level from it upwards, none for those below."""

Flags = NDArray[np.bool_]
Rows = NDArray[np.uint32]


@entry
def mark_skylines(points: Floats, starts: Longs, room: "Room", kept: Flags) -> None:
    """Set `kept` for the skyline of each group; it must be all false before."""
    for group in range(len(starts) - 1):
        begin, end = starts[group], starts[group + 1]
        _search(points[begin:end], room, kept[begin:end])


@inlined
def _dominates(points: Floats, one: int, other: int) -> bool:
    better = False
    for j in range(points.shape[1]):
        if points[one, j] > points[other, j]:
            return False
        better |= points[one, j] < points[other, j]
    return better


@compiled
def _search(points: Floats, room: "Room", kept: Flags) -> None:
    rows = room.rows
    for i in range(len(points)):
        rows[i] = i
    left = _drop_by_pivots(points, room)
    if left <= FEW:
        _compare_few(points, rows[:left], kept)
        return
    _set_levels(points, room, left)
    _place(points, room, left)
    _sort(room, left)
    _sort_ties(points, room, left)
    different = 0
    for i in range(left):
        if i == 0 or not _is_duplicate(points, room, i):
            room.spare[different] = rows[i]
            different += 1
    while different > 0:
        different = _run_block(points, room, different, kept)
    for i in range(1, left):
        if _is_duplicate(points, room, i):
            kept[rows[i]] = kept[rows[i - 1]]


@inlined
def _compare_few(points: Floats, rows: Rows, kept: Flags) -> None:
    for row in rows:
        kept[row] = True
        for other in rows:
            if _dominates(points, other, row):
                kept[row] = False
                break


@inlined
def _drop_by_pivots(points: Floats, room: "Room") -> int:
    """Keep those of `rows` that the pivots leave; returns how many."""
    before, left = 2 * len(points), len(points)
    while FEW < left <= before // 2:
        before = left
        _set_scale(points, room, left)
        pivot = _lowest(points, room, left)
        left = 0
        for i in range(before):
            row = room.rows[i]
            room.rows[left] = row
            left += not _dominates(points, pivot, row)
    return left


@inlined
def _set_scale(points: Floats, room: "Room", left: int) -> None:
    """From the least to the most of a sample is one unit, in every dimension."""
    for j in range(points.shape[1]):
        low, high = _FAR, -_FAR
        for i in range(SAMPLE):
            value = points[room.rows[i * left // SAMPLE], j]
            low, high = min(low, value), max(high, value)
        low = max(low, -_FAR)
        room.low[j] = low
        # Above 0 and finite whatever comes, so that the product below is a number.
        room.scale[j] = min(1.0 / max(min(high, _FAR) - low, 1.0 / _FAR), _FAR)


@inlined
def _height(points: Floats, row: int, room: "Room") -> float:
    """Every operation rounds monotonically: whatever dominates a row is not higher."""
    height = 0.0
    for j in range(points.shape[1]):
        height += min(max((points[row, j] - room.low[j]) * room.scale[j], -1.0), 2.0)
    return height


@inlined
def _lowest(points: Floats, room: "Room", left: int) -> int:
    found, least = int(room.rows[0]), np.inf
    for i in range(SAMPLE):
        row = room.rows[i * left // SAMPLE]
        height = _height(points, row, room)
        if height < least:
            found, least = int(row), height
    return found


@inlined
def _set_levels(points: Floats, room: "Room", left: int) -> None:
    """As many rows of a sample on each level, in every dimension."""
    sample = room.sample
    for j in range(points.shape[1]):
        for i in range(SAMPLE):
            value, place = points[room.rows[i * left // SAMPLE], j], i
            while place > 0 and sample[place - 1] > value:
                sample[place] = sample[place - 1]
                place -= 1
            sample[place] = value
        for level in range(1, LEVELS):
            room.levels[j, level - 1] = sample[level * SAMPLE // LEVELS]


@inlined
def _place(points: Floats, room: "Room", left: int) -> None:
    """Heights and levels of the rows in question."""
    dimensions, one = points.shape[1], np.uint64(1)
    unit = _STEPS / (3.0 * dimensions)
    for i in range(left):
        row = room.rows[i]
        room.heights[row] = np.uint32((_height(points, row, room) + dimensions) * unit)
        for j in range(dimensions):
            value, levels = points[row, j], room.levels[j]
            # A binary search without a branch, which could not be predicted.
            level = np.uint64(value > levels[7]) << np.uint64(3)
            level += np.uint64(value > levels[level + np.uint64(3)]) << np.uint64(2)
            level += np.uint64(value > levels[level + one]) << one
            level += np.uint64(value > levels[level])
            room.places[row, j] = np.uint64(j * LEVELS) + level
        for j in range(dimensions, room.places.shape[1]):
            room.places[row, j] = j * LEVELS


@inlined
def _sort(room: "Room", left: int) -> None:
    """Order `rows` by height, byte by byte."""
    rows, spare, heights, counts = room.rows, room.spare, room.heights, room.counts
    for byte in range(3):
        shift = np.uint32(8 * byte)
        counts[:] = 0
        for i in range(left):
            counts[(heights[rows[i]] >> shift) & np.uint32(255)] += 1
        total = 0
        for digit in range(256):
            counts[digit], total = total, total + counts[digit]
        for i in range(left):
            digit = (heights[rows[i]] >> shift) & np.uint32(255)
            spare[counts[digit]] = rows[i]
            counts[digit] += 1
        _copy(spare, rows, left)


@inlined
def _sort_ties(points: Floats, room: "Room", left: int) -> None:
    begin = 0
    for i in range(1, left + 1):
        if i == left or room.heights[room.rows[i]] != room.heights[room.rows[begin]]:
            if i - begin > 1:
                _sort_by_coordinates(points, room.rows[begin:i], room.spare)
            begin = i


@compiled
def _sort_by_coordinates(points: Floats, rows: Rows, spare: Rows) -> None:
    """Merge sort: the first coordinate decides, then the second, and so on."""
    width = 1
    while width < len(rows):
        for begin in range(0, len(rows), 2 * width):
            middle, end = min(begin + width, len(rows)), min(begin + 2 * width, len(rows))
            a, b = begin, middle
            for place in range(begin, end):
                if b == end or (a < middle and not _precedes(points, rows[b], rows[a])):
                    spare[place] = rows[a]
                    a += 1
                else:
                    spare[place] = rows[b]
                    b += 1
        _copy(spare, rows, len(rows))
        width *= 2


@inlined
def _copy(source: Rows, target: Rows, size: int) -> None:
    for i in range(size):
        target[i] = source[i]


@inlined
def _precedes(points: Floats, one: int, other: int) -> bool:
    for j in range(points.shape[1]):
        if points[one, j] != points[other, j]:
            return bool(points[one, j] < points[other, j])
    return False


@inlined
def _is_duplicate(points: Floats, room: "Room", i: int) -> bool:
    """Whether the row is equal to the one before it, which does not come after it."""
    one, other = room.rows[i - 1], room.rows[i]
    return room.heights[one] == room.heights[other] and not _precedes(points, one, other)


@compiled
def _run_block(points: Floats, room: "Room", left: int, kept: Flags) -> int:
    """Fill a block from the rows in `spare`; returns how many of them are left for the next."""
    dimensions = points.shape[1]
    room.filling[:] = 0
    room.filled[: dimensions * LEVELS] = 0
    room.filled[dimensions * LEVELS :] = -1  # dimensions that are not there exclude no row
    size, carried = 0, 0
    for i in range(left):
        row = room.spare[i]
        if _dominated_by_filled(points, room, row, size) or _dominated_by_filling(
            points, room, row, size
        ):
            continue
        if size == WORDS * BITS:
            room.spare[carried] = row
            carried += 1
            continue
        kept[row] = True
        _add(points, room, row, size)
        size += 1
    return carried


@inlined
def _add(points: Floats, room: "Room", row: int, size: int) -> None:
    bit = np.int64(1) << (size & (BITS - 1))
    for j in range(points.shape[1]):
        room.block[size, j] = points[row, j]
        level = room.places[row, j] & np.uint16(LEVELS - 1)
        for k in range(room.filling.shape[1]):
            room.filling[j, k] |= bit & _UPWARDS[level, k]
    if (size + 1) % BITS == 0:
        _close_word(room, points.shape[1], size // BITS)


@inlined
def _close_word(room: "Room", dimensions: int, word: int) -> None:
    for j in range(dimensions):
        for level in range(LEVELS):
            room.filled[j * LEVELS + level, word] = room.filling[j, level]
            room.filling[j, level] = 0


@inlined
def _dominated_by_filling(points: Floats, room: "Room", row: int, size: int) -> bool:
    places, filling, found = room.places, room.filling, np.int64(-1)
    for j in range(points.shape[1]):
        found &= filling[j, places[row, j] & np.uint16(LEVELS - 1)]
    return _one_dominates(points, room, row, found, size & -BITS)


@inlined
def _dominated_by_filled(points: Floats, room: "Room", row: int, size: int) -> bool:
    if size < BITS:
        return False
    filled, hits, places, words = room.filled, room.hits, room.places, room.filled.shape[1]
    a, b, c, d = places[row, 0], places[row, 1], places[row, 2], places[row, 3]
    for word in range(words):
        hits[word] = filled[a, word] & filled[b, word] & filled[c, word] & filled[d, word]
    for j in range(LANES, places.shape[1], LANES):
        a, b, c, d = places[row, j], places[row, j + 1], places[row, j + 2], places[row, j + 3]
        for word in range(words):
            hits[word] &= filled[a, word] & filled[b, word] & filled[c, word] & filled[d, word]
    some = np.int64(0)
    for word in range(words):
        some |= hits[word]
    if some != 0:
        for word in range(words):
            if _one_dominates(points, room, row, hits[word], word * BITS):
                return True
    return False


@inlined
def _one_dominates(points: Floats, room: "Room", row: int, found: np.int64, base: int) -> bool:
    """Whether one of the block's rows that `found` points to is nowhere above this one.

    It is no duplicate, since duplicates are looked at once, so it dominates.
    """
    while found != 0:
        number, nowhere_above = base + lowest_bit(found), True
        for j in range(points.shape[1]):
            if room.block[number, j] > points[row, j]:
                nowhere_above = False
                break
        if nowhere_above:
            return True
        found &= found - 1
    return False


# Scratch arrays of the search: compiled code allocates none.


class Room(NamedTuple):
    """Scratch arrays of the search, for groups up to a size.

    Numba's cache sees the types of the fields and not their names: the order of fields
    of one type, and the name of this class, must not change, or stale caches are misread.
    """

    rows: Rows
    """Those still in question."""
    spare: Rows
    heights: NDArray[np.uint32]
    places: NDArray[np.uint16]
    """By row and dimension: the mask of its level, counted through all dimensions."""
    low: Floats
    """By dimension: where the scale begins, and how much one unit counts."""
    scale: Floats
    levels: Floats
    """By dimension: the values that part one level from the next."""
    sample: Floats
    counts: Longs
    filling: Longs
    """By mask: the word that is being filled."""
    filled: Longs
    """By mask and number: the full words of the block."""
    hits: Longs
    block: Floats
    """By number in the block: the coordinates."""


def make_room(largest: int, dimensions: int) -> Room:
    """Room for groups of up to so many rows."""
    lanes = -(-dimensions // LANES) * LANES
    return Room(
        rows=np.empty(largest, np.uint32),
        spare=np.empty(largest, np.uint32),
        heights=np.empty(largest, np.uint32),
        places=np.empty((largest, lanes), np.uint16),
        low=np.empty(dimensions),
        scale=np.empty(dimensions),
        levels=np.empty((dimensions, LEVELS)),
        sample=np.empty(SAMPLE),
        counts=np.empty(256, np.int64),
        filling=np.empty((dimensions, LEVELS), np.int64),
        filled=np.empty((lanes * LEVELS, WORDS), np.int64),
        hits=np.empty(WORDS, np.int64),
        block=np.empty((WORDS * BITS, dimensions)),
    )


def skyline(points: ArrayLike) -> Longs:
    """Which points no other dominates: their row numbers, in ascending order.

    Smaller is better. A point dominates another that it is nowhere larger than, and somewhere
    smaller; equal points do not dominate each other, so all of them are found, or none.

    >>> hotels = [[90, 2.0], [60, 3.5], [70, 4.0], [60, 3.5], [50, 9.0]]  # price, distance
    >>> skyline(hotels)
    array([0, 1, 3, 4])

    Rows by columns, 1 to 32 of them, numbers of any type. Infinity is as large as any number can
    be; NaN is refused.
    """
    given = as_points(points)
    return np.flatnonzero(skyline_mask(given, np.array([0, len(given)])))


def skyline_of_groups(points: ArrayLike, starts: ArrayLike) -> Longs:
    """The same for many groups at once, each by itself.

    Group g is the rows from `starts[g]` up to `starts[g + 1]`.

    >>> skyline_of_groups([[1, 1], [2, 2], [4, 4], [3, 3]], starts=[0, 2, 4])
    array([0, 3])
    """
    given = as_points(points)
    return np.flatnonzero(skyline_mask(given, as_starts(starts, len(given))))


def skyline_mask(points: Floats, starts: Longs) -> Flags:
    """For each row, whether it is in the skyline of its group."""
    require_compiler("a preference query", extra="query")
    largest = int(np.diff(starts).max(initial=0))
    members = np.zeros(len(points), np.bool_)
    mark_skylines(points, starts, make_room(largest, points.shape[1]), members)
    return members
