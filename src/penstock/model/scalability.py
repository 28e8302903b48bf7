"""How a module's service time falls as replicas are added: game, Section 4.1 and Fig. 3.

Every model gives the *share* of the running time that is left between two results with n replicas:
`share(1)` is 1, and the service time is `running_time * share(n)`. Shares are convex and fall until
`best` replicas; more of them would only cost.

>>> Ideal().share(4.0), Saturating(best=3).share(4.0)
(0.25, 0.3333333333333333)
>>> round(Minimum(best=3).replicas(Minimum(best=3).share(2.5)), 9)
2.5
"""

from dataclasses import dataclass
from math import inf, sqrt
from typing import Final, Protocol

from penstock.core.graph import Module, check_speedup

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
        """Where the derivative is zero."""
        weight = ratio * self._scale
        return sqrt(weight / (1.0 + weight / self.best**2))

    @property
    def _scale(self) -> float:
        return 1.0 / (1.0 + 1.0 / self.best**2)


@dataclass(frozen=True, slots=True)
class Measured:
    """Between measured degrees the share is a straight line; under one replica it is ideal.

    >>> round(Measured((1.0, 1.8, 2.4)).share(2.0), 4)
    0.5556
    """

    speedup: tuple[float, ...]
    """How many times as fast as one the first 1, 2, 3... replicas are."""

    def __post_init__(self) -> None:
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
        if (limit := _limit(self, share)) is not None:
            return limit
        low = next(n for n, speed in enumerate(self.speedup) if 1.0 / speed <= share)
        before, after = 1.0 / self.speedup[low - 1], 1.0 / self.speedup[low]
        return low + (before - share) / (before - after)

    def ideal(self, ratio: float) -> float:
        """At a measured degree, or under one replica as ideal: between them the cost is a line."""
        degrees = [min(sqrt(ratio), 1.0), *map(float, range(1, int(self.best) + 1))]
        return min(degrees, key=lambda n: (ratio * self.share(n) + n, n))


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
