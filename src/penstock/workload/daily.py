"""A rate that rises and falls like a day."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from penstock.core.errors import SettingError
from penstock.core.settings import rate, seconds
from penstock.workload.checks import not_negative, positive
from penstock.workload.curve import Curve, Curved, grow


@dataclass(frozen=True, slots=True)
class Daily(Curved):
    """A sinusoid from `low` up to `high` and back in each `period`, with noise.

    Noise multiplies the rate, so that busy hours vary by more rows than quiet ones; it is drawn
    anew for every slot, and the rate is linear between draws. With noise a rate may pass `high`.

    >>> daily = Daily(low=60.0, high=420.0, period=60.0)
    >>> daily.rate(np.array([0.0, 15.0, 30.0, 60.0])).round(6).tolist()
    [60.0, 240.0, 420.0, 60.0]
    """

    low: float = rate()
    """Rows a second at the start of each period."""
    high: float = rate()
    """Rows a second in the middle of each period."""
    period: float = seconds(86400.0)
    noise: float = 0.0
    """Standard deviation of the noise, as a share of the rate."""
    slot: float | None = seconds(None)
    """Seconds between draws; a 96th of the period (a quarter of an hour of a day) if not given."""
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse what no day can be."""
        not_negative(self.low, "low of workload daily")
        not_negative(self.high, "high of workload daily")
        not_negative(self.noise, "noise of workload daily")
        not_negative(self.seed, "seed of workload daily")
        positive(self.period, "period of workload daily")
        positive(self._slot, "slot of workload daily")
        if not self.high >= self.low or self.high == 0:
            raise SettingError(
                f"high of workload daily must be above 0 and at least low, "
                f"got high {self.high:g} and low {self.low:g}"
            )

    @property
    def _slot(self) -> float:
        return self.period / 96 if self.slot is None else self.slot

    def curve(self, *, until: float = 0.0, rows: float = 0.0) -> Curve:
        """As many slots as it takes."""
        of = "workload daily"
        return grow(lambda n: _draw(self, n), slot=self._slot, until=until, rows=rows, of=of)


@lru_cache(maxsize=64)
def _draw(daily: Daily, count: int) -> Curve:
    at = np.arange(count) * daily._slot
    swing = (1.0 - np.cos(2 * np.pi * (at % daily.period) / daily.period)) / 2
    draws = np.random.default_rng(daily.seed).standard_normal(count)
    rates = daily.low + (daily.high - daily.low) * swing
    rates *= np.maximum(1.0 + daily.noise * draws, 0.0)
    return Curve.through(starts=at, rates=rates, joined=True)
