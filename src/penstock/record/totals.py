"""A column of measurements in one number; None where nothing was measured.

>>> values, seconds = np.array([2.0, np.nan, 4.0]), np.array([1.0, 1.0, 3.0])
>>> mean(values, seconds), highest(values), integral(values, seconds)
(3.5, 4.0, None)
"""

import numpy as np

from penstock.record.measures import Column


def known(values: Column) -> Column:
    """Those that were measured."""
    return values[~np.isnan(values)]


def added(values: Column) -> float | None:
    """The sum of those that were measured."""
    measured = known(values)
    return float(measured.sum()) if measured.size else None


def integral(values: Column, seconds: Column) -> float | None:
    """The sum over time; None where one is missing."""
    product = values * seconds
    return float(product.sum()) if product.size and not np.isnan(product).any() else None


def mean(values: Column, seconds: Column) -> float | None:
    """Weighted by time."""
    weights = seconds[~np.isnan(values)]
    return float(np.average(known(values), weights=weights)) if weights.sum() > 0 else None


def lowest(values: Column) -> float | None:
    """The least that was measured."""
    measured = known(values)
    return float(measured.min()) if measured.size else None


def highest(values: Column) -> float | None:
    """The most that was measured."""
    measured = known(values)
    return float(measured.max()) if measured.size else None


def last(values: Column) -> float | None:
    """The last, None where just that one was not measured."""
    return None if not values.size or np.isnan(values[-1]) else float(values[-1])


def whole(value: float | None) -> int | None:
    """A count."""
    return None if value is None else round(value)
