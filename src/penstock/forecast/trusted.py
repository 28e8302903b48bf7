"""A forecast that must prove itself."""

from dataclasses import KW_ONLY, dataclass, field
from math import isfinite, nan

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.core.roles import Forecaster
from penstock.forecast.accuracy import Accuracy
from penstock.forecast.averages import check_count, check_weight, coming
from penstock.forecast.trends import Holt


@dataclass
class Trusted:
    """Passes on what a forecaster foresees while that comes true, and the last value otherwise.

    A forecaster is trusted once `trial` of its one-step forecasts met a value, and as long as
    the last `window` of them were off by no more than `tolerance` of the values. Even then the
    first step never lies below `floor` of the last value, so that a fall that was only foreseen
    does not scale a busy pipeline in; and no step lies below zero.

    >>> foresight = Trusted(Holt())
    >>> for rate in (100.0, 900.0, 100.0, 900.0):
    ...     foresight.update(rate)
    >>> foresight.forecast(2).tolist()
    [900.0, 900.0]
    >>> foresight.why
    'forecast not trusted, off by 107 % lately: the last rate instead'
    """

    forecaster: Forecaster = field(default_factory=Holt)
    """Whose forecasts are judged; it must not be updated by anybody else."""
    _: KW_ONLY
    tolerance: float = 0.25
    """Largest mean error of one step, as a share of the values, at which it is trusted."""
    window: int = 10
    """Newest forecasts that are judged."""
    trial: int = 3
    """Forecasts that are judged before the first is passed on."""
    floor: float = 0.9
    """Least of the last value that the first step may be, 0 to 1."""
    _accuracy: Accuracy = field(init=False, repr=False)
    _last: float | None = field(default=None, init=False, repr=False)
    _next: float | None = field(default=None, init=False, repr=False)
    """What the forecaster foresees of the next step, if it does."""

    def __post_init__(self) -> None:
        """Refuse what cannot foresee, and what could never be trusted."""
        if not isinstance(self.forecaster, Forecaster):
            raise SettingError(
                "forecaster of forecaster trusted must be one, such as Holt(), "
                f"got {self.forecaster!r}; make() takes names"
            )
        if not self.tolerance > 0:
            raise SettingError(
                f"tolerance of forecaster trusted must be above 0, got {self.tolerance:g}"
            )
        check_count(self.window, "window of forecaster trusted")
        check_count(self.trial, "trial of forecaster trusted", most=self.window)
        check_weight(self.floor, "floor of forecaster trusted", zero=True)
        self._accuracy = Accuracy(window=self.window)

    @property
    def error(self) -> float:
        """How far off one-step forecasts were lately, as a share; NaN before the first."""
        return self._accuracy.error()

    @property
    def trusts(self) -> bool:
        """Whether the forecaster is believed now."""
        return self._doubt() is None

    @property
    def why(self) -> str:
        """Whether it is believed, and what follows, in words for decisions."""
        doubt = self._doubt()
        if doubt:
            return f"forecast not trusted, {doubt}: the last rate instead"
        trusted = f"forecast trusted, off by {_percent(self.error)} lately"
        if self._next is None or self._next >= self._least:
            return trusted
        return f"{trusted}; its fall limited to {_percent(self.floor)} of the last rate"

    @property
    def caveat(self) -> str | None:
        """What a reader must know of the forecast, in words; None while it is passed on as it is.

        Nor is the trial told, which every forecaster goes through.

        >>> foresight = Trusted(Holt())
        >>> for rate in (1000.0, 850.0, 700.0, 550.0, 400.0):
        ...     foresight.update(rate)
        >>> foresight.caveat
        'the fall of the forecast is limited to 90 % of the last rate'
        """
        if self._missing > 0:
            return None
        if not self.trusts:
            return self.why
        if self._next is None or self._next >= self._least or not self._least:
            return None
        return f"the fall of the forecast is limited to {_percent(self.floor)} of the last rate"

    def update(self, value: float, /) -> None:
        """Take in the newest measurement; one that is not a number teaches nothing."""
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
    def _missing(self) -> int:
        """Forecasts still to be judged before the first is passed on."""
        return self.trial - self._accuracy.compared()

    def _doubt(self) -> str | None:
        """Why the forecaster is not believed, if so."""
        if self._missing > 0:
            return f"on trial for {self._missing} more step{'s' if self._missing > 1 else ''}"
        if self._next is None:
            return "it foresees no number"
        if self.error > self.tolerance:
            return f"off by {_percent(self.error)} lately"
        return None


def _percent(share: float) -> str:
    if not isfinite(share):
        return "more than all"
    return f"{100 * share:.0f} %" if share < 1e4 else f"{100 * share:.2g} %"
