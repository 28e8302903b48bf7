"""Hands off in office hours."""

from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from penstock.core.errors import SettingError
from penstock.core.roles import Policy
from penstock.core.signals import Configuration, Decision, Observation
from penstock.guard.periods import Period
from penstock.guard.revise import Ruling, revise
from penstock.policy.degrees import in_force


def _moment(given: object) -> datetime:
    """A moment that was written or handed over."""
    if isinstance(given, datetime):
        return given
    try:
        return datetime.fromisoformat(str(given))
    except ValueError:
        raise SettingError(f"cannot read {str(given)!r}; write it as 2026-11-17T08:00") from None


@dataclass
class ExcludedPeriods:
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

    policy: Policy
    _: KW_ONLY
    periods: tuple[str, ...] = ()
    """Days, times or both. A time that passes midnight belongs to the day on which it begins."""
    began: datetime | None = field(default=None, metadata={"read": _moment})
    """When the run began: the moment at which `at` of an observation is 0."""
    zone: str | None = None
    """Time zone of the periods, such as Europe/Rome; that of `began` unless given."""
    _periods: tuple[Period, ...] = field(default=(), init=False, repr=False)
    _zone: tzinfo | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse what is no period, and periods of which nobody could tell when they are."""
        self._periods = tuple(_period(text) for text in self.periods)
        if self._periods and self.began is None:
            raise SettingError(
                "guard excluded-periods must know when the run began; give it began, such as "
                "2026-11-17T08:00"
            )
        theirs = self.began.tzinfo if self.began else None
        self._zone = _zone(self.zone) if self.zone else theirs

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy wants, outside the periods."""
        decided = self.policy(seen)
        period = self._within(seen.at)
        if period is None:
            return decided
        now = in_force(seen)
        ruled = revise(decided, lambda name, n: _stays(name, n, now.get(name), period))
        return _still(decided, ruled, period)

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


def _stays(name: str, degree: int, now: int | None, period: Period) -> Ruling | None:
    if degree == now:
        return None
    stays = f"{name} stays at {now}" if now is not None else f"{name} is left alone"
    return Ruling(now, f"{stays}, nothing changes {period.text}")


def _still(decided: Decision, ruled: Decision, period: Period) -> Decision:
    """The ruling without whatever else was to change."""
    still = Configuration(degrees=ruled.configuration.degrees)
    if still == ruled.configuration:
        return ruled
    told = ruled.why if ruled.why != decided.why else f"{ruled.why}; nothing changes {period.text}"
    wish = decided.proposed or decided.configuration
    return replace(ruled, configuration=still, proposed=wish, why=told)


def _period(text: str) -> Period:
    try:
        return Period.parse(text)
    except SettingError as error:
        raise SettingError(f"periods of guard excluded-periods: {error}") from None


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):  # it is looked for among files
        raise SettingError(
            f"zone of guard excluded-periods: there is no time zone {name!r}; "
            "write it as Europe/Rome or UTC"
        ) from None
