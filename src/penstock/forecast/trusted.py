"""A forecast that must prove itself."""

from collections import deque
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field
from math import fsum, inf, isfinite, nan
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.core.roles import Forecaster
from penstock.core.schema import Bounds, Count, Fraction, checked
from penstock.core.words import count_of, percent
from penstock.forecast.averages import coming, mean
from penstock.forecast.trends import Holt


@dataclass(frozen=True, slots=True)
class Outcome:
    """A forecast beside what came, and beside what the last value would have predicted."""

    value: float
    foreseen: float
    last: float | None


@dataclass
@checked("the accuracy")
class Accuracy:
    """Keeps what was predicted of each coming step, and compares it with what comes.

    Once a step: `update` with what came, then `expect` with what the forecaster now predicts.

    >>> accuracy = Accuracy()
    >>> for foreseen, came in ((100.0, 80.0), (90.0, 120.0)):
    ...     accuracy.expect([foreseen])
    ...     accuracy.update(came)
    >>> accuracy.error()
    0.25
    """

    horizon: Count = 1
    """Steps ahead that are kept and compared."""
    window: Count = 10
    """Newest comparisons that count, for each number of steps ahead."""
    _made: deque[tuple[float | None, ...]] = field(init=False, repr=False)
    """Forecasts by age, the newest first, each headed by the last value of its time."""
    _outcomes: tuple[deque[Outcome], ...] = field(init=False, repr=False)
    """Comparisons by steps ahead."""
    _last: float | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._made = deque([()], maxlen=self.horizon)
        self._outcomes = tuple(deque(maxlen=self.window) for _ in range(self.horizon))

    def expect(self, ahead: Iterable[float], /) -> None:
        """Keep what is predicted now; asked again before anything came, the newer counts."""
        self._made[0] = (self._last, *(float(v) if isfinite(v) else None for v in ahead))

    def update(self, value: float, /) -> None:
        """Compare what came with all that was predicted of it; NaN lets the step pass."""
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


@dataclass
@checked("forecaster trusted")
class Trusted:
    """Passes on what a forecaster predicts while that comes true, and the last value otherwise.

    A forecaster is trusted once `trial` of its one-step forecasts met a value, and as long as
    the last `window` of them were off by no more than `tolerance` of the values. Even then the
    first step never lies below `floor` of the last value, so that a fall that was only predicted
    does not scale a busy pipeline in; and no step lies below zero.

    >>> foresight = Trusted(Holt())
    >>> for rate in (100.0, 900.0, 100.0, 900.0):
    ...     foresight.update(rate)
    >>> foresight.forecast(2).tolist()
    [900.0, 900.0]
    >>> foresight.why
    'forecast not trusted, recent error 107 %: the last rate is used'
    """

    forecaster: Forecaster = field(default_factory=Holt)
    """Whose forecasts are judged; it must not be updated elsewhere."""
    _: KW_ONLY
    tolerance: Annotated[float, Bounds(above=0, endless=True)] = 0.25
    """Largest mean error of one step, as a share of the values, at which it is trusted."""
    window: Count = 10
    """Newest forecasts that are judged."""
    trial: Count = 3
    """Forecasts that are judged before the first is passed on."""
    floor: Fraction = 0.9
    """Least of the last value that the first step may be, 0 to 1."""
    _accuracy: Accuracy = field(init=False, repr=False)
    _last: float | None = field(default=None, init=False, repr=False)
    _next: float | None = field(default=None, init=False, repr=False)
    """What the forecaster predicts of the next step, if it does."""

    def __post_init__(self) -> None:
        if self.trial > self.window:
            why = f"trial of forecaster trusted must be 1 to {self.window}, got {self.trial}"
            raise SettingError(why, fields=("trial", "window"))
        self._accuracy = Accuracy(window=self.window)

    @property
    def error(self) -> float:
        """How far off one-step forecasts were recently, as a share; NaN before the first."""
        return self._accuracy.error()

    @property
    def trusts(self) -> bool:
        """Whether the forecaster is believed now."""
        return self._doubt() is None

    @property
    def why(self) -> str:
        """Whether it is believed, and what follows, in words for decisions."""
        if doubt := self._doubt():
            return f"forecast not trusted, {doubt}: the last rate is used"
        trusted = f"forecast trusted, recent error {_percent(self.error)}"
        if not self._limited:
            return trusted
        return f"{trusted}; its decrease limited to {_percent(self.floor)} of the last rate"

    @property
    def caveat(self) -> str | None:
        """What a reader must know of the forecast, in words; None while it is passed on as it is.

        None also during the trial, which every forecaster goes through.

        >>> foresight = Trusted(Holt())
        >>> for rate in (1000.0, 850.0, 700.0, 550.0, 400.0):
        ...     foresight.update(rate)
        >>> foresight.caveat
        'the decrease of the forecast is limited to 90 % of the last rate'
        """
        if self._missing > 0:
            return None
        if not self.trusts:
            return self.why
        if not self._limited or not self._least:
            return None
        return f"the decrease of the forecast is limited to {_percent(self.floor)} of the last rate"

    def update(self, value: float, /) -> None:
        """Take in the newest measurement; non-finite values are ignored."""
        self._accuracy.update(value)
        self.forecaster.update(value)
        ahead = self.forecaster.forecast(1)
        self._accuracy.expect(ahead)
        self._next = float(ahead[0]) if isfinite(ahead[0]) else None
        self._last = value if isfinite(value) else self._last

    def forecast(self, steps: int, /) -> NDArray[np.float64]:
        """The next values; NaN before the first update."""
        ahead = self.forecaster.forecast(steps)
        if not self.trusts or not np.isfinite(ahead).all():
            return np.full_like(coming(steps), nan if self._last is None else self._last)
        least = np.zeros(steps)
        least[:1] = self._least
        return np.maximum(ahead, least)

    @property
    def _least(self) -> float:
        """What the next step is taken to be at least."""
        return max(self.floor * (self._last or 0.0), 0.0)

    @property
    def _limited(self) -> bool:
        return self._next is not None and self._next < self._least

    @property
    def _missing(self) -> int:
        """Forecasts still to be judged before the first is passed on."""
        return self.trial - self._accuracy.compared()

    def _doubt(self) -> str | None:
        """Why the forecaster is not believed, if so."""
        if self._missing > 0:
            return f"on trial for {count_of(self._missing, 'more step')}"
        if self._next is None:
            return "it predicts no number"
        if self.error > self.tolerance:
            return f"recent error {_percent(self.error)}"
        return None


def _percent(share: float) -> str:
    if not isfinite(share):
        return "more than all"
    return percent(share, ".0f")
