"""The machine code of dominance factors: comparing every point of a skyline with every other.

Among the points of one skyline, counting is enough. If one is nowhere above another they are equal,
and equals do not count. Otherwise it is below it somewhere: if all that it is not above were
ties, the other would dominate it.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.model.compiling import compiled, entry, inlined
from penstock.query.kernels.given import Floats, Longs

FEW: Final = 192
"""Points that are not worth ranking."""
LANES: Final = 4
"""Dimensions that are compared at a time."""
STRETCH: Final = 512
"""Points that are compared at a time: their counts stay in the nearest cache."""

Ranks = NDArray[np.uint16] | NDArray[np.uint32]


@entry
def count_few(points: Floats, starts: Longs, factors: Longs) -> None:
    """Set the factors in those skylines that have few points."""
    for group in range(len(starts) - 1):
        begin, end = starts[group], starts[group + 1]
        if end - begin <= FEW:
            for row in range(begin, end):
                factors[row] = _most(points, row, begin, end)


@inlined
def _most(points: Floats, row: int, begin: int, end: int) -> int:
    dimensions, most = points.shape[1], 0
    for other in range(begin, end):
        count = 0
        for j in range(dimensions):
            count += points[other, j] <= points[row, j]
        if count < dimensions:
            most = max(most, count)
    return most


@entry
def count_many(ranks: Ranks, dimensions: int, counts: Ranks, factors: Longs) -> None:
    """Set the factors in one skyline.

    `ranks` has a row for each dimension, further ones of zeros up to a multiple of LANES, and a
    column for each point; equal points are best next to each other, strong ones in front.
    """
    idle = len(ranks) - dimensions
    for point in range(ranks.shape[1]):
        if point > 0 and _equal(ranks, point - 1, point):
            factors[point] = factors[point - 1]
        else:
            factors[point] = _most_by_rank(ranks, point, idle, counts) - idle


@inlined
def _equal(ranks: Ranks, one: int, other: int) -> bool:
    for j in range(len(ranks)):  # noqa: SIM110 - compiled code has no generators
        if ranks[j, one] != ranks[j, other]:
            return False
    return True


@compiled
def _most_by_rank(ranks: Ranks, point: int, idle: int, counts: Ranks) -> int:
    """The highest count of a different point; there is no need to go on if all but one count."""
    lanes, most, limit = len(ranks), idle, 1 << (8 * counts.itemsize)
    for begin in range(0, ranks.shape[1], STRETCH):
        size = min(STRETCH, ranks.shape[1] - begin)
        # So far below zero that the count of an equal point wraps to 0, where it is the lowest.
        counts[:] = -lanes
        for j in range(0, lanes, LANES):
            _count(ranks, j, point, begin, size, counts)
        highest = _highest(counts, size)
        if highest != 0:
            most = max(most, lanes - (limit - highest))
        if most == lanes - 1:
            break
    return most


@inlined
def _count(ranks: Ranks, j: int, point: int, begin: int, size: int, counts: Ranks) -> None:
    a, b, c, d = ranks[j, point], ranks[j + 1, point], ranks[j + 2, point], ranks[j + 3, point]
    first, second = ranks[j][begin:], ranks[j + 1][begin:]
    third, fourth = ranks[j + 2][begin:], ranks[j + 3][begin:]
    for i in range(size):
        counts[i] += (first[i] <= a) + (second[i] <= b) + (third[i] <= c) + (fourth[i] <= d)


@inlined
def _highest(counts: Ranks, size: int) -> int:
    highest: int = counts[0]
    for i in range(1, size):
        if counts[i] > highest:
            highest = counts[i]
    return highest
