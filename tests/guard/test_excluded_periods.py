"""Excluded periods: when nothing changes, by clocks that nobody reads."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.core.routing import Routing
from penstock.core.settings import build
from penstock.core.signals import Configuration, Decision, Observation
from penstock.guard import ExcludedPeriods
from penstock.guard.excluded_periods import Period
from penstock.policy import Static
from penstock.testing import seen
from tests.guard.wishes import Wish, counter

TUESDAY = datetime(2026, 11, 17)
HOUR = 3600.0

# Periods


def covered(text: str, day: int, clock: str) -> bool:
    """Whether a period covers a time on so many days after Monday."""
    hours, minutes = map(int, clock.split(":"))
    monday = TUESDAY - timedelta(days=1)
    return Period.parse(text).covers(monday + timedelta(days=day, hours=hours, minutes=minutes))


@pytest.mark.parametrize(
    ("text", "day", "clock", "expected"),
    [
        ("Mon-Fri 09:00-17:30", 0, "09:00", True),
        ("Mon-Fri 09:00-17:30", 4, "17:29", True),
        ("Mon-Fri 09:00-17:30", 4, "17:30", False),
        ("Mon-Fri 09:00-17:30", 5, "12:00", False),
        ("9:00-17:00", 6, "09:00", True),
        ("23:30-01:00", 2, "00:59", True),
        ("23:30-01:00", 2, "01:00", False),
        ("Fri 22:00-06:00", 5, "05:59", True),  # the night that begins on Friday
        ("Fri 22:00-06:00", 4, "05:59", False),
        ("Sun 22:00-06:00", 0, "05:59", True),  # on into the next week
        ("Sat,Sun", 6, "23:59", True),
        ("Sat,Sun", 0, "00:00", False),
        ("Fri-Mon", 0, "12:00", True),
        ("Fri-Mon", 2, "12:00", False),
        ("saturday 00:00-24:00", 5, "23:59", True),
        ("saturday 00:00-24:00", 6, "00:00", False),
        ("Mon, Wed-Thu 08:00 - 09:00", 3, "08:30", True),
    ],
)
def test_a_period_covers_what_it_says(text: str, day: int, clock: str, expected: bool) -> None:
    assert covered(text, day, clock) is expected


@given(st.integers(0, 1439), st.integers(0, 1439), st.integers(0, 7 * 1440 - 1))
def test_a_period_and_the_rest_of_the_day_cover_every_minute_once(
    start: int, end: int, minute: int
) -> None:
    if start == end:
        return
    first, second = (f"{m // 60:02}:{m % 60:02}" for m in (start, end))
    moment = TUESDAY + timedelta(minutes=minute)
    inside = Period.parse(f"{first}-{second}").covers(moment)
    assert inside != Period.parse(f"{second}-{first}").covers(moment)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot read the period ''; write it as Mon-Fri 09:00-17:30"),
        ("9-17", "cannot read the period '9-17'; write it as Mon-Fri 09:00-17:30"),
        ("09:00-17:30 Mon", "cannot read the period '09:00-17:30 Mon'"),
        ("Mon-Fry 09:00-17:30", "cannot read the day 'Fry' of the period 'Mon-Fry 09:00-17:30'"),
        ("09:00-25:00", "the period '09:00-25:00' has a time that no clock shows"),
        ("09:60-10:00", "the period '09:60-10:00' has a time that no clock shows"),
        ("24:00-01:00", "the period '24:00-01:00' has a time that no clock shows"),
        ("09:00-09:00", "the period '09:00-09:00' ends when it begins"),
    ],
)
def test_what_is_no_period_is_refused_in_a_sentence(text: str, message: str) -> None:
    with pytest.raises(SettingError, match="periods of guard excluded-periods: ") as caught:
        ExcludedPeriods(Static(), periods=(text,), began=TUESDAY)
    assert message in str(caught.value)


# The guard


def test_nothing_changes_within_a_period_and_everything_may_outside() -> None:
    guard = ExcludedPeriods(Wish([9]), periods=("09:00-17:30", "23:30-01:00"), began=TUESDAY)
    found = {
        hour: counter(guard(seen(at=hour * HOUR, counter={"running": 4})))
        for hour in (0.5, 2, 8.99, 9, 17.49, 17.5, 23.75, 24.5, 25, 33.5)
    }
    still = {hour for hour, degree in found.items() if degree == 4}
    assert still == {0.5, 9, 17.49, 23.75, 24.5, 33.5}


def test_it_says_which_period_and_keeps_what_was_wanted() -> None:
    guard = ExcludedPeriods(Wish([9]), periods=("Tue",), began=TUESDAY)
    decided = guard(seen(counter={"running": 4}))
    assert decided.why == "wishes for 9; counter stays at 4, nothing changes Tue"
    assert decided.proposed == Configuration(degrees={"counter": 9})
    assert guard(seen(counter={"running": 9})).why == "wishes for 9"


def test_a_module_of_which_nothing_is_known_is_left_alone() -> None:
    decided = ExcludedPeriods(Wish([9]), periods=("Tue",), began=TUESDAY)(seen(counter={}))
    assert decided.configuration.degrees == {}
    assert decided.why == "wishes for 9; counter is left alone, nothing changes Tue"


@dataclass
class Everything:
    """Wants another routing, clock and node, and the same degree."""

    def __call__(self, seen: Observation, /) -> Decision:
        return Decision(
            configuration=Configuration(
                degrees={"counter": 4},
                routing={"counter": Routing(replicas=4, owners={"A": 1})},
                frequency=2.4,
                nodes={"dc1": 3},
            ),
            why="wants all else",
        )


def test_neither_does_anything_else() -> None:
    guard = ExcludedPeriods(Everything(), periods=("Tue",), began=TUESDAY)
    decided = guard(seen(counter={"running": 4}))
    assert decided.configuration == Configuration(degrees={"counter": 4})
    assert decided.why == "wants all else; nothing changes Tue"
    assert decided.proposed == Everything()(seen()).configuration


def test_hours_are_those_of_the_time_zone() -> None:
    """08:30 in UTC is 09:30 in Rome in November."""
    office = {"periods": ("09:00-17:30",), "began": TUESDAY.replace(hour=8, tzinfo=UTC)}
    here = seen(at=0.5 * HOUR, counter={"running": 4})
    assert counter(ExcludedPeriods(Wish([9]), **office)(here)) == 9  # type: ignore[arg-type]
    rome = ExcludedPeriods(Wish([9]), **office, zone="Europe/Rome")  # type: ignore[arg-type]
    assert counter(rome(here)) == 4
    assert counter(deepcopy(rome)(here)) == 4


def test_an_hour_that_clocks_leave_out_has_not_passed() -> None:
    """On 28 March 2027 clocks in Rome go from 02:00 to 03:00: 3 h after midnight they show 4."""
    guard = ExcludedPeriods(
        Wish([9]), periods=("04:00-05:00",), began=datetime(2027, 3, 28), zone="Europe/Rome"
    )
    assert counter(guard(seen(at=3.5 * HOUR, counter={"running": 4}))) == 4
    assert counter(guard(seen(at=4.5 * HOUR, counter={"running": 4}))) == 9


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"periods": ["Mon"]}, "must know when the run began; give it began, such as 2026-11-17"),
        ({"periods": "Mon"}, "periods of guard excluded-periods must be a list, got 'Mon'"),
        ({"began": "today"}, "began of guard excluded-periods: cannot read 'today'; write it as"),
        ({"zone": "Rome"}, "zone of guard excluded-periods: there is no time zone 'Rome'"),
        ({"zone": "../etc"}, "zone of guard excluded-periods: there is no time zone '../etc'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    written: Mapping[str, object], message: str
) -> None:
    with pytest.raises(SettingError) as caught:
        build(ExcludedPeriods, written, of="guard excluded-periods", policy=Static())
    assert message in str(caught.value)
