"""Tomorrow is like today."""

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field
from math import fsum, isfinite, nan

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError

# What forecasters refuse, in one sentence each.


def check_weight(value: float, what: str, *, zero: bool = False) -> None:
    """Reject a weight that would not average; zero, which never learns, only where it may be.

    >>> check_weight(1.1, "a of forecaster holt")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: a of forecaster holt must be in (0, 1], got 1.1
    """
    if not (0 < value <= 1 or (zero and value == 0)):
        raise SettingError(f"{what} must be in {'[' if zero else '('}0, 1], got {value:g}")


def check_count(value: int, what: str, *, least: int = 1, most: int | None = None) -> None:
    """Reject what is not a whole number of steps, too few of them, or too many.

    >>> check_count(9, "trial of forecaster trusted", most=5)
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: trial of forecaster trusted must be 1 to 5 steps, got 9
    """
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        bounds = f"{least} or more" if most is None else f"{least} to {most}"
        raise SettingError(f"{what} must be {bounds} steps, got {value!r}")


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


# The mean of values, however large they are.


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


# The mean of the newest few.


@dataclass
class MovingAverage:
    """Predicts the mean of the last `window` values: each counts the same, then is forgotten.

    Before so many have come, it is the mean of those that have.

    >>> foresight = MovingAverage(window=2)
    >>> for rate in (100.0, 200.0, 400.0):
    ...     foresight.update(rate)
    >>> foresight.forecast(2).tolist()
    [300.0, 300.0]
    """

    window: int = 10
    """Values that count; 1 is the last value alone."""
    _recent: deque[float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_count(self.window, "window of forecaster moving-average")
        self._recent = deque(maxlen=self.window)

    def update(self, value: float, /) -> None:
        """Take in the newest measurement; non-finite values are ignored."""
        if isfinite(value):
            self._recent.append(value)

    def forecast(self, steps: int, /) -> NDArray[np.float64]:
        """The next values; NaN before the first update."""
        return np.full_like(coming(steps), mean(self._recent) if self._recent else nan)


# An average that forgets.


@dataclass
class Ewma:
    """Predicts the exponentially weighted mean of all values: calmer than the last one alone.

    >>> foresight = Ewma(alpha=0.5)
    >>> for rate in (100.0, 200.0, 400.0):
    ...     foresight.update(rate)
    >>> foresight.forecast(2).tolist()
    [275.0, 275.0]
    """

    alpha: float = 0.5
    """Weight of the newest value, above 0 and up to 1; 1 remembers nothing else."""
    _level: float = field(default=nan, init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0 < self.alpha <= 1:
            raise SettingError(f"alpha of forecaster ewma must be in (0, 1], got {self.alpha:g}")

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
