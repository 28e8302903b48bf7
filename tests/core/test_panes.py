"""Panes and windows: arithmetic that agrees with looking at every one of them."""

from datetime import timedelta
from itertools import pairwise
from math import gcd

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.core.panes import MOST_PANES, Panes

TIMES = st.integers(-500, 500)
SECOND = 1_000_000
YEAR = 365 * 86_400 * SECOND


@st.composite
def some_panes(draw: st.DrawFn) -> Panes:
    window = draw(st.integers(1, 60))
    return Panes(window=window, slide=draw(st.integers(1, window)))


@given(some_panes(), st.lists(TIMES))
def test_a_time_lies_in_its_pane(panes: Panes, times: list[int]) -> None:
    found = panes.of(np.array(times, np.int64))
    assert found.dtype == np.int64
    for time, pane in zip(times, found.tolist(), strict=True):
        assert pane * panes.length <= time < (pane + 1) * panes.length


@given(some_panes(), TIMES)
def test_a_window_is_made_of_whole_panes(panes: Panes, window: int) -> None:
    made_of = panes.panes_of(window)
    assert made_of.start * panes.length == panes.start(window) == window * panes.slide
    assert made_of.stop * panes.length == panes.end(window) == panes.start(window) + panes.window


@given(some_panes(), TIMES)
def test_finds_all_windows_of_a_pane(panes: Panes, pane: int) -> None:
    near = pane * panes.length // panes.slide
    wanted = [k for k in range(near - 70, near + 70) if pane in panes.panes_of(k)]
    assert list(panes.windows_of(pane)) == wanted


@given(some_panes(), TIMES)
def test_every_pane_is_in_a_window(panes: Panes, pane: int) -> None:
    assert len(panes.windows_of(pane)) >= panes.window // panes.slide >= 1


@given(some_panes(), TIMES, TIMES)
def test_windows_close_once_their_end_is_reached(panes: Panes, one: int, two: int) -> None:
    before, after = sorted((one, two))
    first, stop = panes.closed_windows(before, after)
    wanted = [k for k in range(-1000, 1001) if before < panes.end(k) <= after]
    assert list(range(first, stop)) == wanted


@given(some_panes(), st.lists(TIMES, min_size=2))
def test_no_window_closes_twice_or_never(panes: Panes, punctuations: list[int]) -> None:
    moves = sorted(punctuations)
    steps = [panes.closed_windows(*move) for move in pairwise(moves)]
    closed = [k for first, stop in steps for k in range(first, stop)]
    assert closed == list(range(*panes.closed_windows(moves[0], moves[-1])))


def test_a_punctuation_that_stands_still_or_goes_back_closes_nothing() -> None:
    panes = Panes(window=10, slide=5)
    for before, after in ((20, 20), (20, 3), (-7, -7)):
        first, stop = panes.closed_windows(before, after)
        assert first == stop


def test_a_leap_of_the_clock_costs_nothing() -> None:
    panes = Panes.parse("1 second", "1ms")
    first, stop = panes.closed_windows(0, 1000 * YEAR)
    assert stop - first == 1000 * YEAR // 1000
    assert panes.end(stop - 1) == 1000 * YEAR


@given(some_panes(), TIMES)
def test_a_pane_is_kept_as_long_as_an_open_window_has_it(panes: Panes, punctuation: int) -> None:
    needed = panes.first_needed(punctuation)
    for pane in range(needed - 5, needed + 5):
        has = any(panes.end(k) > punctuation for k in panes.windows_of(pane))
        assert has == (pane >= needed)


@given(some_panes(), TIMES)
def test_a_pane_that_is_not_closed_is_never_purged(panes: Panes, punctuation: int) -> None:
    assert panes.closed(panes.first_needed(punctuation) - 1, punctuation)


