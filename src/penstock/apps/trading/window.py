"""The window operator: from each symbol's last quotes to a forecast of its price.

A count window of 1,000 accepted quotes for each key, sliding by 25: every 25th quote of a key
gives a result, also while the window fills. Quotes of the same millisecond are averaged first,
moment and price, each side by itself; a side of size zero does not count. (Quotes that lateness let
in out of order are averaged only with their neighbours.) Through the averages of
each side goes the parabola of least squares (mpc, Section 5.1).

>>> ramp = np.arange(50)
>>> fresh = Series.of(ts=1000 * ramp, bid=100 + ramp, ask=101 + ramp**2)
>>> found = analyse(Series.empty(1), np.zeros(1, np.int64), fresh)
>>> found.row.tolist(), found.parabola("bid").round(9).tolist()
([24, 49], [[0.0, 0.001, 100.0], [0.0, 0.001, 100.0]])
>>> found.at("ask", found.ts + 1000).round(6).tolist()
[726.0, 2601.0]
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from penstock.apps.trading import kernel
from penstock.apps.trading.kernel import RoomArrays, Rows
from penstock.apps.trading.series import Floats, Longs, Series, plain
from penstock.core.errors import SettingError

WINDOW: Final = 1000
SLIDE: Final = 25
RESOLUTION: Final = 1000
"""Microseconds of the clock that become one point."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Results:
    """What the windows of a batch say: R results, key after key, each key's in order."""

    ts: Longs
    """The moment of the quote that set each one off, in microseconds."""
    facts: Longs
    values: Floats

    @property
    def key(self) -> Longs:
        """Which key, counted from 0."""
        return self.facts[:, kernel.KEY]

    @property
    def row(self) -> Longs:
        """The fresh row that set it off."""
        return self.facts[:, kernel.ROW]

    @property
    def ordinal(self) -> Longs:
        """How many results the key has had, with this one."""
        return self.facts[:, kernel.ORDINAL]

    @property
    def oldest(self) -> Longs:
        """The earliest moment in the window: where the parabolas have their zero."""
        return self.facts[:, kernel.OLDEST]

    def parabola(self, side: str) -> Floats:
        """Quadratic, linear and constant coefficient of `bid` or `ask`: three for each result.

        In powers of microseconds since `oldest`. Two points give a line, one a level, and none
        zeros. It is a line too where rounding hides the curve: where all but one or two points
        are a millionth of the window's span from each other.
        """
        return self.values[:, 0:3] if side == "bid" else self.values[:, 3:6]

    def points(self, side: str) -> Longs:
        """How many averages the parabola of a side, `bid` or `ask`, goes through."""
        return self.facts[:, kernel.BID_POINTS if side == "bid" else kernel.ASK_POINTS]

    @property
    def candle(self) -> Floats:
        """Open, high, low and close of the last 25 quotes: of the middle between bid and ask,
        or of the only side that a quote has.
        """
        return self.values[:, kernel.OPEN :]

    def at(self, side: str, moments: Longs) -> Floats:
        """The parabolas of a side at these moments, one for each result; NaN without a point."""
        quadratic, linear, constant = self.parabola(side).T
        x = (moments - self.oldest).astype(np.float64)
        price = (quadratic * x + linear) * x + constant
        return np.where(self.points(side) > 0, price, np.nan)


def analyse(
    history: Series,
    counts: Longs,
    fresh: Series,
    *,
    window: int = WINDOW,
    slide: int = SLIDE,
    resolution: int = RESOLUTION,
) -> Results:
    """The results that fresh quotes of K keys set off.

    `history` holds the quotes before them: the last `window`, or all of the `counts` that each key
    has ever had if they are fewer. `series.trim` makes the history of the next batch.
    """
    check(window, slide, resolution)
    _check_history(history, counts, window)
    lengths = fresh.lengths
    total = int(((counts + lengths) // slide - counts // slide).sum())
    facts = np.empty((total, kernel.FACTS), np.int64)
    values = np.empty((total, kernel.VALUES))
    if total:
        longest = int((history.lengths + lengths).max())
        kernel.slide_windows(
            *(history.arrays, plain(counts.astype(np.int64)), fresh.arrays),
            *(window, slide, resolution),
            *(_room(longest), facts, values),
        )
    return Results(ts=fresh.ts[facts[:, kernel.ROW]], facts=facts, values=values)


def check(window: int, slide: int, resolution: int) -> None:
    """Refuse windows that cannot be."""
    if not 1 <= slide <= window:
        raise SettingError(
            f"slide of the window must be between 1 and its length {window}, got {slide}"
        )
    if resolution < 1:
        raise SettingError(f"resolution must be one microsecond or more, got {resolution}")


def _check_history(history: Series, counts: Longs, window: int) -> None:
    """Without this, a lost state would pass for a short window."""
    known = history.lengths
    wrong = (known < np.minimum(counts, window)) | (known > counts)
    if wrong.any():
        key = int(np.flatnonzero(wrong)[0])
        raise SettingError(
            f"key {key} has had {counts[key]} quotes, so its history needs the last "
            f"{min(int(counts[key]), window)}, got {known[key]}"
        )


def _room(size: int) -> RoomArrays:
    rows = Rows(
        ts=np.empty(size, np.int64),
        price=np.empty((2, size)),
        present=np.empty((2, size), np.bool_),
        run=np.empty(size, np.int64),
        first=np.empty(size + 1, np.int64),
        start=np.empty(size, np.int64),
        weight=np.empty((2, size), np.int64),
        time=np.empty((2, size)),
        level=np.empty((2, size)),
        x=np.empty(size),
        y=np.empty(size),
    )
    return tuple(rows)
