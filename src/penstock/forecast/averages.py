"""Tomorrow is like today."""

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field
from math import fsum, isfinite, nan

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.core.schema import Count, Share, checked


def coming(steps: int) -> NDArray[np.float64]:
    """The numbers of the steps to come, the first being 1.

    >>> coming(3).tolist()
    [1.0, 2.0, 3.0]
    """
    if steps < 0:
        raise SettingError(f"a forecast looks 0 steps or more ahead, got {steps}")
    return np.arange(1.0, steps + 1.0)


@dataclass
class Last:
    """Predicts the newest value again: hard to beat one step ahead, blind to trends.

    >>> foresight = Last()
    >>> foresight.update(300.0)
    >>> foresight.forecast(2).tolist()
    [300.0, 300.0]
    """

    _value: float = field(default=nan, init=False, repr=False)

    def update(self, value: float, /) -> None:
        """Take in the newest measurement; non-finite values are ignored."""
        if isfinite(value):
            self._value = value

    def forecast(self, steps: int, /) -> NDArray[np.float64]:
        """The next values; NaN before the first update."""
        return np.full_like(coming(steps), self._value)


def mean(values: Collection[float]) -> float:
    """The mean of one value or more, to the last digit; no sum is too large for it.

    >>> mean([100.0, 300.0]), mean([1e308, 1e308])
    (200.0, 1e+308)
    """
    count = len(values)
    try:
        return fsum(values) / count
    except OverflowError:
        return fsum(value / count for value in values)


@dataclass
@checked("forecaster moving-average")
class MovingAverage:
    """Predicts the mean of the last `window` values: each counts the same, then is forgotten.

    Before so many have come, it is the mean of those that have.

    >>> foresight = MovingAverage(window=2)
    >>> for rate in (100.0, 200.0, 400.0):
    ...     foresight.update(rate)
    >>> foresight.forecast(2).tolist()
    [300.0, 300.0]
    """

    window: Count = 10
    """Values that count; 1 is the last value alone."""
    _recent: deque[float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._recent = deque(maxlen=self.window)

    def update(self, value: float, /) -> None:
        """Take in the newest measurement; non-finite values are ignored."""
        if isfinite(value):
            self._recent.append(value)

    def forecast(self, steps: int, /) -> NDArray[np.float64]:
        """The next values; NaN before the first update."""
        return np.full_like(coming(steps), mean(self._recent) if self._recent else nan)


@dataclass
@checked("forecaster ewma")
class Ewma:
    """Predicts the exponentially weighted mean of all values: calmer than the last one alone.

    >>> foresight = Ewma(alpha=0.5)
    >>> for rate in (100.0, 200.0, 400.0):
    ...     foresight.update(rate)
    >>> foresight.forecast(2).tolist()
    [275.0, 275.0]
    """

    alpha: Share = 0.5
    """Weight of the newest value, above 0 and up to 1; 1 remembers nothing else."""
    _level: float = field(default=nan, init=False, repr=False)

    @property
    def level(self) -> float:
        """The mean as it stands, which is also the forecast; NaN before the first update."""
        return self._level

    def update(self, value: float, /) -> None:
        """Take in the newest measurement; non-finite values are ignored."""
        if not isfinite(value):
            return
        past = self._level if isfinite(self._level) else value
        self._level = past + self.alpha * (value - past)

    def forecast(self, steps: int, /) -> NDArray[np.float64]:
        """The next values; NaN before the first update."""
        return np.full_like(coming(steps), self._level)
