"""Rows that arrive at random: counts of a Poisson process whose rate changes at given moments.

>>> curve = scatter(np.array([0.0, 10.0]), np.array([0.0, 500.0]), slot=0.02, until=20.0, seed=1)
>>> curve.arrivals(np.array([10.0, 20.0])).tolist()
[0.0, 4994.0]
"""

from dataclasses import dataclass, is_dataclass, replace
from math import ceil, inf, isfinite, log
from typing import Annotated, Any, ClassVar, Final

import numpy as np

from penstock.core.errors import SettingError
from penstock.core.roles import Workload
from penstock.core.schema import (
    Bounds,
    Natural,
    NotNegativeRate,
    PositiveRate,
    PositiveSeconds,
    Rate,
    checked,
)
from penstock.workload.curve import Curve, Floats, Slotted, check_slot


def with_seed(workload: Any, seed: int) -> Any:
    """The workload with the chance of a seed, where it is a dataclass that has any."""
    seeded = is_dataclass(workload) and hasattr(workload, "seed")
    return replace(workload, seed=seed) if seeded else workload


def drawn(workload: Workload) -> bool:
    """Whether a workload's own curve already says when each row comes, chance included.

    Where it does, a simulation takes the rows as they come; drawing a Poisson process about its
    rate would add noise that is not the workload's. A kind of your own says so with a class
    attribute `drawn = True`.

    >>> from penstock.workload import parse
    >>> drawn(parse("poisson:300/s")), drawn(parse("constant:300/s"))
    (True, False)
    """
    return bool(getattr(workload, "drawn", False))


def scatter(starts: Floats, rates: Floats, *, slot: float, until: float, seed: int) -> Curve:
    """A Poisson process with these rates from these moments on, counted by slot.

    Slots are cut where the rate changes, so the counts are exact whatever the moments are. Counts
    are drawn from left to right: a longer curve begins with the very same numbers.
    """
    slots = ceil(until / slot)
    edges: Floats = np.arange(slots + 1, dtype=np.float64) * slot
    if len(starts) > 1:
        edges = np.union1d(edges, starts[starts < edges[-1]])
    level = rates[np.searchsorted(starts, edges[:-1], side="right") - 1]
    counts = stream(seed, 1).poisson(level * np.diff(edges)).astype(np.float64)
    return Curve.counted(edges=edges, counts=counts)


def stream(seed: int, number: int) -> np.random.Generator:
    """One of several streams of chance that have nothing to do with each other."""
    return np.random.default_rng([seed, number])


@dataclass(frozen=True, slots=True)
@checked("workload poisson")
class Poisson(Slotted):
    """A Poisson process: exponential inter-arrivals, the variance of every count is its mean.

    Counts are drawn by slot, and the rows of a slot come evenly spread over it.

    >>> poisson = Poisson(300.0)
    >>> counts = np.diff(poisson.arrivals(np.arange(10_001.0)))
    >>> f"mean {counts.mean():.0f}, variance {counts.var():.0f}"
    'mean 300, variance 302'
    """

    kind: ClassVar[str] = "poisson"
    drawn: ClassVar[bool] = True

    rate_: PositiveRate
    """Mean rows a second."""
    slot: PositiveSeconds = 0.02
    """Seconds between draws."""
    seed: Natural = 1
    """Seed of the random numbers."""

    def __post_init__(self) -> None:
        check_slot(self.rate_, self.slot, "workload poisson")

    def draw(self, slots: int) -> Curve:
        """Counts by slot."""
        rates = np.array([self.rate_])
        return scatter(np.zeros(1), rates, slot=self.slot, until=slots * self.slot, seed=self.seed)


