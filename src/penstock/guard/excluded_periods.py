"""No changes within given hours of the week, such as office hours.

>>> office = Period.parse("Mon-Fri 09:00-17:30")
>>> office.covers(datetime(2026, 11, 17, 12, 0)), office.covers(datetime(2026, 11, 21, 12, 0))
(True, False)
>>> Period.parse("23:30-01:00").covers(datetime(2026, 11, 17, 0, 59))
True
"""

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Annotated, Final
from zoneinfo import ZoneInfo

from penstock.core.errors import SettingError
from penstock.core.schema import Written, checked
from penstock.core.signals import Configuration, Decision, Observation
from penstock.guard.common import Guard, ProposedDegree, Ruling

_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
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
        if times is None and (not days or any(letter.isdigit() for letter in text)):
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
    days: set[int] = set()
    for part in re.split(r"\s*,\s*", written):
        first, _, last = part.partition("-")
        begin, end = _day(first, text), _day(last or first, text)
        days |= {(begin + i) % 7 for i in range((end - begin) % 7 + 1)}
    return frozenset(days)


def _day(word: str, text: str) -> int:
    name = word.strip().lower()
    for number, day in enumerate(_DAYS):
        if name in (day, day[:3]):
            return number
    raise SettingError(
        f"cannot read the day {word.strip()!r} of the period {text!r}; "
        "write Mon, Tue, Wed, Thu, Fri, Sat or Sun"
    )


def _unreadable(text: str) -> SettingError:
    return SettingError(
        f"cannot read the period {text!r}; write it as Mon-Fri 09:00-17:30, 23:30-01:00 or Sat,Sun"
    )


def _moment(given: object) -> datetime:
    """A moment that was written or handed over."""
    if isinstance(given, datetime):
        return given
    try:
        return datetime.fromisoformat(str(given))
    except ValueError:
        raise SettingError(f"cannot read {str(given)!r}; write it as 2026-11-17T08:00") from None


_MOMENT: Final = Written("a moment such as 2026-11-17T08:00", _moment)


@dataclass(kw_only=True)
@checked("guard excluded-periods")
class ExcludedPeriods(Guard):
    """Changes nothing during some hours of the week: no degree, no routing, no clock, no node.

    The time is `began` and what the observation says has passed since, never a clock's. It is also
    known as excluded.periods.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> noon = datetime(2026, 11, 17, 12, 0)
    >>> guard = ExcludedPeriods(Static(degrees=9), periods=("Mon-Fri 09:00-17:30",), began=noon)
    >>> guard(seen(at=60.0, counter={"running": 4})).why
    'counter is set to 9; counter stays at 4, nothing changes Mon-Fri 09:00-17:30'
    >>> guard(seen(at=6 * 3600.0, counter={"running": 4})).configuration.degrees
    {'counter': 9}
    """

    periods: tuple[str, ...] = ()
    """Days, times or both. A time that passes midnight belongs to the day on which it begins."""
    began: Annotated[datetime, _MOMENT] | None = None
    """When the run began: the moment at which `at` of an observation is 0."""
    zone: str | None = None
    """Time zone of the periods, such as Europe/Rome; that of `began` unless given."""
    _periods: tuple[Period, ...] = field(default=(), init=False, repr=False)
    _zone: tzinfo | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        try:
            self._periods = tuple(map(Period.parse, self.periods))
        except SettingError as error:
            raise SettingError(f"periods of guard excluded-periods: {error}") from None
        if self._periods and self.began is None:
            raise SettingError(
                "guard excluded-periods must know when the run began; give it began, such as "
                "2026-11-17T08:00"
            )
        theirs = self.began.tzinfo if self.began else None
        self._zone = _zone(self.zone) if self.zone else theirs

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy wants, outside the periods; inside, nothing changes at all."""
        ruled = super().__call__(seen)
        still = Configuration(degrees=ruled.configuration.degrees)
        period = self._within(seen.at)
        if period is None or still == ruled.configuration:
            return ruled
        why, text = ruled.why, f"nothing changes {period.text}"
        return replace(
            ruled,
            configuration=still,
            proposed=ruled.proposed or ruled.configuration,
            why=why if why.endswith(text) else f"{why}; {text}",
        )

    def rule(self, proposed: ProposedDegree) -> Ruling | None:
        """No degree changes within a period."""
        period = self._within(proposed.seen.at)
        if period is None or proposed.degree == proposed.in_force:
            return None
        return proposed.refuse(f"nothing changes {period.text}")

    def _within(self, at: float) -> Period | None:
        if self.began is None:
            return None
        now = self._time(self.began, at)
        return next((period for period in self._periods if period.covers(now)), None)

    def _time(self, began: datetime, at: float) -> datetime:
        """What clocks in the zone show; hours are counted in UTC, where none is left out."""
        if self._zone is None:
            return began + timedelta(seconds=at)
        aware = began if began.tzinfo else began.replace(tzinfo=self._zone)
        return (aware.astimezone(UTC) + timedelta(seconds=at)).astimezone(self._zone)


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):  # it is looked for among files
        raise SettingError(
            f"zone of guard excluded-periods: there is no time zone {name!r}; "
            "write it as Europe/Rome or UTC"
        ) from None
