"""Moving average, Holt and Holt-Winters: what they learn, and what they refuse."""

from collections.abc import Callable, Iterable
from copy import deepcopy
from math import inf, nan
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.core.roles import Forecaster
from penstock.forecast import Ewma, Holt, HoltWinters, Last, MovingAverage, Trusted
from penstock.testing import FORECASTER_CHECKS
from penstock.testing.checking import Check
from penstock.testing.forecasters import learns_nothing_from_what_is_not_a_number
from tests.forecast.backtests import backtest

F = TypeVar("F", bound=Forecaster)

rates = st.lists(st.floats(0.0, 1e9), min_size=1, max_size=50)
weights = st.floats(0.01, 1.0)
seasons = st.sampled_from(["additive", "multiplicative"])


def taught(forecaster: F, values: Iterable[float]) -> F:
    for value in values:
        forecaster.update(value)
    return forecaster


# Every promise of the role, with settings that people use

SET: dict[str, Callable[[], Forecaster]] = {
    "moving average of one": lambda: MovingAverage(window=1),
    "random walk": lambda: Holt(a=1.0, b=0.015),
    "additive": lambda: HoltWinters(period=7),
    "multiplicative": lambda: HoltWinters(period=7, season="multiplicative"),
    "shortest period": lambda: HoltWinters(a=0.1, c=1.0, period=2, season="multiplicative"),
}


