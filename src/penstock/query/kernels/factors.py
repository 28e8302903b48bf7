"""How narrowly a point escapes being dominated: the dominance factors of top-delta queries."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.query.kernels import counting
from penstock.query.kernels.given import Floats, Longs, as_points, as_starts
from penstock.query.kernels.skyline import kept


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
    best = np.flatnonzero(kept(points, starts))
    factors = np.full(len(points), points.shape[1], np.int64)
    factors[best] = _within_skylines(points[best], np.searchsorted(best, starts))
    return factors


def _within_skylines(points: Floats, starts: Longs) -> Longs:
    factors = np.empty(len(points), np.int64)
    counting.count_few(points, starts, factors)
    for group in np.flatnonzero(np.diff(starts) > counting.FEW):
        rows = slice(starts[group], starts[group + 1])
        factors[rows] = _within_skyline(points[rows])
    return factors


def _within_skyline(points: Floats) -> Longs:
    ranks = _ranks(points)
    order = _strong_first(ranks)
    ordered = np.empty(len(points), np.int64)
    counts = np.empty(counting.STRETCH, ranks.dtype)
    # `take` and not an index, which would lay points side by side instead of dimensions.
    counting.count_many(ranks.take(order, axis=1), points.shape[1], counts, ordered)
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
    lanes = -(-dimensions // counting.LANES) * counting.LANES
    ranks = np.zeros((lanes, size), np.uint16 if size <= 2**16 else np.uint32)
    np.put_along_axis(ranks[:dimensions], order, dense.astype(ranks.dtype), axis=1)
    return ranks


def _strong_first(ranks: NDArray[np.unsignedinteger]) -> NDArray[np.intp]:
    """By the sum of ranks: whoever is compared with the strong first is soon done.

    Of equal sums, equal points are brought together by a hash.
    """
    wide = ranks.astype(np.uint64)
    weights = np.arange(1, 2 * len(ranks), 2, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    hashes = (wide * weights[:, np.newaxis]).sum(axis=0) >> np.uint64(40)
    return np.argsort((wide.sum(axis=0) << np.uint64(24)) | hashes)
