"""A rate that wanders."""

from dataclasses import dataclass
from functools import lru_cache
from math import inf, isfinite

import numpy as np

from penstock.core.errors import SettingError
from penstock.core.settings import rate, seconds
from penstock.workload.checks import not_negative, positive
from penstock.workload.curve import Curve, Curved, Floats, grow


@dataclass(frozen=True, slots=True)
class RandomWalk(Curved):
    """A rate that moves by a normal draw in every slot and is reflected at its bounds.

    >>> walk = RandomWalk(start=300.0, step=50.0, low=200.0, high=400.0)
    >>> rates = walk.rate(np.arange(10_000.0))
    >>> bool(rates[0] == 300 and rates.min() >= 200 and rates.max() <= 400)
    True
    """

    start: float = rate()
    """Rows a second in the first slot."""
    step: float | None = rate(None)
    """Standard deviation of one move, rows a second; a twentieth of `start` if not given."""
    low: float = rate(0.0)
    high: float = rate(inf)
    slot: float = seconds(1.0)
    """Seconds between moves."""
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse what cannot be walked."""
        not_negative(self.start, "start of workload random-walk")
        not_negative(self.low, "low of workload random-walk")
        not_negative(self.seed, "seed of workload random-walk")
        positive(self._step, "step of workload random-walk")
        positive(self.slot, "slot of workload random-walk")
        if not (self.low <= self.start <= self.high and self.low < self.high):
            raise SettingError(
                f"workload random-walk needs low <= start <= high and low < high, "
                f"got {self.low:g}, {self.start:g}, {self.high:g}"
            )

    @property
    def _step(self) -> float:
        return self.start / 20 if self.step is None else self.step

    def curve(self, *, until: float = 0.0, rows: float = 0.0) -> Curve:
        """As many slots as it takes."""
        of = "workload random-walk"
        return grow(lambda n: _draw(self, n), slot=self.slot, until=until, rows=rows, of=of)


@lru_cache(maxsize=64)
def _draw(walk: RandomWalk, count: int) -> Curve:
    draws = np.random.default_rng(walk.seed).standard_normal(count)
    free = walk.start + walk._step * np.append(0.0, np.cumsum(draws[:-1]))
    rates = reflected(free, walk.low, walk.high)
    return Curve.through(starts=np.arange(count) * walk.slot, rates=rates)


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
