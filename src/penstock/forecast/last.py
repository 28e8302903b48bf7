"""Tomorrow is like today."""

from dataclasses import dataclass, field
from math import isfinite, nan

import numpy as np
from numpy.typing import NDArray

from penstock.forecast.checks import coming


@dataclass
class Last:
    """Foresees the newest value again: hard to beat one step ahead, blind to trends.

    >>> foresight = Last()
    >>> foresight.update(300.0)
    >>> foresight.forecast(2).tolist()
    [300.0, 300.0]
    """

    _value: float = field(default=nan, init=False, repr=False)

    def update(self, value: float, /) -> None:
        """Take in the newest measurement; one that is not a number teaches nothing."""
        if isfinite(value):
            self._value = value

    def forecast(self, steps: int, /) -> NDArray[np.float64]:
        """The next values; NaN before the first update."""
        return np.full_like(coming(steps), self._value)
