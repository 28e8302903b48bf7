"""Hours of the week, as people write them.

>>> office = Period.parse("Mon-Fri 09:00-17:30")
>>> office.covers(datetime(2026, 11, 17, 12, 0)), office.covers(datetime(2026, 11, 21, 12, 0))
(True, False)
>>> Period.parse("23:30-01:00").covers(datetime(2026, 11, 17, 0, 59))
True
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from penstock.core.errors import SettingError

_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_NAMES: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_TIME: Final = re.compile(r"(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})")
_DAY: Final = 86400


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time on some days of the week."""

    text: str
    """As it was written."""
    days: frozenset[int]
    """Days on which it begins, Monday being 0."""
    start: int
    """Seconds after midnight."""
    end: int
    """Seconds after the midnight before the start, thus more than a day's where it passes one."""

    @classmethod
    def parse(cls, text: str) -> "Period":
        """Days, times, or both: `Sat,Sun`, `23:30-01:00`, `Mon-Fri 09:00-17:30`.

        >>> Period.parse("Mon-Fry 09:00-17:30")
        Traceback (most recent call last):
        ...
        penstock.core.errors.SettingError: cannot read the day 'Fry' of the period \
'Mon-Fry 09:00-17:30'; write Mon, Tue, Wed, Thu, Fri, Sat or Sun
        """
        times = _TIME.search(text)
        if times is not None and text[times.end() :].strip():
            raise _unreadable(text)
        days = (text[: times.start()] if times else text).strip()
        if not days and times is None:
            raise _unreadable(text)
        if times is None and any(letter.isdigit() for letter in text):
            raise _unreadable(text)
        start, end = _seconds(times, text) if times else (0, _DAY)
        return cls(text.strip(), _days(days, text), start, end)

    def covers(self, moment: datetime) -> bool:
        """Whether a moment lies within it; its end does not."""
        day, second = moment.weekday(), 3600 * moment.hour + 60 * moment.minute + moment.second
        today = day in self.days and self.start <= second < self.end
        return today or ((day - 1) % 7 in self.days and second + _DAY < self.end)


def _seconds(times: re.Match[str], text: str) -> tuple[int, int]:
    hours = [int(part) for part in times.groups()]
    start, end = 3600 * hours[0] + 60 * hours[1], 3600 * hours[2] + 60 * hours[3]
    if max(hours[1], hours[3]) > 59 or start >= _DAY or end > _DAY:
        raise SettingError(f"the period {text!r} has a time that no clock shows; write 09:00-17:30")
    if start == end:
        raise SettingError(f"the period {text!r} ends when it begins; write 00:00-24:00 for a day")
    return start, end if end > start else end + _DAY


def _days(written: str, text: str) -> frozenset[int]:
    if not written:
        return frozenset(range(7))
    found: set[int] = set()
    for part in re.split(r"\s*,\s*", written):
        first, _, last = part.partition("-")
        begin, end = _day(first, text), _day(last or first, text)
        found |= {(begin + i) % 7 for i in range((end - begin) % 7 + 1)}
    return frozenset(found)


def _day(word: str, text: str) -> int:
    name = word.strip().lower()
    for number, (short, full) in enumerate(zip(_DAYS, _NAMES, strict=True)):
        if name in (short, full):
            return number
    raise SettingError(
        f"cannot read the day {word.strip()!r} of the period {text!r}; "
        "write Mon, Tue, Wed, Thu, Fri, Sat or Sun"
    )


def _unreadable(text: str) -> SettingError:
    return SettingError(
        f"cannot read the period {text!r}; write it as Mon-Fri 09:00-17:30, 23:30-01:00 or Sat,Sun"
    )
