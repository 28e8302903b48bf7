"""A level and a trend."""

from dataclasses import dataclass, field
from math import isfinite, nan

import numpy as np
from numpy.typing import NDArray

from penstock.forecast.checks import check_weight, coming


@dataclass(frozen=True, slots=True)
class Line:
    """Where a series stands and by how much it changes a step."""

    level: float
    trend: float = 0.0

    @property
    def next_level(self) -> float:
        """Where it will stand after one step more."""
        return self.level + self.trend

    def drawn_to(self, value: float, *, a: float, b: float) -> "Line":
        """The line one step on, its level drawn to a value and its trend to the level's change.

        Where that leads beyond all numbers it begins anew at the value.
        """
        level = self.next_level + a * (value - self.next_level)
        drawn = Line(level, self.trend + b * (level - self.next_level))
        return drawn if isfinite(drawn.next_level) else Line(value)

    def ahead(self, steps: int) -> NDArray[np.float64]:
        """Its levels in the steps to come."""
        with np.errstate(over="ignore"):  # beyond all numbers is endless
            return self.level + self.trend * coming(steps)


@dataclass
class Holt:
    """Foresees a straight line: sees a ramp coming, where averages lag behind it.

    It starts at the first value, without a trend. A line that falls goes on below zero: `Trusted`
    never does.

    >>> foresight = Holt(a=1.0, b=0.5)
    >>> for rate in (100.0, 140.0):
    ...     foresight.update(rate)
    >>> foresight.forecast(3).tolist()
    [160.0, 180.0, 200.0]

    A rate that wanders at random is best followed with `Holt(a=1.0, b=0.015)`.
    """

    a: float = 0.67
    """Weight of the newest value in the level, above 0 and up to 1."""
    b: float = 0.26
    """Weight of the newest change in the trend, 0 to 1; 0 sees no trend, as `ewma`."""
    _line: Line | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse weights that would not average."""
        check_weight(self.a, "a of forecaster holt")
        check_weight(self.b, "b of forecaster holt", zero=True)

    @property
    def level(self) -> float:
        """Where the series stands; NaN before the first update."""
        return self._line.level if self._line else nan

    @property
    def trend(self) -> float:
        """By how much it changes a step; NaN before the first update."""
        return self._line.trend if self._line else nan

    def update(self, value: float, /) -> None:
        """Take in the newest measurement; one that is not a number teaches nothing."""
        if isfinite(value):
            line = self._line or Line(value)
            self._line = line.drawn_to(value, a=self.a, b=self.b)

    def forecast(self, steps: int, /) -> NDArray[np.float64]:
        """The next values; NaN before the first update."""
        return (self._line or Line(nan)).ahead(steps)
