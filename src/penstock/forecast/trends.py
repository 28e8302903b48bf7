"""A level and a trend."""

from collections import deque
from dataclasses import dataclass, field
from itertools import islice
from math import isfinite, nan
from typing import Annotated, Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.schema import Bounds, Fraction, OneOf, Share, checked
from penstock.forecast.averages import coming, mean


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

        Where that leads beyond all numbers it begins again at the value.
        """
        level = self.next_level + a * (value - self.next_level)
        drawn = Line(level, self.trend + b * (level - self.next_level))
        return drawn if isfinite(drawn.next_level) else Line(value)

    def ahead(self, steps: int) -> NDArray[np.float64]:
        """Its levels in the steps to come."""
        with np.errstate(over="ignore"):  # beyond all numbers is infinite
            return self.level + self.trend * coming(steps)


@dataclass
@checked("forecaster holt")
class Holt:
    """Predicts a straight line: sees a ramp coming, where averages lag behind it.

    It starts at the first value, without a trend. A line that falls goes on below zero: `Trusted`
    never does.

    >>> foresight = Holt(a=1.0, b=0.5)
    >>> for rate in (100.0, 140.0):
    ...     foresight.update(rate)
    >>> foresight.forecast(3).tolist()
    [160.0, 180.0, 200.0]

    A rate that wanders at random is best followed with `Holt(a=1.0, b=0.015)`.
    """

    a: Share = 0.67
    """Weight of the newest value in the level, above 0 and up to 1."""
    b: Fraction = 0.26
    """Weight of the newest change in the trend, 0 to 1; 0 sees no trend, as `ewma`."""
    _line: Line | None = field(default=None, init=False, repr=False)

    @property
    def level(self) -> float:
        """Where the series stands; NaN before the first update."""
        return self._line.level if self._line else nan

    @property
    def trend(self) -> float:
        """By how much it changes a step; NaN before the first update."""
        return self._line.trend if self._line else nan

    def update(self, value: float, /) -> None:
        """Take in the newest measurement; non-finite values are ignored."""
        if isfinite(value):
            self._line = (self._line or Line(value)).drawn_to(value, a=self.a, b=self.b)

    def forecast(self, steps: int, /) -> NDArray[np.float64]:
        """The next values; NaN before the first update."""
        return (self._line or Line(nan)).ahead(steps)


_LEAST_FACTOR: Final = 0.1
"""At a place with a smaller factor a value says little of the level: its noise, divided by the
factor, would be most of what is learnt."""


@dataclass
@checked("forecaster holt-winters")
class HoltWinters(Holt):
    """Predicts a line and, on it, what repeats every `period` steps: the days of a daily load.

    Without a period it is `Holt`. With one it is `Holt` until a whole period has come; then the
    level starts at that period's mean, the trend at zero, and the season at how each value
    differed from the mean. Call `update` once a step, with NaN where nothing was measured: the
    season goes on, and nothing else changes.

    >>> foresight = HoltWinters(period=3)
    >>> for rate in (100.0, 200.0, 600.0) * 2:
    ...     foresight.update(rate)
    >>> foresight.forecast(4).tolist()
    [100.0, 200.0, 600.0, 100.0]
    """

    c: Fraction = 0.5
    """Weight of the newest value in the season, 0 to 1, of the part that the level left.

    That is a share of 1 - a: what is often called gamma is c * (1 - a).
    """
    period: Annotated[int, Bounds(least=2)] | None = None
    """Steps after which the load repeats, 2 or more; none if not given."""
    season: Annotated[str, OneOf(("additive", "multiplicative"))] = "additive"
    """`additive`: so many rows more or less; `multiplicative`: so many times the level."""
    _first: list[float] = field(default_factory=list, init=False, repr=False)
    """The first period, as far as it has come."""
    _terms: deque[float] = field(default_factory=deque, init=False, repr=False)
    """The season, from the next step on; empty before the first period is complete."""

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
        levels = super().forecast(steps)
        if not self._terms:
            return levels
        terms = np.array(list(islice(self._terms, steps)))
        with np.errstate(over="ignore", invalid="ignore"):  # beyond all numbers is none
            repeated = np.resize(terms, steps)
            return levels + repeated if self._additive else levels * repeated

    @property
    def _additive(self) -> bool:
        return self.season == "additive"

    def _learn(self, value: float) -> None:
        line = self._line or Line(value)
        if self._terms:
            due, known = line.next_level, self._terms[0]
            term = self._term(value, due, known, len(self._terms))
            self._terms[0] = known + self.c * (1 - self.a) * (term - known)
            if self._additive:
                value -= known
            else:  # a factor near zero says nothing of the level
                value = value / known if known >= _LEAST_FACTOR else due
        self._line = line.drawn_to(value, a=self.a, b=self.b)

    def _begin(self, value: float, period: int) -> None:
        """Collect the first period; when it is complete, start from it."""
        self._first.append(value if isfinite(value) else nan)  # one NaN, equal to itself
        if len(self._first) < period:
            return
        middle = mean([value for value in self._first if isfinite(value)])
        neutral = 0.0 if self._additive else 1.0
        self._line = Line(middle)
        self._terms.extend(
            self._term(value, middle, neutral, period) if isfinite(value) else neutral
            for value in self._first
        )
        self._first.clear()

    def _term(self, value: float, level: float, known: float, period: int) -> float:
        """What repeats at a place, by a value at this level; if that says nothing, as known.

        The factors of a period average one and none is negative, so none exceeds the period.
        """
        if self._additive:
            return value - level
        return min(max(value / level, 0.0), float(period)) if level > 0 else known
