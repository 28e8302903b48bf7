"""Inputs of the kernels, checked and converted for compiled code."""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.core.errors import SettingError

MOST_DIMENSIONS: Final = 32
_EXACT: Final = 2**53
"""Integers up to here are floats too."""

_PLAIN: Final = ("C_CONTIGUOUS", "ALIGNED", "WRITEABLE")
"""Arrays of every other sort, such as Arrow's, would have the kernels compiled once more."""

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]


def as_points(given: ArrayLike) -> Floats:
    """Rows of floats, one after the other, that compare with each other as those given.

    Numbers that are equal as floats and differ are replaced by their ranks in their column.

    >>> as_points([[2**60 + 1, 5], [2**60, 7]]).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    points = _as_table(given)
    if points.size == 0:
        return np.empty(points.shape)
    if np.isnan(points.min()):
        row, column = np.argwhere(np.isnan(points))[0]
        raise SettingError(
            f"points cannot be compared with NaN, row {row} column {column}: drop it"
        )
    if _is_coarser_as_float(points):
        columns = [np.unique(column, return_inverse=True)[1] for column in points.T]
        return np.stack(columns, axis=1).astype(np.float64)
    return np.require(points, np.float64, _PLAIN)


def as_starts(given: ArrayLike, rows: int) -> Longs:
    """Where each group begins, and where the last one ends."""
    starts = np.asarray(given)
    if starts.ndim != 1 or starts.dtype.kind not in "iu" or len(starts) == 0:
        raise SettingError(f"starts of groups must be a list of integers, got {given!r}")
    if starts[0] != 0 or starts[-1] != rows:
        raise SettingError(
            f"groups must begin at 0 and end at {rows}, got {starts[0]} and {starts[-1]}"
        )
    falls = np.flatnonzero(starts[1:] < starts[:-1])
    if len(falls):
        place = int(falls[0])
        raise SettingError(
            f"starts of groups must not fall, got {starts[place + 1]} after {starts[place]}"
        )
    return np.require(starts, np.int64, _PLAIN)


def _as_table(given: ArrayLike) -> NDArray[np.generic]:
    try:
        points = np.asarray(given)
    except ValueError:
        raise SettingError("points must be rows of equal length") from None
    if points.dtype.kind not in "biuf":
        raise SettingError(f"points must be real numbers, got an array of {points.dtype}")
    if points.ndim != 2:
        raise SettingError(f"points must be rows by columns, got an array of shape {points.shape}")
    if not 1 <= points.shape[1] <= MOST_DIMENSIONS:
        raise SettingError(
            f"points must have 1 to {MOST_DIMENSIONS} columns, got {points.shape[1]}"
        )
    return points


def _is_coarser_as_float(points: NDArray[np.generic]) -> bool:
    if points.dtype.kind in "iu" and points.dtype.itemsize == np.dtype(np.int64).itemsize:
        return bool(int(points.max()) > _EXACT or int(points.min()) < -_EXACT)
    return points.dtype.kind == "f" and points.dtype.itemsize > np.dtype(np.float64).itemsize
