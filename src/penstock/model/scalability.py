"""How a module's service time falls as replicas are added: game, Section 4.1 and Fig. 3.

Every model tells the *share* of the running time that is left between two results with n replicas:
`share(1)` is 1, and the service time is `running_time * share(n)`. Shares are convex and fall until
`best` replicas; more of them would only cost.

>>> Ideal().share(4.0), Saturating(best=3).share(4.0)
(0.25, 0.3333333333333333)
>>> round(Minimum(best=3).replicas(Minimum(best=3).share(2.5)), 9)
2.5

Functions that are known only by calling them are inverted and minimised by search:

>>> round(inverse(lambda n: 1 / n, 0.25), 9)
4.0
>>> round(smallest(lambda n: 9 / n + n), 6)
3.0
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, sqrt
from typing import Final, Protocol

from penstock.core.graph import Module, check_speedup

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


_ROUNDING: Final = 1e-12
"""Relative difference under which a share is that of the best degree."""


class Scalability(Protocol):
    """The share of the running time between two results, with any number of replicas."""

    @property
    def best(self) -> float:
        """Replicas with the smallest share; inf where more always help."""
        ...

    def share(self, replicas: float) -> float:
        """What is left of the running time with so many replicas."""
        ...

    def replicas(self, share: float) -> float:
        """The fewest replicas that bring the share down to this; inf where none can."""
        ...

    def ideal(self, ratio: float) -> float:
        """Where `ratio * share(n) + n` is smallest: what a module alone would choose."""
        ...


@dataclass(frozen=True, slots=True)
class Ideal:
    """Each replica brings as much as the first: Fig. 3a."""

    best: float = inf

    def share(self, replicas: float) -> float:
        """1/n."""
        return 1.0 / replicas

    def replicas(self, share: float) -> float:
        """The inverse of it."""
        return 1.0 / share if share > 0.0 else inf

    def ideal(self, ratio: float) -> float:
        """The square root of Expr. 10."""
        return sqrt(ratio)


@dataclass(frozen=True, slots=True)
class Saturating:
    """Ideal up to `best` replicas, and no faster beyond, as where memory is the limit: Fig. 3b."""

    best: float

    def share(self, replicas: float) -> float:
        """1/n, but never under that of the best."""
        return 1.0 / min(replicas, self.best)

    def replicas(self, share: float) -> float:
        """As ideal, as far as the best."""
        return _limit(self, share) or 1.0 / share

    def ideal(self, ratio: float) -> float:
        """Never beyond the best."""
        return min(sqrt(ratio), self.best)


@dataclass(frozen=True, slots=True)
class Minimum:
    """Slower again beyond `best` replicas, as where a scheduler has to serve them all: Fig. 3c.

    `share(n) = (1/n + n/best**2) / (1 + 1/best**2)`.
    """

    best: float

    def share(self, replicas: float) -> float:
        """What each gains, and what serving it costs."""
        return self._scale * (1.0 / replicas + replicas / self.best**2)

    def replicas(self, share: float) -> float:
        """The smaller of the two degrees that have this share."""
        half = share / (2.0 * self._scale)
        under = max(half**2 - 1.0 / self.best**2, 0.0)  # a rounding error may be negative
        return _limit(self, share) or 1.0 / (half + sqrt(under))

    def ideal(self, ratio: float) -> float:
        """Where the derivative is nought."""
        weight = ratio * self._scale
        return sqrt(weight / (1.0 + weight / self.best**2))

    @property
    def _scale(self) -> float:
        return 1.0 / (1.0 + 1.0 / self.best**2)


@dataclass(frozen=True, slots=True)
class Convex:
    """Any convex function of the replicas, falling up to `best` of them.

    >>> model = Convex(lambda n: n**-0.8, best=100.0)
    >>> round(model.replicas(model.share(7.0)), 6)
    7.0
    """

    function: Callable[[float], float]
    best: float

    def share(self, replicas: float) -> float:
        """As the function has it, and flat beyond the best."""
        return self.function(min(replicas, self.best))

    def replicas(self, share: float) -> float:
        """By bisection."""
        return _limit(self, share) or inverse(self.share, share, self.best)

    def ideal(self, ratio: float) -> float:
        """By golden section."""
        return smallest(lambda n: ratio * self.share(n) + n, self.best)


@dataclass(frozen=True, slots=True)
class Measured:
    """Between measured degrees the share is a straight line; under one replica it is ideal.

    >>> round(Measured((1.0, 1.8, 2.4)).share(2.0), 4)
    0.5556
    """

    speedup: tuple[float, ...]
    """How many times as fast as one the first 1, 2, 3... replicas are."""

    def __post_init__(self) -> None:
        """Refuse what is no convex function."""
        check_speedup(self.speedup, of="speedup")

    @property
    def best(self) -> float:
        """The fastest measured degree."""
        return float(self.speedup.index(max(self.speedup)) + 1)

    def share(self, replicas: float) -> float:
        """Between two measurements a straight line, and flat beyond the last."""
        if replicas <= 1.0:
            return 1.0 / replicas
        if replicas >= len(self.speedup):
            return 1.0 / self.speedup[-1]
        low = int(replicas)
        before, after = 1.0 / self.speedup[low - 1], 1.0 / self.speedup[low]
        return before + (replicas - low) * (after - before)

    def replicas(self, share: float) -> float:
        """On the first line that comes down to it."""
        if share >= 1.0:
            return 1.0 / share
        return _limit(self, share) or self._on_a_line(share)

    def ideal(self, ratio: float) -> float:
        """At a measured degree, or under one replica as ideal: between them the cost is a line."""
        degrees = [min(sqrt(ratio), 1.0), *map(float, range(1, int(self.best) + 1))]
        return min(degrees, key=lambda n: (ratio * self.share(n) + n, n))

    def _on_a_line(self, share: float) -> float:
        low = next(n for n, speed in enumerate(self.speedup) if 1.0 / speed <= share)
        before, after = 1.0 / self.speedup[low - 1], 1.0 / self.speedup[low]
        return low + (before - share) / (before - after)


def scalability(module: Module) -> Scalability:
    """The model that a module's settings name."""
    if module.scaling == "measured":
        return Measured(module.speedup)
    if module.best_replicas is None:
        return Ideal()
    kind = Saturating if module.scaling == "saturating" else Minimum
    return kind(module.best_replicas)


def slowdown(model: Scalability, replicas: float) -> float:
    """By how much longer a row takes at one of so many replicas than it would take alone.

    >>> slowdown(Saturating(best=4), 8)
    2.0
    """
    return 1.0 if isinstance(model, Ideal) else replicas * model.share(replicas)


def _limit(model: Scalability, share: float) -> float | None:
    """The answer for a share that only the best degree has, or none; None for one above it."""
    least = model.share(model.best)
    if share > least:
        return None
    return model.best if share >= least * (1.0 - _ROUNDING) else inf
