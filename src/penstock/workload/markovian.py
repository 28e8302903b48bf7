"""Rows that come fast for a while, then slowly for a while: bursts of a given dispersion."""

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from penstock.core.errors import SettingError
from penstock.core.settings import rate, seconds
from penstock.workload.checks import at_least, drawable, not_negative, positive
from penstock.workload.curve import Curve, Curved, Floats, grow
from penstock.workload.scatter import scatter, stream


@dataclass(frozen=True, slots=True)
class Markovian(Curved):
    """A Markovian arrival process of two states, fitted to a mean rate and a dispersion.

    In the fast and in the slow state rows come as a Poisson process, and each state lasts for an
    exponential time. The index of dispersion, the variance of the rows of a long time over their
    mean, is 1 for a Poisson process; in the thousands, bursts are severe.

    Mean, dispersion and both rates leave nothing open: with the defaults, fast is four times slow
    and lasts for a third of the time. At 30,000 rows/s that makes the busiest of 350 seconds 1.57,
    1.76, 1.93 and 1.98 times the mean one for dispersions of 1,000 to 4,000, in the median of 50
    seeds; the traces of the ppq paper have 1.57, 1.75, 2.01 and 2.03 (Tab. 3).

    >>> bursty = Markovian(dispersion=1000.0, rate_=30_000.0)
    >>> fast, slow = bursty.sojourns
    >>> f"fast for {1000 * fast:.0f} ms, slow for {1000 * slow:.0f} ms"
    'fast for 50 ms, slow for 100 ms'
    """

    drawn: ClassVar[bool] = True

    dispersion: float
    """Variance over mean of the rows that come in a long time."""
    rate_: float = rate(1000.0)
    """Mean rows a second."""
    fast: float = 2.0
    """The rate of the fast state, as a multiple of the mean."""
    slow: float = 0.5
    """The rate of the slow state, as a multiple of the mean."""
    slot: float = seconds(0.02)
    """Seconds between draws within a state."""
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse what cannot be fitted."""
        at_least(self.dispersion, 1.0, "dispersion of workload map")
        positive(self.rate_, "rate of workload map")
        positive(self.fast, "fast of workload map")
        drawable(self.fast * self.rate_, self.slot, "workload map")
        not_negative(self.seed, "seed of workload map")
        if not 0 <= self.slow < 1 < self.fast:
            raise SettingError(
                f"workload map needs 0 <= slow < 1 < fast, as multiples of the mean rate, "
                f"got {self.slow:g} and {self.fast:g}"
            )

    @property
    def share(self) -> float:
        """The share of the time in the fast state, such that the mean rate is as asked."""
        return (1.0 - self.slow) / (self.fast - self.slow)

    @property
    def sojourns(self) -> tuple[float, float]:
        """Mean seconds that the fast and the slow state last, such that the dispersion is.

        I = 1 + 2 (fast - slow)^2 share (1 - share) / (mean rate * speed), where the speed at which
        states are forgotten is the sum of both rates of leaving.
        """
        variance = (self.fast - 1.0) * (1.0 - self.slow)  # of the rate, by its squared mean
        memory = (self.dispersion - 1.0) / (2.0 * variance * self.rate_)
        return memory / (1.0 - self.share), memory / self.share

    def curve(self, *, until: float = 0.0, rows: float = 0.0) -> Curve:
        """As many slots, or sojourns where those are shorter, as it takes."""
        return grow(
            lambda n: _draw(self, n),
            slot=_pace(self),
            until=until,
            rows=rows,
            of="workload map",
            remedy="give it a longer slot, a higher dispersion or a lower rate",
        )


def _pace(bursty: Markovian) -> float:
    # so that one sojourn or so, and never millions, falls into one step of growth
    mean = sum(bursty.sojourns) / 2
    return min(bursty.slot, mean) if mean > 0 else bursty.slot


@lru_cache(maxsize=8)
def _draw(bursty: Markovian, count: int) -> Curve:
    until = count * _pace(bursty)
    starts, rates = _states(bursty, until + bursty.slot)
    return scatter(starts, rates, slot=bursty.slot, until=until, seed=bursty.seed)


def _states(bursty: Markovian, until: float) -> tuple[Floats, Floats]:
    """When each state begins, and its rate; the last begins at `until` or later."""
    if bursty.dispersion == 1.0:
        return np.zeros(1), np.array([bursty.rate_])
    first = int(stream(bursty.seed, 2).random() >= bursty.share)  # 0 is fast
    number = 64
    while (starts := _starts(bursty, first, number))[-1] < until:
        number *= 2
    rates = bursty.rate_ * np.array([bursty.fast, bursty.slow])
    return starts, rates[(first + np.arange(len(starts))) % 2]


def _starts(bursty: Markovian, first: int, number: int) -> Floats:
    means = np.array(bursty.sojourns)[(first + np.arange(number)) % 2]
    lasts = stream(bursty.seed, 3).standard_exponential(number) * means
    return np.append(0.0, np.cumsum(lasts))
