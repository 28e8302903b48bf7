"""How far off forecasts were: errors by steps ahead, on series whose errors are known."""

from collections.abc import Sequence
from copy import deepcopy
from math import inf, isnan, nan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.forecast import Accuracy, Holt, Last
from tests.forecast.backtests import backtest
from tests.support.paths import PUBLISHED

WALK = PUBLISHED / "hft" / "random_walk_rates.txt"

values = st.lists(st.floats(0.1, 1e6), min_size=6, max_size=40)


def run(accuracy: Accuracy, steps: Sequence[tuple[Sequence[float], float]]) -> Accuracy:
    """Forecasts, each with the value that came next."""
    for ahead, came in steps:
        accuracy.expect(ahead)
        accuracy.update(came)
    return accuracy


def test_each_forecast_meets_the_value_that_it_was_of() -> None:
    accuracy = Accuracy(horizon=3)
    run(accuracy, [([11.0, 21.0, 33.0], 10.0), ([20.0, 32.0, 0.0], 20.0), ([30.0, 0.0, 0.0], 30.0)])
    assert accuracy.error(1) == pytest.approx(1 / 60)
    assert accuracy.error(2) == pytest.approx(3 / 50)
    assert accuracy.error(3) == pytest.approx(3 / 30)
    assert [accuracy.compared(steps) for steps in (1, 2, 3)] == [3, 2, 1]


@given(values, st.integers(1, 4))
def test_the_error_of_the_last_value_is_that_of_the_differences(
    series: list[float], steps: int
) -> None:
    accuracy, came = backtest(Last(), series, horizon=4), np.array(series)
    off = np.abs(came[steps:] - came[:-steps])
    assert accuracy.error(steps) == pytest.approx(off.sum() / came[steps:].sum())
    assert accuracy.scaled_error(steps) == (1.0 if off.sum() else 0.0)


@given(values, st.integers(1, 10))
def test_only_the_newest_count(series: list[float], window: int) -> None:
    windowed = run(Accuracy(window=window), [([50.0], value) for value in series])
    fresh = run(Accuracy(window=window), [([50.0], value) for value in series[-window:]])
    assert windowed.error() == fresh.error()
    assert windowed.compared() == min(window, len(series))


@given(values, st.floats(0.01, 100.0))
def test_errors_have_no_unit(series: list[float], unit: float) -> None:
    one = backtest(Holt(), series)
    other = backtest(Holt(), [unit * value for value in series])
    assert other.error() == pytest.approx(one.error(), rel=1e-6, abs=1e-9)


def test_nothing_is_known_before_the_first_comparison() -> None:
    accuracy = Accuracy()
    accuracy.update(100.0)
    accuracy.expect([100.0])
    assert isnan(accuracy.error())
    assert isnan(accuracy.scaled_error())


def test_a_step_that_was_not_measured_passes_without_a_comparison() -> None:
    accuracy = run(Accuracy(horizon=2), [([0.0, 110.0], nan), ([100.0, 0.0], 100.0)])
    assert accuracy.compared(1) == 1
    assert accuracy.error(1) == 0.0
    assert accuracy.error(2) == pytest.approx(0.1)


def test_a_forecast_that_is_no_number_is_not_compared() -> None:
    assert run(Accuracy(), [([nan], 100.0), ([inf], 100.0), ([], 100.0)]).compared() == 0


def test_of_two_forecasts_of_a_step_the_newer_counts() -> None:
    accuracy = Accuracy()
    accuracy.expect([0.0])
    run(accuracy, [([100.0], 100.0)])
    assert (accuracy.compared(), accuracy.error()) == (1, 0.0)


def test_rows_foreseen_where_none_came_are_an_error_without_bounds() -> None:
    assert run(Accuracy(), [([5.0], 0.0)]).error() == inf
    assert run(Accuracy(), [([0.0], 0.0)]).error() == 0.0


def test_copies_live_apart() -> None:
    accuracy = run(Accuracy(), [([90.0], 100.0)])
    run(deepcopy(accuracy), [([0.0], 100.0)])
    assert accuracy.error() == pytest.approx(0.1)
    assert accuracy == run(Accuracy(), [([90.0], 100.0)])


def test_a_random_walk_is_foreseen_as_well_as_its_steps_allow() -> None:
    """The mean error k steps ahead is sqrt(2 k / pi) of a step's deviation."""
    walk = 1e4 + np.cumsum(np.random.default_rng(1).normal(0.0, 1.0, 20_000))
    accuracy = backtest(Holt(a=1.0, b=0.015), walk, horizon=3)
    for steps in (1, 2, 3):
        mean = accuracy.error(steps) * walk.mean()
        assert mean == pytest.approx(sqrt(2 * steps / np.pi), rel=0.03)


@pytest.mark.skipif(not WALK.exists(), reason="the published rates are not here")
def test_the_published_random_walk_is_foreseen_to_a_few_percent() -> None:
    accuracy = backtest(Holt(a=1.0, b=0.015), np.loadtxt(WALK, skiprows=1)[:, 1], horizon=3)
    assert accuracy.compared() == 179
    assert accuracy.error(1) < 0.05
    assert accuracy.error(3) < 0.10
    assert accuracy.scaled_error(1) < 1.01  # nothing foresees a random walk better than its last


@pytest.mark.parametrize("steps", [0, 2])
def test_only_steps_that_were_kept_can_be_asked_for(steps: int) -> None:
    with pytest.raises(SettingError, match=f"known 1 to 1 steps ahead, got {steps}"):
        Accuracy().error(steps)


def test_a_horizon_or_window_of_nothing_is_refused() -> None:
    with pytest.raises(SettingError, match="horizon of the accuracy must be 1 or more"):
        Accuracy(horizon=0)
    with pytest.raises(SettingError, match="window of the accuracy must be 1 or more"):
        Accuracy(window=0)
