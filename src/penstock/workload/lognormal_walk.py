"""Rows at random about a rate that wanders by factors."""

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, isfinite, log
from typing import ClassVar, Final

import numpy as np

from penstock.core.errors import SettingError
from penstock.core.settings import rate, seconds
from penstock.workload.checks import drawable, not_negative, positive
from penstock.workload.curve import Curve, Curved, Floats, grow
from penstock.workload.random_walk import reflected
from penstock.workload.scatter import scatter, stream

_MOST_SIGMA: Final = 10.0  # a factor of 22,000


@dataclass(frozen=True, slots=True)
class LognormalWalk(Curved):
    """Exponential inter-arrivals whose mean is multiplied by a lognormal draw in every period.

    The logarithm of the rate is a random walk, reflected at its bounds so that it does not wander
    off; by and by every logarithm between them comes equally often. With the default bounds the
    mean of a very long run is 2.1 times `start`. From 5,000 rows/s on, the busiest of 420 seconds
    is 3.4 times the mean one in the median of 60 seeds, 2.2 to 6.2 times in four of five; the
    trace of the ppq paper has 4.17 (Tab. 3).

    >>> walk = LognormalWalk(start=5000.0, low=2000.0, high=12_000.0)
    >>> walk.arrivals(np.array([5.0, 10.0, 15.0])).tolist()
    [24760.0, 40357.0, 61983.0]
    """

    drawn: ClassVar[bool] = True

    start: float = rate()
    """Mean rows a second in the first period."""
    sigma: float = 0.4
    """Standard deviation of the logarithm of one factor."""
    period: float = seconds(5.0)
    """Seconds between moves."""
    low: float | None = rate(None)
    """The lowest rate; a tenth of `start` if not given."""
    high: float | None = rate(None)
    """The highest rate; ten times `start` if not given."""
    slot: float = seconds(0.02)
    """Seconds between draws of rows."""
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse what cannot be walked."""
        positive(self.start, "start of workload lognormal-walk")
        positive(self.period, "period of workload lognormal-walk")
        not_negative(self.seed, "seed of workload lognormal-walk")
        if not 0 <= self.sigma <= _MOST_SIGMA:
            raise SettingError(
                f"sigma of workload lognormal-walk must be in [0, {_MOST_SIGMA:g}], "
                f"got {self.sigma:g}"
            )
        low, high = self.bounds
        if not (0 < low <= self.start <= high and low < high and isfinite(high)):
            raise SettingError(
                f"workload lognormal-walk needs 0 < low <= start <= high, low < high and an end "
                f"to high, got {low:g}, {self.start:g}, {high:g}"
            )
        drawable(high, self.slot, "workload lognormal-walk")

    @property
    def bounds(self) -> tuple[float, float]:
        """The rates at which the walk turns back."""
        low = self.start / 10 if self.low is None else self.low
        return low, self.start * 10 if self.high is None else self.high

    def curve(self, *, until: float = 0.0, rows: float = 0.0) -> Curve:
        """As many slots as it takes."""
        slot = min(self.slot, self.period)
        return grow(
            lambda n: _draw(self, n * slot),
            slot=slot,
            until=until,
            rows=rows,
            of="workload lognormal-walk",
            remedy="give it a longer slot or period",
        )


@lru_cache(maxsize=8)
def _draw(walk: LognormalWalk, until: float) -> Curve:
    rates = _walked(walk, ceil((until + walk.slot) / walk.period))
    starts = np.arange(len(rates), dtype=np.float64) * walk.period
    return scatter(starts, rates, slot=walk.slot, until=until, seed=walk.seed)


def _walked(walk: LognormalWalk, moves: int) -> Floats:
    low, high = walk.bounds
    draws = stream(walk.seed, 2).standard_normal(moves)
    free = log(walk.start) + walk.sigma * np.append(0.0, np.cumsum(draws))
    # a rate may leave its bounds by rounding
    return np.clip(np.exp(reflected(free, log(low), log(high))), low, high)
