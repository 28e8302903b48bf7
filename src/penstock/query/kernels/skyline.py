"""The points that no other dominates."""

import numpy as np
from numpy.typing import ArrayLike

from penstock.query.kernels import sieve
from penstock.query.kernels.given import Floats, Longs, as_points, as_starts
from penstock.query.kernels.room import room


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
    return np.flatnonzero(kept(given, np.array([0, len(given)])))


def skyline_of_groups(points: ArrayLike, starts: ArrayLike) -> Longs:
    """The same for many groups at once, each by itself.

    Group g is the rows from `starts[g]` up to `starts[g + 1]`.

    >>> skyline_of_groups([[1, 1], [2, 2], [4, 4], [3, 3]], starts=[0, 2, 4])
    array([0, 3])
    """
    given = as_points(points)
    return np.flatnonzero(kept(given, as_starts(starts, len(given))))


def kept(points: Floats, starts: Longs) -> sieve.Flags:
    """For each row, whether it is in the skyline of its group."""
    largest = int(np.diff(starts).max(initial=0))
    found = np.zeros(len(points), np.bool_)
    sieve.mark_skylines(points, starts, room(largest, points.shape[1]), found)
    return found
