"""Rows that know nothing of each other."""

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from penstock.core.settings import rate, seconds
from penstock.workload.checks import drawable, not_negative, positive
from penstock.workload.curve import Curve, Curved, grow
from penstock.workload.scatter import scatter


@dataclass(frozen=True, slots=True)
class Poisson(Curved):
    """A Poisson process: exponential inter-arrivals, the variance of every count is its mean.

    Counts are drawn by slot, and the rows of a slot come evenly spread over it.

    >>> poisson = Poisson(300.0)
    >>> counts = np.diff(poisson.arrivals(np.arange(10_001.0)))
    >>> f"mean {counts.mean():.0f}, variance {counts.var():.0f}"
    'mean 300, variance 302'
    """

    drawn: ClassVar[bool] = True

    rate_: float = rate()
    """Mean rows a second."""
    slot: float = seconds(0.02)
    """Seconds between draws."""
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn."""
        positive(self.rate_, "rate of workload poisson")
        drawable(self.rate_, self.slot, "workload poisson")
        not_negative(self.seed, "seed of workload poisson")

    def curve(self, *, until: float = 0.0, rows: float = 0.0) -> Curve:
        """As many slots as it takes."""
        of = "workload poisson"
        return grow(lambda n: _draw(self, n), slot=self.slot, until=until, rows=rows, of=of)


@lru_cache(maxsize=8)
def _draw(poisson: Poisson, count: int) -> Curve:
    until, rates = count * poisson.slot, np.array([poisson.rate_])
    return scatter(np.zeros(1), rates, slot=poisson.slot, until=until, seed=poisson.seed)
