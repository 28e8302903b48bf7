"""The mean of values, however large they are."""

from collections.abc import Collection
from math import fsum


def mean(values: Collection[float]) -> float:
    """The mean of one value or more, to the last digit; no sum is too large for it.

    >>> mean([100.0, 300.0]), mean([1e308, 1e308])
    (200.0, 1e+308)
    """
    count = len(values)
    try:
        return fsum(values) / count
    except OverflowError:
        return fsum(value / count for value in values)
