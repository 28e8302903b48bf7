"""Inverse and minimum of functions that are known only by calling them.

>>> round(inverse(lambda n: 1 / n, 0.25), 9)
4.0
>>> round(smallest(lambda n: 9 / n + n), 6)
3.0
"""

from collections.abc import Callable
from math import inf, sqrt
from typing import Final

_GOLDEN: Final = (sqrt(5.0) - 1.0) / 2.0
_TURNS: Final = 100
"""Of the golden section; each leaves 62 % of the room."""
_PRECISION: Final = 1e-12


def inverse(function: Callable[[float], float], value: float, limit: float = inf) -> float:
    """The first point in (0, limit] at which a falling function is down to a value.

    The value has to be one that the function has there.
    """
    if value == inf:
        return 0.0
    low, high = _bracket(function, value, limit)
    while high - low > _PRECISION * high:
        middle = (low + high) / 2.0
        low, high = (low, middle) if function(middle) <= value else (middle, high)
    return high


def smallest(cost: Callable[[float], float], limit: float = inf) -> float:
    """Where a convex function is smallest in (0, limit], by golden section."""
    low, high = 0.0, _beyond(cost, limit)
    left, right = high - _GOLDEN * high, _GOLDEN * high
    at_left, at_right = cost(left), cost(right)
    for _ in range(_TURNS):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = cost(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = cost(right)
    best = (low + high) / 2.0
    return limit if limit < inf and cost(limit) <= cost(best) else best


def _bracket(function: Callable[[float], float], value: float, limit: float) -> tuple[float, float]:
    high = min(1.0, limit)
    while function(high) > value and high < limit:
        high = min(2.0 * high, limit)
    low = high / 2.0
    while low > 0.0 and function(low) <= value:
        low, high = low / 2.0, low
    return low, high


def _beyond(cost: Callable[[float], float], limit: float) -> float:
    """A point behind the smallest cost."""
    n = 1.0
    while n < limit and cost(2.0 * n) < cost(n):
        n *= 2.0
    return min(2.0 * n, limit)
