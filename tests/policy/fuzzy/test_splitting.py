"""The regulator of pane splitting: which way it acts, its bounds, and when it splits at all."""

from dataclasses import replace
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.policy.fuzzy.splitting import SplittingControl, SplittingMemory, check_period

LOADS = st.lists(st.floats(0, 100) | st.none() | st.just(nan) | st.just(inf), max_size=40)
SIZES = st.lists(st.floats(0, 1e6), min_size=1, max_size=30)


def after(control: SplittingControl, loads: list[float | None]) -> SplittingMemory:
    memory = SplittingMemory()
    for load in loads:
        memory = control.step(memory, load)
    return memory


def test_a_load_above_the_setpoint_raises_alpha_and_one_below_lowers_it() -> None:
    control = SplittingControl()
    assert after(control, [1.0]).alpha == pytest.approx(1 + 1.8 * 0.1)
    assert after(control, [0.8]).alpha == pytest.approx(1 - 1.8 * 0.1)
    assert after(control, [0.9]).alpha == 1.0


def test_a_rising_load_is_met_before_it_has_passed_the_setpoint() -> None:
    memory = after(SplittingControl(), [0.8, 0.88])
    assert memory.alpha == pytest.approx(1 - 0.18 + (1.8 * -0.02 + 2 * 0.08))


@given(LOADS)
def test_alpha_never_leaves_its_bounds_nor_jumps(loads: list[float | None]) -> None:
    control, memory = SplittingControl(), SplittingMemory()
    for load in loads:
        before, memory = memory.alpha, control.step(memory, load)
        assert 0.1 <= memory.alpha <= 20
        assert abs(memory.alpha - before) <= 0.3 + 1e-12


@pytest.mark.parametrize("load", [None, nan])
def test_a_period_without_a_measurement_changes_nothing(load: float | None) -> None:
    memory = after(SplittingControl(), [1.4, 1.1])
    assert SplittingControl().step(memory, load) == memory


def test_a_load_without_end_is_left_behind_like_any_other() -> None:
    control = SplittingControl()
    overloaded = after(control, [inf, inf, inf])
    assert overloaded.alpha == pytest.approx(1.9)
    assert control.step(control.step(overloaded, 0.9), 0.9).alpha == pytest.approx(1.6)


def test_a_lasting_overload_splits_as_much_as_it_may() -> None:  # ppq, Proposition 1
    assert after(SplittingControl(), [1.5] * 100).alpha == 20.0
    assert after(SplittingControl(), [0.2] * 100).alpha == 0.1


@pytest.mark.parametrize("setpoint", [0.5, 0.7, 0.9])
def test_a_stage_that_splitting_relieves_settles_at_the_setpoint(setpoint: float) -> None:
    control, memory, load = SplittingControl(setpoint=setpoint), SplittingMemory(), 0.0
    for _ in range(200):
        load = 1.5 - 0.2 * memory.alpha
        memory = control.step(memory, load)
    assert load == pytest.approx(setpoint, abs=1e-3)


def test_the_threshold_is_mean_and_deviation_by_alpha() -> None:
    sizes = np.array([50.0, 100.0, 150.0])
    memory = SplittingMemory(alpha=2.0)
    expected = (100 + np.sqrt(5000 / 3)) / 2
    assert SplittingControl().threshold(memory, sizes, closed_panes=9) == pytest.approx(expected)


@given(SIZES, st.floats(0.1, 20), st.floats(0.1, 20))
def test_a_larger_alpha_never_raises_the_threshold(sizes: list[float], a: float, b: float) -> None:
    control = SplittingControl()
    few = control.threshold(SplittingMemory(alpha=min(a, b)), sizes, 5)
    many = control.threshold(SplittingMemory(alpha=max(a, b)), sizes, 5)
    assert few is not None
    assert many is not None
    assert few >= many >= 1.0


def test_nothing_is_split_before_the_sixth_pane() -> None:
    control, memory = SplittingControl(), SplittingMemory(alpha=20.0)
    assert control.threshold(memory, [10.0] * 4, closed_panes=4) is None
    assert control.threshold(memory, [10.0] * 5, closed_panes=5) == 1.0
    assert control.threshold(memory, [], closed_panes=50) is None


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"setpoint": 0.0}, r"setpoint of pane splitting must be in \(0, 1\], got 0"),
        ({"setpoint": 1.3}, "got 1.3"),
        ({"setpoint": nan}, "got nan"),
        ({"period": 0.0}, "period of pane splitting must be above 0, got 0"),
        ({"period": inf}, "got inf"),
        ({"kp": nan}, "kp of pane splitting must be 0 or more and finite, got nan"),
        ({"kd": -2.0}, "kd of pane splitting must be 0 or more, got -2"),
        ({"most": 0.0}, "most of pane splitting must be above 0"),
        ({"low": 0.0}, "low of pane splitting must be above 0"),
        ({"low": 3.0, "high": 2.0}, "low of pane splitting must be below its high, got 3 and 2"),
        ({"high": inf}, "high of pane splitting must be above 0 and finite, got inf"),
        ({"panes": 0}, "panes of pane splitting must be 1 or more, got 0"),
    ],
)
def test_refuses_what_could_not_regulate(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        SplittingControl(**settings)


def test_refuses_a_negative_load() -> None:
    with pytest.raises(SettingError, match=r"must be 0 or more, got -0\.5"):
        SplittingControl().step(SplittingMemory(), -0.5)


@pytest.mark.parametrize("period", [3.0, 2.500001])
def test_refuses_to_sample_less_often_than_it_decides(period: float) -> None:
    with pytest.raises(SettingError, match="must be at most the control interval"):
        check_period(period, 2.5)


def test_may_sample_as_often_as_it_decides() -> None:
    check_period(2.5, 2.5)


def test_a_changed_copy_regulates_by_its_own_settings() -> None:
    other = replace(SplittingControl(), setpoint=0.7)
    assert after(other, [0.7]).alpha == 1.0
    assert other != SplittingControl()
