"""A level, a trend and what repeats."""

from collections import deque
from dataclasses import dataclass, field
from itertools import islice
from math import isfinite, nan

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.core.settings import near
from penstock.forecast.checks import check_count, check_weight
from penstock.forecast.holt import Line
from penstock.forecast.mean import mean
from penstock.forecast.season import SEASONS, Season


@dataclass
class HoltWinters:
    """Foresees a line and, on it, what repeats every `period` steps: the days of a daily load.

    Without a period it is `Holt`. With one it is `Holt` until a whole period has come; then the
    level starts at that period's mean, the trend at zero, and the season at how each value
    differed from the mean. Call `update` once a step, with NaN where nothing was measured: the
    season goes on, and nothing else changes.

    >>> foresight = HoltWinters(period=3)
    >>> for rate in (100.0, 200.0, 600.0) * 2:
    ...     foresight.update(rate)
    >>> foresight.forecast(4).tolist()
    [100.0, 200.0, 600.0, 100.0]

    A line that falls goes on below zero: `Trusted` never does.
    """

    a: float = 0.67
    """Weight of the newest value in the level, above 0 and up to 1."""
    b: float = 0.26
    """Weight of the newest change in the trend, 0 to 1; 0 sees no trend."""
    c: float = 0.5
    """Weight of the newest value in the season, 0 to 1, of the part that the level left.

    That is a share of 1 - a: what is often called gamma is c * (1 - a).
    """
    period: int | None = None
    """Steps after which the load repeats, 2 or more; none if not given."""
    season: str = "additive"
    """`additive`: so many rows more or less; `multiplicative`: so many times the level."""
    _line: Line | None = field(default=None, init=False, repr=False)
    _first: list[float] = field(default_factory=list, init=False, repr=False)
    """The first period, as far as it has come."""
    _terms: deque[float] = field(default_factory=deque, init=False, repr=False)
    """The season, from the next step on; empty before the first period is complete."""

    def __post_init__(self) -> None:
        """Refuse weights that would not average, and what cannot repeat."""
        check_weight(self.a, "a of forecaster holt-winters")
        check_weight(self.b, "b of forecaster holt-winters", zero=True)
        check_weight(self.c, "c of forecaster holt-winters", zero=True)
        if self.period is not None:
            check_count(self.period, "period of forecaster holt-winters", least=2)
        if self.season not in SEASONS:
            hint = near(str(self.season), SEASONS)
            raise SettingError(f"forecaster holt-winters has no season {self.season!r}{hint}")

    @property
    def level(self) -> float:
        """Where the series stands, the season left out; NaN before the first update."""
        return self._line.level if self._line else nan

    @property
    def trend(self) -> float:
        """By how much the level changes a step; NaN before the first update."""
        return self._line.trend if self._line else nan

    @property
    def terms(self) -> tuple[float, ...]:
        """The season from the next step on; empty before a whole period has come."""
        return tuple(self._terms)

    def update(self, value: float, /) -> None:
        """Take in the newest measurement; one that is not a number lets the season go on."""
        if isfinite(value):
            self._learn(value)
        self._terms.rotate(-1)
        if self.period and self._line and not self._terms:
            self._begin(value, self.period)

    def forecast(self, steps: int, /) -> NDArray[np.float64]:
        """The next values; NaN before the first update."""
        levels = (self._line or Line(nan)).ahead(steps)
        if not self._terms:
            return levels
        terms = np.array(list(islice(self._terms, steps)))
        with np.errstate(over="ignore", invalid="ignore"):  # beyond all numbers is none
            return self._kind.join(levels, np.resize(terms, steps))

    @property
    def _kind(self) -> Season:
        return SEASONS[self.season]

    def _learn(self, value: float) -> None:
        line = self._line or Line(value)
        if self._terms:
            due, known = line.next_level, self._terms[0]
            told = self._kind.term(value, due, known, len(self._terms))
            self._terms[0] = known + self.c * (1 - self.a) * (told - known)
            value = self._kind.level(value, known, due)
        self._line = line.drawn_to(value, a=self.a, b=self.b)

    def _begin(self, value: float, period: int) -> None:
        """Collect the first period; when it is complete, start from it."""
        self._first.append(value if isfinite(value) else nan)  # one NaN, equal to itself
        if len(self._first) < period:
            return
        known = [value for value in self._first if isfinite(value)]
        middle = mean(known)
        self._line = Line(middle)
        self._terms.extend(self._first_term(value, middle, period) for value in self._first)
        self._first.clear()

    def _first_term(self, value: float, mean: float, period: int) -> float:
        neutral = self._kind.neutral
        return self._kind.term(value, mean, neutral, period) if isfinite(value) else neutral
