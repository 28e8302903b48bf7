"""The mean of the newest few."""

from collections import deque
from dataclasses import dataclass, field
from math import isfinite, nan

import numpy as np
from numpy.typing import NDArray

from penstock.forecast.checks import check_count, coming
from penstock.forecast.mean import mean


@dataclass
class MovingAverage:
    """Foresees the mean of the last `window` values: each counts the same, then is forgotten.

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
        """Refuse a window that holds nothing."""
        check_count(self.window, "window of forecaster moving-average")
        self._recent = deque(maxlen=self.window)

    def update(self, value: float, /) -> None:
        """Take in the newest measurement; one that is not a number teaches nothing."""
        if isfinite(value):
            self._recent.append(value)

    def forecast(self, steps: int, /) -> NDArray[np.float64]:
        """The next values; NaN before the first update."""
        return np.full_like(coming(steps), mean(self._recent) if self._recent else nan)