@pytest.mark.parametrize("check", FORECASTER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("kind", SET)
def test_set_forecaster(kind: str, check: Check[Callable[[], Forecaster]]) -> None:
    calendar = getattr(SET[kind](), "period", None)
    if calendar and check is learns_nothing_from_what_is_not_a_number:
        return  # the season goes on, as tested below
    check(SET[kind])


@pytest.mark.parametrize("kind", SET)
def test_values_near_the_end_of_all_numbers_pass(kind: str) -> None:
    """Nothing is raised meanwhile, and then what comes is foreseen as ever."""
    foresight = Trusted(SET[kind](), window=5)
    for value in (1e308, -1e308, 1e308, 1e308, -1e308) * 4:
        foresight.update(value)
        foresight.forecast(3)
    assert taught(foresight, [300.0] * 400).forecast(1)[0] == pytest.approx(300.0, rel=0.01)


# Moving average


@given(rates, st.integers(1, 20))
def test_a_moving_average_is_the_mean_of_its_window(values: list[float], window: int) -> None:
    ahead = taught(MovingAverage(window=window), values).forecast(3)
    np.testing.assert_allclose(ahead, [np.mean(values[-window:])] * 3, rtol=1e-9)


def test_the_mean_of_values_whose_sum_is_no_number_is_one() -> None:
    assert taught(MovingAverage(), [1e308] * 10).forecast(1).tolist() == pytest.approx([1e308])


def test_a_moving_average_forgets_a_peak_that_has_left_its_window() -> None:
    ahead = taught(MovingAverage(window=2), [1e9, 100.0, 300.0]).forecast(1)
    assert ahead.tolist() == [200.0]


# Holt


@given(rates, weights)
def test_holt_without_a_trend_is_ewma(values: list[float], a: float) -> None:
    ours, ewma = taught(Holt(a=a, b=0.0), values), taught(Ewma(alpha=a), values)
    np.testing.assert_allclose(ours.forecast(2), ewma.forecast(2), rtol=1e-9, atol=1e-6)


@given(weights, weights, st.floats(-1e3, 1e3), st.floats(0.0, 1e5))
def test_holt_learns_any_straight_line(a: float, b: float, slope: float, start: float) -> None:
    steps = 40 + int(40 / min(a, b))
    ours = taught(Holt(a=a, b=b), (start + slope * step for step in range(steps)))
    line = start + slope * np.arange(steps, steps + 3)
    np.testing.assert_allclose(ours.forecast(3), line, atol=1e-3 * (1 + abs(slope)))


def test_holt_sees_a_ramp_coming_where_averages_lag() -> None:
    ramp = [100.0 * step for step in range(1, 60)]
    for late in (Last(), Ewma(), MovingAverage()):
        assert backtest(Holt(), ramp, horizon=3).error(3) < backtest(late, ramp, horizon=3).error(3)


def test_a_falling_line_goes_on_below_zero() -> None:
    assert taught(Holt(a=1.0, b=1.0), [200.0, 100.0]).forecast(3).tolist() == [0.0, -100.0, -200.0]


# Holt-Winters


@given(rates, weights, weights)
def test_holt_winters_without_a_period_is_holt(values: list[float], a: float, b: float) -> None:
    ours, holt = taught(HoltWinters(a=a, b=b), values), taught(Holt(a=a, b=b), values)
    assert ours.forecast(5).tolist() == holt.forecast(5).tolist()


@given(st.lists(st.floats(0.0, 1e6), min_size=2, max_size=30), seasons)
def test_holt_winters_is_holt_until_a_period_has_come(values: list[float], season: str) -> None:
    ours = taught(HoltWinters(period=len(values), season=season), values[:-1])
    assert ours.forecast(5).tolist() == taught(Holt(), values[:-1]).forecast(5).tolist()
    assert ours.terms == ()


@given(st.lists(st.floats(1.0, 1e6), min_size=2, max_size=30), seasons)
def test_after_one_period_it_foresees_that_period_again(values: list[float], season: str) -> None:
    ours = taught(HoltWinters(period=len(values), season=season), values)
    np.testing.assert_allclose(ours.forecast(2 * len(values)), values * 2, rtol=1e-9)


@given(st.lists(st.floats(0.0, 1e6), min_size=2, max_size=12), seasons)
def test_what_repeats_exactly_is_foreseen_exactly(values: list[float], season: str) -> None:
    ours = taught(HoltWinters(period=len(values), season=season), values * 4)
    np.testing.assert_allclose(ours.forecast(len(values)), values, rtol=1e-6, atol=1e-3)


def test_a_swing_that_grows_with_the_level_is_multiplicative() -> None:
    level, swing = np.linspace(100.0, 1000.0, 240), 1 + 0.5 * np.sin(np.arange(240) * np.pi / 6)
    errors = {
        season: backtest(HoltWinters(a=0.2, b=0.1, period=12, season=season), level * swing).error()
        for season in ("additive", "multiplicative")
    }
    assert errors["multiplicative"] < 0.5 * errors["additive"]


def test_a_daily_load_is_foreseen_better_than_by_holt_or_the_last_value() -> None:
    hours = np.arange(24 * 14)
    chance = np.random.default_rng(1)
    load = 300 + 200 * np.sin(hours * np.pi / 12) + chance.normal(0.0, 10.0, len(hours))
    errors = [
        backtest(forecaster, load, horizon=3).error(3)
        for forecaster in (HoltWinters(period=24), Holt(), Last())
    ]
    assert errors[0] < 0.5 * errors[1]
    assert errors[0] < 0.5 * errors[2]


def test_a_step_that_was_not_measured_lets_the_season_go_on_and_changes_nothing_else() -> None:
    before = taught(HoltWinters(period=3), [100.0, 200.0, 600.0] * 3)
    after = taught(deepcopy(before), [nan, inf])
    assert (after.level, after.trend) == (before.level, before.trend)
    assert after.forecast(4).tolist() == [600.0, 100.0, 200.0, 600.0]


@pytest.mark.parametrize("season", ["additive", "multiplicative"])
def test_a_gap_in_the_first_period_is_taken_to_be_like_the_mean(season: str) -> None:
    ours = taught(HoltWinters(period=3, season=season), [nan, 100.0, nan, 500.0])
    assert ours.forecast(3).tolist() == [100.0, 300.0, 500.0]


def test_hours_without_a_row_do_not_upset_the_factors() -> None:
    day = [0.0, 0.0, 300.0, 600.0]
    ours = taught(HoltWinters(period=4, season="multiplicative"), [*day * 5, 5.0, 0.0])
    np.testing.assert_allclose(ours.forecast(4), [300.0, 600.0, 0.0, 0.0], atol=5.0)


def test_a_few_rows_in_a_quiet_hour_do_not_raise_the_day() -> None:
    day = [0.1, 300.0, 600.0, 300.0]
    ours = taught(HoltWinters(period=4, season="multiplicative"), [*day * 5, 30.0])
    np.testing.assert_allclose(ours.forecast(3), day[1:], rtol=0.01)


@given(st.lists(st.floats(0.0, 1e9), max_size=60), st.integers(2, 8), weights, weights)
def test_factors_are_never_negative_nor_above_the_period(
    values: list[float], period: int, a: float, b: float
) -> None:
    falling = [1e6, *values, 1e6, 1e5, 0.0, 0.0]
    ours = HoltWinters(a=a, b=b, c=1.0, period=period, season="multiplicative")
    for value in [*falling, *falling]:
        ours.update(value)
        assert all(0.0 <= factor <= period for factor in ours.terms)


def test_a_load_that_begins_with_silence_is_learnt() -> None:
    silence, day = [0.0] * 8, [100.0, 200.0, 300.0, 400.0]
    ours = taught(HoltWinters(period=4, season="multiplicative"), [*silence, *day * 60])
    np.testing.assert_allclose(ours.forecast(4), day, rtol=0.05)


@given(st.lists(st.floats(0.0, 1e9), min_size=1, max_size=60), st.integers(2, 8), seasons, weights)
def test_forecasts_are_finite_whatever_came(
    values: list[float], period: int, season: str, weight: float
) -> None:
    ours = HoltWinters(a=weight, b=weight, c=weight, period=period, season=season)
    for value in values:
        ours.update(value)
        assert np.isfinite(ours.forecast(2 * period)).all()


@given(rates, st.integers(2, 9), seasons)
def test_two_that_saw_the_same_are_equal(values: list[float], period: int, season: str) -> None:
    seen = [*values, float("nan"), *values]
    one = taught(HoltWinters(period=period, season=season), seen)
    assert one == taught(HoltWinters(period=period, season=season), seen) == deepcopy(one)
    assert repr(one) == repr(HoltWinters(period=period, season=season))


# What is refused


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: MovingAverage(window=0), "window .*moving-average must be 1 or more, got 0"),
        (lambda: Holt(a=0.0), r"a of forecaster holt must be in \(0, 1\], got 0"),
        (lambda: Holt(b=-0.1), r"b of forecaster holt must be in \[0, 1\], got -0.1"),
        (lambda: Holt(b=nan), r"b of forecaster holt must be in \[0, 1\], got nan"),
        (lambda: HoltWinters(a=1.1), r"a of forecaster holt-winters must be in \(0, 1\], got 1.1"),
        (lambda: HoltWinters(c=2.0), r"c of forecaster holt-winters must be in \[0, 1\], got 2"),
        (lambda: HoltWinters(period=1), "period .*holt-winters must be 2 or more, got 1"),
        (
            lambda: HoltWinters(season="additiv"),
            "season .* must be additive or multiplicative, got 'additiv'",
        ),
    ],
)
def test_a_setting_that_cannot_be_is_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        build()


@pytest.mark.parametrize("forecaster", [Last(), Ewma(), MovingAverage(), Holt(), HoltWinters()])
def test_a_negative_number_of_steps_is_refused(forecaster: Forecaster) -> None:
    with pytest.raises(SettingError, match="looks 0 steps or more ahead, got -1"):
        forecaster.forecast(-1)
