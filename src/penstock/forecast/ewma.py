"""An average that forgets."""

from dataclasses import dataclass, field
from math import isfinite, nan

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.forecast.checks import coming


@dataclass
class Ewma:
    """Foresees the exponentially weighted mean of all values: calmer than the last one alone.

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
        """Refuse a weight that would not average."""
        if not 0 < self.alpha <= 1:
            raise SettingError(f"alpha of forecaster ewma must be in (0, 1], got {self.alpha:g}")

    @property
    def level(self) -> float:
        """The mean as it stands, which is also the forecast; NaN before the first update."""
        return self._level

    def update(self, value: float, /) -> None:
        """Take in the newest measurement; one that is not a number teaches nothing."""
        if not isfinite(value):
            return
        past = self._level if isfinite(self._level) else value
        self._level = past + self.alpha * (value - past)

    def forecast(self, steps: int, /) -> NDArray[np.float64]:
        """The next values; NaN before the first update."""
        return np.full_like(coming(steps), self._level)
