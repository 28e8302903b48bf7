"""Windows that slide, cut into panes that they share (ppq, Section 2.1).

All times are whole microseconds since 1970, before which they are negative. Pane p is
[p*length, (p + 1)*length), window k is [k*slide, k*slide + window).
"""

import re
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from math import gcd
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError

MOST_PANES: Final = 10_000
"""Panes of a window: more would cost more than they spare."""
LONGEST: Final = 36_525 * 86_400_000_000
"""A century."""

_UNITS: Final = (
    ("us microsecond microseconds", 1),
    ("ms millisecond milliseconds", 1_000),
    ("s sec second seconds", 1_000_000),
    ("m min minute minutes", 60_000_000),
    ("h hour hours", 3_600_000_000),
    ("d day days", 86_400_000_000),
    ("week weeks", 604_800_000_000),
)
_MICROSECONDS: Final = {word: size for words, size in _UNITS for word in words.split()}
_CALENDAR: Final = frozenset({"month", "months", "quarter", "quarters", "year", "years"})
_PART: Final = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+))\s*([a-z]+)", re.ASCII)
_MOST_CHARACTERS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Panes:
    """The panes and windows of a stream.

    >>> panes = Panes.parse("1 second", "200 milliseconds")
    >>> panes.length, panes.panes_of(window=0), panes.windows_of(pane=0)
    (200000, range(0, 5), range(-4, 1))
    """

    window: int
    slide: int

    def __post_init__(self) -> None:
        """Refuse windows that are empty, leave rows out or have no panes worth the name."""
        for name in ("window", "slide"):
            if (size := getattr(self, name)) <= 0:
                raise SettingError(
                    f"{name} must be longer than 0, got {_text(size)}; write it as 200ms or 1s"
                )
        if self.window > LONGEST:
            raise SettingError(
                f"window must be at most 100 years, got {_text(self.window)}; choose a shorter one"
            )
        if self.slide > self.window:
            raise SettingError(
                f"a slide of {_text(self.slide)} leaves out rows between windows of "
                f"{_text(self.window)}; choose at most {_text(self.window)}"
            )
        if self.window // self.length > MOST_PANES:
            raise SettingError(
                f"a window of {_text(self.window)} that slides by {_text(self.slide)} has "
                f"{self.window // self.length:,} panes of {_text(self.length)}, more than "
                f"{MOST_PANES:,}; choose a slide that divides it, such as {_text(self._better())}"
            )

    @classmethod
    def parse(cls, window: object, slide: object) -> "Panes":
        """The panes of a window and a slide as people write them.

        >>> Panes.parse("1 hour 30 minutes", "15m").length == 15 * 60_000_000
        True
        >>> Panes.parse("1s", "2s")
        Traceback (most recent call last):
        ...
        penstock.core.errors.SettingError: a slide of 2 s leaves out rows between windows of 1 s; \
choose at most 1 s
        """
        return cls(window=microseconds(window, "window"), slide=microseconds(slide, "slide"))

    @property
    def length(self) -> int:
        """Of a pane: what window and slide have in common."""
        return gcd(self.window, self.slide)

    def of(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """The pane of each time."""
        return np.floor_divide(times, self.length)

    def start(self, window: int) -> int:
        """The first time of a window."""
        return window * self.slide

    def end(self, window: int) -> int:
        """The first time after a window."""
        return window * self.slide + self.window

    def panes_of(self, window: int) -> range:
        """The panes that a window consists of."""
        return range(self.start(window) // self.length, self.end(window) // self.length)

    def windows_of(self, pane: int) -> range:
        """The windows that contain a pane."""
        start = pane * self.length
        return range(self._open_from(start), start // self.slide + 1)

    def closed(self, pane: int, punctuation: int) -> bool:
        """Whether a pane gets no more rows."""
        return (pane + 1) * self.length <= punctuation

    def closed_windows(self, before: int, after: int) -> tuple[int, int]:
        """The windows that close as the punctuation moves: the first, and the one after the last.

        >>> Panes(window=10, slide=5).closed_windows(before=10, after=21)
        (1, 3)
        """
        first = self._open_from(before)
        return first, max(first, self._open_from(after))

    def first_needed(self, punctuation: int) -> int:
        """The oldest pane that a window still open needs; older ones can go."""
        return self.start(self._open_from(punctuation)) // self.length

    def _open_from(self, punctuation: int) -> int:
        """The first window that ends after this time."""
        return (punctuation - self.window) // self.slide + 1

    def _better(self) -> int:
        """A slide near this one that makes it the pane."""
        panes = min(self.window // self.slide, MOST_PANES)
        return self.window // next(n for n in range(panes, 0, -1) if self.window % n == 0)


def microseconds(duration: object, name: str) -> int:
    """A duration in Spark's words, in ours, or as a timedelta, exactly; the name is for errors.

    >>> microseconds("1 minute 0.5 seconds", "window"), microseconds("200ms", "slide")
    (60500000, 200000)
    >>> microseconds("1 month", "window")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: window cannot be given in calendar units, got '1 month', \
as they differ in length; write it in days or hours
    """
    if isinstance(duration, timedelta):
        return duration // timedelta(microseconds=1)
    if not isinstance(duration, str):
        raise SettingError(
            f"{name} needs a unit, got {duration!r}; write it as a text such as '1 second'"
        )
    total = _sum(duration, name)
    if total.denominator != 1:
        raise SettingError(
            f"{name} is counted in whole microseconds, got {duration!r}; round it to them"
        )
    return int(total)


def _sum(text: str, name: str) -> Fraction:
    words = text[: _MOST_CHARACTERS + 1].lower().strip().removeprefix("interval ")
    total, end = Fraction(), 0
    while match := _PART.match(words, end):
        total += Fraction(match[1]) * _size(match[2], text, name)
        end = match.end()
    if end == 0 or words[end:].strip() or len(text) > _MOST_CHARACTERS:
        raise _unreadable(text, name)
    return total


def _size(unit: str, text: str, name: str) -> int:
    if unit in _CALENDAR:
        raise SettingError(
            f"{name} cannot be given in calendar units, got {text!r}, as they differ in length; "
            "write it in days or hours"
        )
    if unit not in _MICROSECONDS:
        raise _unreadable(text, name)
    return _MICROSECONDS[unit]


def _unreadable(text: str, name: str) -> SettingError:
    shown = text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}..."
    return SettingError(
        f"cannot read the {name} {shown!r}; write it as '1 second', '200ms' or '1 hour 30 minutes'"
    )


def _text(duration: int) -> str:
    """A duration to the microsecond, in the unit a reader would choose."""
    for size, unit in ((3_600_000_000, "h"), (60_000_000, "min")):
        if duration and duration % size == 0:
            return f"{duration // size} {unit}"
    units = ((1_000_000, "s"), (1_000, "ms"))
    size, unit = next((u for u in units if abs(duration) >= u[0]), (1, "us"))
    return f"{(Decimal(duration) / size).normalize():f} {unit}"
