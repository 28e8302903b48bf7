"""Rates without chance: constant, changing at given moments, or rising and falling like a day."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Annotated, ClassVar

import numpy as np

from penstock.core.errors import SettingError
from penstock.core.schema import (
    Natural,
    NotNegative,
    NotNegativeRate,
    PositiveSeconds,
    Written,
    checked,
)
from penstock.core.units import parse_duration, parse_rate
from penstock.workload.curve import Curve, Curved, Slotted


@dataclass(frozen=True, slots=True)
@checked("workload constant")
class Constant(Curved):
    """Rows at one rate, evenly spaced.

    >>> import numpy as np
    >>> Constant(4.0).times(np.arange(3.0)).tolist()
    [0.25, 0.5, 0.75]
    """

    rate_: NotNegativeRate
    """Rows a second."""

    def curve(self, *, until: float = 0.0, rows: float = 0.0) -> Curve:  # noqa: ARG002  # infinite
        """One segment."""
        return Curve.through(starts=[0.0], rates=[self.rate_])


Level = tuple[float, float]
"""Rows a second, and the second from which they hold."""


def read_levels(given: object) -> tuple[Level, ...]:
    """Levels as people write them: a text, a list of texts, or a mapping from moment to rate.

    >>> read_levels("100/s, 400/s@30s")
    ((100.0, 0.0), (400.0, 30.0))
    >>> read_levels({"0s": "100/s", "30s": "400/s"})
    ((100.0, 0.0), (400.0, 30.0))
    """
    if isinstance(given, Mapping):
        return tuple((parse_rate(level), parse_duration(at)) for at, level in given.items())
    if isinstance(given, str):
        given = given.split(",")
    if not isinstance(given, Sequence):
        raise SettingError(f"levels are written as 100/s, 400/s@30s, got {given!r}")
    return tuple(_read_level(level) for level in given)


@dataclass(frozen=True, slots=True)
@checked("workload step")
class Step(Curved):
    """One level after another, each from its moment on.

    >>> import numpy as np
    >>> step = Step(levels=((100.0, 0.0), (400.0, 30.0)))
    >>> step.rate(np.array([0.0, 29.9, 30.0])).tolist()
    [100.0, 100.0, 400.0]
    """

    levels: Annotated[tuple[Level, ...], Written("levels such as 100/s, 400/s@30s", read_levels)]
    """Rows a second, each from its moment on: `{0s: 100/s, 30s: 400/s}`."""

    def __post_init__(self) -> None:
        moments = [at for _, at in self.levels]
        whys = [
            f"levels of workload step must be 0 or more and finite, got {value:g}"
            for level in self.levels
            for value in level
            if not 0 <= value < inf
        ]
        if not moments or moments[0] != 0:
            whys.append(
                "the first level of workload step must hold from 0 s on; write 100/s,400/s@30s"
            )
        whys += [
            f"the moments of workload step must increase, got {before:g} s, {after:g} s"
            for before, after in pairwise(moments)
            if not after > before
        ]
        if whys:
            first, *others = (SettingError(why) for why in whys)
            raise SettingError(str(first), path=("levels",), also=tuple(others))

    def curve(self, *, until: float = 0.0, rows: float = 0.0) -> Curve:  # noqa: ARG002  # infinite
        """A segment for each level."""
        rates, starts = zip(*self.levels, strict=True)
        return Curve.through(starts=starts, rates=rates)


def _read_level(given: object) -> Level:
    if not isinstance(given, str):
        return parse_rate(given), 0.0
    level, _, at = given.partition("@")
    return parse_rate(level), parse_duration(at) if at else 0.0


@dataclass(frozen=True, slots=True)
@checked("workload daily")
class Daily(Slotted):
    """A sinusoid from `low` up to `high` and back in each `period`, with noise.

    Noise multiplies the rate, so that busy hours vary by more rows than quiet ones; it is drawn
    again for every slot, and the rate is linear between draws. With noise a rate may pass `high`.

    >>> daily = Daily(low=60.0, high=420.0, period=60.0)
    >>> daily.rate(np.array([0.0, 15.0, 30.0, 60.0])).round(6).tolist()
    [60.0, 240.0, 420.0, 60.0]
    """

    kind: ClassVar[str] = "daily"

    low: NotNegativeRate
    """Rows a second at the start of each period."""
    high: NotNegativeRate
    """Rows a second in the middle of each period."""
    period: PositiveSeconds = 86400.0
    """Seconds of a period, a day by default."""
    noise: NotNegative = 0.0
    """Standard deviation of the noise, as a share of the rate."""
    slot: PositiveSeconds | None = None
    """Seconds between draws; a 96th of the period (a quarter of an hour of a day) if not given."""
    seed: Natural = 1
    """Seed of the random numbers."""

    def __post_init__(self) -> None:
        if not self.high >= self.low or self.high == 0:
            raise SettingError(
                "high of workload daily must be above 0 and at least low, "
                f"got high {self.high:g} and low {self.low:g}",
                fields=("high", "low"),
            )

    @property
    def pace(self) -> float:
        """Seconds between draws."""
        return self.period / 96 if self.slot is None else self.slot

    def draw(self, slots: int) -> Curve:
        """The rate at the start of each slot, and straight lines between."""
        at = np.arange(slots) * self.pace
        swing = (1.0 - np.cos(2 * np.pi * (at % self.period) / self.period)) / 2
        draws = np.random.default_rng(self.seed).standard_normal(slots)
        rates = self.low + (self.high - self.low) * swing
        rates *= np.maximum(1.0 + self.noise * draws, 0.0)
        return Curve.through(starts=at, rates=rates, joined=True)