@dataclass(frozen=True, slots=True)
@checked("workload random-walk")
class RandomWalk(Slotted):
    """A rate that moves by a normal draw in every slot and is reflected at its bounds.

    >>> walk = RandomWalk(start=300.0, step=50.0, low=200.0, high=400.0)
    >>> rates = walk.rate(np.arange(10_000.0))
    >>> bool(rates[0] == 300 and rates.min() >= 200 and rates.max() <= 400)
    True
    """

    kind: ClassVar[str] = "random-walk"

    start: NotNegativeRate
    """Rows a second in the first slot."""
    step: PositiveRate | None = None
    """Standard deviation of one move, rows a second; a twentieth of `start` if not given."""
    low: NotNegativeRate = 0.0
    """The lowest rate."""
    high: Rate = inf
    """The highest rate; none unless given."""
    slot: PositiveSeconds = 1.0
    """Seconds between moves."""
    seed: Natural = 1
    """Seed of the random numbers."""

    def __post_init__(self) -> None:
        if not self._step > 0:
            raise SettingError(
                "step of workload random-walk must be above 0/s, got 0/s", path=("step",)
            )
        if not (self.low <= self.start <= self.high and self.low < self.high):
            raise SettingError(
                "workload random-walk needs low <= start <= high and low < high, "
                f"got {self.low:g}, {self.start:g}, {self.high:g}",
                fields=("low", "start", "high"),
            )

    @property
    def _step(self) -> float:
        return self.start / 20 if self.step is None else self.step

    def draw(self, slots: int) -> Curve:
        """The rate in each slot."""
        draws = np.random.default_rng(self.seed).standard_normal(slots)
        free = self.start + self._step * np.append(0.0, np.cumsum(draws[:-1]))
        rates = reflected(free, self.low, self.high)
        return Curve.through(starts=np.arange(slots) * self.slot, rates=rates)


def reflected(free: Floats, low: float, high: float) -> Floats:
    """A walk that knew no bounds, as if every move had been reflected at them.

    >>> reflected(np.array([1.0, 2.5, 3.5]), low=0.0, high=2.0).tolist()
    [1.0, 1.5, 0.5]
    """
    # moves are symmetric, so folding the free walk is the same as reflecting every move
    width = high - low
    if not isfinite(width):
        return low + np.abs(free - low)
    return high - np.abs((free - low) % (2 * width) - width)


_MOST_SIGMA: Final = 10  # a factor of 22,000


@dataclass(frozen=True, slots=True)
@checked("workload lognormal-walk")
class LognormalWalk(Slotted):
    """Exponential inter-arrivals whose mean is multiplied by a lognormal draw in every period.

    The logarithm of the rate is a random walk, reflected at its bounds so that it does not wander
    off; eventually every logarithm between them comes equally often. With the default bounds the
    mean of a very long run is 2.1 times `start`. From 5,000 rows/s on, the busiest of 420 seconds
    is 3.4 times the mean one in the median of 60 seeds, 2.2 to 6.2 times in four of five; the
    trace of the ppq paper has 4.17 (Tab. 3).

    >>> walk = LognormalWalk(start=5000.0, low=2000.0, high=12_000.0)
    >>> walk.arrivals(np.array([5.0, 10.0, 15.0])).tolist()
    [24760.0, 40357.0, 61983.0]
    """

    kind: ClassVar[str] = "lognormal-walk"
    remedy: ClassVar[str] = "give it a longer slot or period"
    drawn: ClassVar[bool] = True

    start: PositiveRate
    """Mean rows a second in the first period."""
    sigma: Annotated[float, Bounds(least=0, most=_MOST_SIGMA)] = 0.4
    """Standard deviation of the logarithm of one factor."""
    period: PositiveSeconds = 5.0
    """Seconds between moves."""
    low: Rate | None = None
    """The lowest rate; a tenth of `start` if not given."""
    high: Rate | None = None
    """The highest rate; ten times `start` if not given."""
    slot: PositiveSeconds = 0.02
    """Seconds between draws of rows."""
    seed: Natural = 1
    """Seed of the random numbers."""

    def __post_init__(self) -> None:
        low, high = self.bounds
        if not (0 < low <= self.start <= high and low < high and isfinite(high)):
            raise SettingError(
                "workload lognormal-walk needs 0 < low <= start <= high, low < high and a finite "
                f"high, got {low:g}, {self.start:g}, {high:g}",
                fields=("low", "high", "start"),
            )
        check_slot(high, self.slot, "workload lognormal-walk")

    @property
    def bounds(self) -> tuple[float, float]:
        """The rates at which the walk turns back."""
        low = self.start / 10 if self.low is None else self.low
        return low, self.start * 10 if self.high is None else self.high

    @property
    def pace(self) -> float:
        """Seconds of the shorter: between draws, or between moves."""
        return min(self.slot, self.period)

    def draw(self, slots: int) -> Curve:
        """Counts by slot, about a rate that holds for a period."""
        until, (low, high) = slots * self.pace, self.bounds
        draws = stream(self.seed, 2).standard_normal(ceil((until + self.slot) / self.period))
        free = log(self.start) + self.sigma * np.append(0.0, np.cumsum(draws))
        # a rate may leave its bounds by rounding
        rates = np.clip(np.exp(reflected(free, log(low), log(high))), low, high)
        starts = np.arange(len(rates), dtype=np.float64) * self.period
        return scatter(starts, rates, slot=self.slot, until=until, seed=self.seed)
