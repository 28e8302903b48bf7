"""How far off forecasts were lately."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import fsum, inf, isfinite, nan

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.core.roles import Forecaster
from penstock.forecast.averages import check_count, mean


@dataclass(frozen=True, slots=True)
class Outcome:
    """A forecast beside what came, and beside what the last value would have foreseen."""

    value: float
    foreseen: float
    last: float | None


@dataclass
class Accuracy:
    """Keeps what was foreseen of each coming step, and compares it with what comes.

    Once a step: `update` with what came, then `expect` with what the forecaster now foresees.

    >>> accuracy = Accuracy()
    >>> for foreseen, came in ((100.0, 80.0), (90.0, 120.0)):
    ...     accuracy.expect([foreseen])
    ...     accuracy.update(came)
    >>> accuracy.error()
    0.25
    """

    horizon: int = 1
    """Steps ahead that are kept and compared."""
    window: int = 10
    """Newest comparisons that count, for each number of steps ahead."""
    _made: deque[tuple[float | None, ...]] = field(init=False, repr=False)
    """Forecasts by age, the newest first, each headed by the last value of its time."""
    _outcomes: tuple[deque[Outcome], ...] = field(init=False, repr=False)
    """Comparisons by steps ahead."""
    _last: float | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse to look at nothing."""
        check_count(self.horizon, "horizon of the accuracy")
        check_count(self.window, "window of the accuracy")
        self._made = deque([()], maxlen=self.horizon)
        self._outcomes = tuple(deque(maxlen=self.window) for _ in range(self.horizon))

    def expect(self, ahead: Iterable[float], /) -> None:
        """Keep what is foreseen now; asked again before anything came, the newer counts."""
        self._made[0] = (self._last, *(float(v) if isfinite(v) else None for v in ahead))

    def update(self, value: float, /) -> None:
        """Compare what came with all that was foreseen of it; NaN lets the step pass."""
        if isfinite(value):
            for steps, made in enumerate(self._made, start=1):
                self._compare(steps, made, value)
            self._last = value
        self._made.appendleft(())

    def compared(self, steps: int = 1) -> int:
        """How many comparisons count, of forecasts made so many steps ahead."""
        return len(self._of(steps))

    def error(self, steps: int = 1) -> float:
        """Mean absolute error over mean absolute value; NaN before the first comparison.

        The share of all rows that was misjudged: it has no unit, and a single value near zero
        does not rule it as it would a mean of percentages.
        """
        outcomes = self._of(steps)
        return _ratio((o.value - o.foreseen for o in outcomes), (o.value for o in outcomes))

    def scaled_error(self, steps: int = 1) -> float:
        """Mean absolute error over that of the last value: below 1, the forecast is worth making.

        NaN before the first comparison with both.
        """
        both = [(o, o.last) for o in self._of(steps) if o.last is not None]
        return _ratio((o.value - o.foreseen for o, _ in both), (o.value - last for o, last in both))

    def _compare(self, steps: int, made: tuple[float | None, ...], value: float) -> None:
        foreseen = made[steps] if len(made) > steps else None
        if foreseen is not None:
            self._outcomes[steps - 1].append(Outcome(value, foreseen, made[0]))

    def _of(self, steps: int) -> deque[Outcome]:
        if not 1 <= steps <= self.horizon:
            raise SettingError(f"accuracy is known 1 to {self.horizon} steps ahead, got {steps}")
        return self._outcomes[steps - 1]


def backtest(
    forecaster: Forecaster, values: NDArray[np.float64] | Iterable[float], *, horizon: int = 1
) -> Accuracy:
    """How well a forecaster would have done on a series, each value foreseen before it came.

    >>> from penstock.forecast.trends import Holt
    >>> ramp = [100.0 * step for step in range(1, 101)]
    >>> round(backtest(Holt(), ramp).scaled_error(), 3)
    0.058
    """
    series = [float(value) for value in values]
    accuracy = Accuracy(horizon=horizon, window=max(len(series), 1))
    for value in series:
        accuracy.update(value)
        forecaster.update(value)
        accuracy.expect(forecaster.forecast(horizon))
    return accuracy


def _ratio(errors: Iterable[float], yardstick: Iterable[float]) -> float:
    off, of = [abs(error) for error in errors], [abs(value) for value in yardstick]
    if not off:
        return nan
    if not any(of):
        return inf if any(off) else 0.0
    try:
        return fsum(off) / fsum(of)
    except OverflowError:
        return mean(off) / mean(of)
