"""How narrowly a point escapes being dominated: the dominance factors of top-delta queries.

Every point of a skyline is compared with every other, in compiled code. Among the points of one
skyline, counting is enough. If one is nowhere above another they are equal, and equals do not
count. Otherwise it is below it somewhere: if all that it is not above were ties, the other would
dominate it.
"""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.model.compiling import compiled, entry, inlined
from penstock.query.kernels.inputs import Floats, Longs, as_points, as_starts
from penstock.query.kernels.skyline import skyline_mask

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
        # Starts at -lanes so that the count of an equal point wraps to 0, the lowest.
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


def dominance_factors(points: ArrayLike) -> Longs:
    """For each point, the largest k such that some other k-dominates it; 0 if none does for any k.

    Smaller is better. A point k-dominates another if it is not larger in at least k dimensions, and
    smaller in at least one of those: the lower the factor, the better the point. Dominated points
    have as many as there are dimensions.

    >>> dominance_factors([[1, 9, 9], [2, 2, 8], [3, 3, 9], [9, 1, 1]])
    array([2, 2, 3, 1])

    Takes what `skyline` takes. Only points of the skyline matter: whatever dominates a point also
    k-dominates what that point does.
    """
    given = as_points(points)
    return _factors(given, np.array([0, len(given)]))


def dominance_factors_of_groups(points: ArrayLike, starts: ArrayLike) -> Longs:
    """The same for many groups at once, each by itself.

    Group g is the rows from `starts[g]` up to `starts[g + 1]`.

    >>> dominance_factors_of_groups([[1, 1], [2, 2], [4, 3], [3, 4]], starts=[0, 2, 4])
    array([0, 2, 1, 1])
    """
    given = as_points(points)
    return _factors(given, as_starts(starts, len(given)))


def _factors(points: Floats, starts: Longs) -> Longs:
    best = np.flatnonzero(skyline_mask(points, starts))
    factors = np.full(len(points), points.shape[1], np.int64)
    factors[best] = _within_skylines(points[best], np.searchsorted(best, starts))
    return factors


def _within_skylines(points: Floats, starts: Longs) -> Longs:
    factors = np.empty(len(points), np.int64)
    count_few(points, starts, factors)
    for group in np.flatnonzero(np.diff(starts) > FEW):
        rows = slice(starts[group], starts[group + 1])
        factors[rows] = _within_skyline(points[rows])
    return factors


def _within_skyline(points: Floats) -> Longs:
    ranks = _ranks(points)
    order = _strong_first(ranks)
    ordered = np.empty(len(points), np.int64)
    counts = np.empty(STRETCH, ranks.dtype)
    # `take` and not an index, which would lay points side by side instead of dimensions.
    count_many(ranks.take(order, axis=1), points.shape[1], counts, ordered)
    factors = np.empty_like(ordered)
    factors[order] = ordered
    return factors


def _ranks(points: Floats) -> NDArray[np.unsignedinteger]:
    """By dimension and point, in as few bits as will do; rows of zeros fill it up."""
    size, dimensions = points.shape
    columns = np.ascontiguousarray(points.T)
    order = np.argsort(columns, axis=1)
    ascending = np.take_along_axis(columns, order, axis=1)
    dense = np.zeros((dimensions, size), np.int64)
    np.cumsum(ascending[:, 1:] != ascending[:, :-1], axis=1, out=dense[:, 1:])
    lanes = -(-dimensions // LANES) * LANES
    ranks = np.zeros((lanes, size), np.uint16 if size <= 2**16 else np.uint32)
    np.put_along_axis(ranks[:dimensions], order, dense.astype(ranks.dtype), axis=1)
    return ranks


def _strong_first(ranks: NDArray[np.unsignedinteger]) -> NDArray[np.intp]:
    """By the sum of ranks: comparisons with strong points first end early.

    Of equal sums, equal points are brought together by a hash.
    """
    wide = ranks.astype(np.uint64)
    weights = np.arange(1, 2 * len(ranks), 2, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    hashes = (wide * weights[:, np.newaxis]).sum(axis=0) >> np.uint64(40)
    return np.argsort((wide.sum(axis=0) << np.uint64(24)) | hashes)
