"""Rows that arrive fast for a while, then slowly for a while: bursts of a given dispersion."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

import numpy as np

from penstock.core.errors import SettingError
from penstock.core.schema import (
    Bounds,
    Natural,
    NotNegative,
    Positive,
    PositiveRate,
    PositiveSeconds,
    checked,
)
from penstock.workload.curve import Curve, Floats, Slotted, check_slot
from penstock.workload.stochastic import scatter, stream


@dataclass(frozen=True, slots=True)
@checked("workload map")
class Markovian(Slotted):
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

    kind: ClassVar[str] = "map"
    remedy: ClassVar[str] = "give it a longer slot, a higher dispersion or a lower rate"
    drawn: ClassVar[bool] = True

    dispersion: Annotated[float, Bounds(least=1)]
    """Variance over mean of the rows that arrive in a long time."""
    rate_: PositiveRate = 1000.0
    """Mean rows a second."""
    fast: Positive = 2.0
    """The rate of the fast state, as a multiple of the mean."""
    slow: NotNegative = 0.5
    """The rate of the slow state, as a multiple of the mean."""
    slot: PositiveSeconds = 0.02
    """Seconds between draws within a state."""
    seed: Natural = 1
    """Seed of the random numbers."""

    def __post_init__(self) -> None:
        if not self.slow < 1 < self.fast:
            raise SettingError(
                "workload map needs slow < 1 < fast, as multiples of the mean rate, "
                f"got {self.slow:g} and {self.fast:g}",
                fields=("fast", "slow"),
            )
        check_slot(self.fast * self.rate_, self.slot, "workload map")

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

    @property
    def pace(self) -> float:
        """Seconds of a slot, or of a mean sojourn where that is shorter.

        So one sojourn or so, and never millions, falls into one step of growth.
        """
        mean = sum(self.sojourns) / 2
        return min(self.slot, mean) if mean > 0 else self.slot

    def draw(self, slots: int) -> Curve:
        """Counts by slot, about the rate of each state."""
        until = slots * self.pace
        starts, rates = _states(self, until + self.slot)
        return scatter(starts, rates, slot=self.slot, until=until, seed=self.seed)


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


_SLOWEST: Final = 24
"""The slowest factor holds for `2**24` slots, longer than any curve."""
_SPREAD: Final = 0.5
"""Variance of the rows of a slot, by their squared mean, if slots were independent."""


@dataclass(frozen=True, slots=True)
@checked("workload self-similar")
class SelfSimilar(Slotted):
    """Pareto-distributed rows by slot about a level that is long-range dependent.

    Independent Pareto counts forget at once: over longer times they average out as fast as those
    of a Poisson process. Here a level multiplies them that is the product of lognormal factors,
    the j-th of which is drawn again every `2**j` slots. The variance of the mean of m slots then
    falls as `m**(2 * hurst - 2)` on every scale from one slot to the whole run. A Hurst parameter
    of 0.5 is independence, one close to 1 means that busy hours follow busy hours.

    With the default slot, the busiest of 390 seconds is 1.7, 2.2 and 3.5 times the mean one for
    0.6, 0.7 and 0.8, in the median of 50 seeds; the traces of the ppq paper have 2.24, 2.06 and
    3.83 (Tab. 3). The shorter the slot, the smoother a second.

    >>> flow = SelfSimilar(hurst=0.7)
    >>> counts = np.diff(flow.arrivals(np.arange(0.0, 2000.0, flow.slot)))
    >>> from penstock.workload.burstiness import hurst
    >>> f"{hurst(counts):.2f}"
    '0.71'
    """

    kind: ClassVar[str] = "self-similar"
    drawn: ClassVar[bool] = True

    hurst: Annotated[float, Bounds(least=0.5, below=1)]
    """From 0.5 (no memory) up to, but not including, 1."""
    rate_: PositiveRate = 1000.0
    """Mean rows a second."""
    slot: PositiveSeconds = 0.02
    """Seconds between draws."""
    seed: Natural = 1
    """Seed of the random numbers."""

    def __post_init__(self) -> None:
        check_slot(self.rate_, self.slot, "workload self-similar")

    def draw(self, slots: int) -> Curve:
        """The rate in each slot."""
        shape = _shape(self.hurst)
        pareto = (1.0 + stream(self.seed, 0).pareto(shape, slots)) * (shape - 1.0) / shape
        rates = self.rate_ * pareto * _level(self, slots)
        return Curve.through(starts=np.arange(slots) * self.slot, rates=rates)


def _level(flow: SelfSimilar, count: int) -> Floats:
    """The product of all factors in each slot: every factor's halves take it to the next one."""
    # the run begins anywhere within the slowest factor, so that no moment is special
    begin = int(stream(flow.seed, _SLOWEST + 1).integers(1 << _SLOWEST))
    log = np.zeros(1)
    for scale in range(_SLOWEST, 0, -1):
        spread = np.sqrt(_log_variance(flow.hurst, scale))
        log = _halves(log, begin, count, scale)
        log += spread * (stream(flow.seed, scale).standard_normal(len(log)) - spread / 2)
    return _halves(np.exp(log), begin, count, 0)


def _halves(values: Floats, begin: int, count: int, scale: int) -> Floats:
    """The values of one scale, for each factor of the next faster one within the run."""
    places = np.arange(begin >> scale, (begin + count - 1 >> scale) + 1)
    held: Floats = values[(places >> 1) - (begin >> scale + 1)]
    return held


def _log_variance(hurst: float, scale: int) -> float:
    """Of a factor's logarithm, such that it and all slower ones have a product as `_held` says."""
    return float(np.log1p(_held(hurst, scale)) - np.log1p(_held(hurst, scale + 1)))


def _held(hurst: float, scale: int) -> float:
    """The variance of the product of all factors of this scale and slower ones."""
    share = (2.0 ** (2 * hurst - 1) - 1) / (1 - 2.0 ** (2 * hurst - 2))
    return float(_SPREAD * share * 2.0 ** (scale * (2 * hurst - 2)))


def _shape(hurst: float) -> float:
    """Of the Pareto law with which a single slot has the variance that the power law asks for."""
    variance = _SPREAD * 2.0 ** (2 * hurst - 1) / (1 + _held(hurst, 1))
    return float(1 + np.sqrt(1 + 1 / variance))  # the variance is 1 / (shape * (shape - 2))