@pytest.mark.parametrize("punctuation", [-200, 0, 1000])
def test_a_pane_closes_at_its_end(punctuation: int) -> None:
    panes = Panes(window=100, slide=40)
    last = punctuation // panes.length - 1
    assert panes.closed(last, punctuation)
    assert not panes.closed(last, punctuation - 1)
    assert not panes.closed(last + 1, punctuation)


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("1 second", SECOND),
        ("200 milliseconds", 200_000),
        ("1 millisecond", 1000),
        ("7 microseconds", 7),
        ("5 minutes", 300 * SECOND),
        ("1 hour 30 minutes", 5400 * SECOND),
        ("2 weeks", 14 * 86_400 * SECOND),
        ("1 day", 86_400 * SECOND),
        ("1s", SECOND),
        ("200ms", 200_000),
        ("90us", 90),
        ("1m30s", 90 * SECOND),
        ("5 min", 300 * SECOND),
        ("3 sec", 3 * SECOND),
        ("2h", 7200 * SECOND),
        ("1d", 86_400 * SECOND),
        (" INTERVAL 1 Second ", SECOND),
        ("0.3 seconds", 300_000),
        ("0.000001s", 1),
        ("1 minute -10 seconds", 50 * SECOND),
        (timedelta(minutes=1, microseconds=3), 60 * SECOND + 3),
    ],
)
def test_reads_durations_as_people_and_spark_write_them(text: object, microseconds: int) -> None:
    assert Panes.parse(text, text) == Panes(window=microseconds, slide=microseconds)


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_reads_back_every_microsecond(window: int, slide: int) -> None:
    window, slide = max(window, slide), min(window, slide)
    if window // gcd(window, slide) <= MOST_PANES:
        found = Panes.parse(f"{window} us", f"{slide / SECOND:.6f} seconds")
        assert found == Panes(window=window, slide=slide)


@pytest.mark.parametrize(
    ("window", "slide", "message"),
    [
        ("1s", "2s", "a slide of 2 s leaves out rows between windows of 1 s; choose at most 1 s"),
        ("0s", "1s", "window must be longer than 0, got 0 us"),
        ("1s", "-200ms", "slide must be longer than 0, got -200 ms; write it as 200ms or 1s"),
        (timedelta(0), "1s", "window must be longer than 0"),
        ("1 month", "1s", "window cannot be given in calendar units, got '1 month'.*in days"),
        ("1 day", "1 year", "slide cannot be given in calendar units, got '1 year'"),
        ("1 fortnight", "1s", "cannot read the window '1 fortnight'; write it as '1 second'"),
        ("second", "1s", "cannot read the window 'second'"),
        ("1 second and", "1s", "cannot read the window '1 second and'"),
        ("", "1s", "cannot read the window ''"),
        ("1s", "", "cannot read the slide ''"),
        ("\u0661s", "1s", "cannot read the window '\u0661s'"),
        ("9" * 5000 + "s", "1s", "cannot read the window '9{100}...'"),
        ("1 s" + " " * 100 + "x", "1s", "cannot read the window"),
        (1, "1s", "window needs a unit, got 1; write it as a text such as '1 second'"),
        ("1s", None, "slide needs a unit, got None"),
        ("1.5us", "1us", r"window is counted in whole microseconds, got '1.5us'; round it"),
        ("36526 days", "1 day", "window must be at most 100 years, got 876624 h; choose a shorter"),
        (
            "1 second",
            "0.33337 seconds",
            "a window of 1 s that slides by 333.37 ms has 100,000 panes of 10 us, more than "
            "10,000; choose a slide that divides it, such as 500 ms",
        ),
        ("1 hour", "1ms", "has 3,600,000 panes of 1 ms, more than 10,000; .* such as 360 ms"),
    ],
)
def test_refuses_windows_that_make_no_sense(window: object, slide: object, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Panes.parse(window, slide)


@given(st.integers(1, 10**9), st.integers(1, 10**9))
def test_the_slide_proposed_is_taken(window: int, slide: int) -> None:
    window, slide = max(window, slide), min(window, slide)
    try:
        Panes(window=window, slide=slide)
    except SettingError as refused:
        proposed = str(refused).split("such as ")[1]
        Panes.parse(f"{window}us", proposed)


def test_takes_as_many_panes_as_it_says() -> None:
    assert len(Panes(window=MOST_PANES, slide=1).panes_of(0)) == MOST_PANES
    with pytest.raises(SettingError, match="10,001 panes"):
        Panes(window=MOST_PANES + 1, slide=1)
