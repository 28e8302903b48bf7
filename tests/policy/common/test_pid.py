"""The regulator: its law step by step, its bounds, and that it settles."""

from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.policy.common.pid import Pid, PidMemory

MEASURED = st.floats(-1e6, 1e6)
GAIN = st.floats(0, 100)


def outputs(pid: Pid, measured: list[float]) -> list[float]:
    memory, found = PidMemory(), []
    for seen in measured:
        memory, out = pid.step(memory, seen)
        found.append(out)
    return found


def test_adds_up_error_its_sum_and_the_change() -> None:
    pid = Pid(setpoint=1.0, kp=2.0, ki=0.5, kd=3.0, low=-10, high=10)
    assert outputs(pid, [0.0, 0.5, 1.5]) == pytest.approx(
        [2 * 1.0 + 0.5, 2 * 0.5 + 0.75 - 3 * 0.5, 2 * -0.5 + 0.5 - 3 * 1.0]
    )


def test_no_change_is_seen_at_the_first_step() -> None:
    assert outputs(Pid(setpoint=5.0, kp=0.0, kd=2.0, low=-9, high=9), [100.0]) == [0.0]


@given(MEASURED, GAIN, GAIN, GAIN, st.lists(MEASURED, max_size=30))
def test_never_leaves_the_bounds(
    setpoint: float, kp: float, ki: float, kd: float, measured: list[float]
) -> None:
    pid = Pid(setpoint=setpoint, kp=kp, ki=ki, kd=kd, low=-0.3, high=0.2)
    memory = PidMemory()
    for seen in measured:
        memory, out = pid.step(memory, seen)
        assert -0.3 <= out <= 0.2
        assert -0.3 <= memory.integral <= 0.2


@given(st.lists(MEASURED, max_size=20))
def test_reverse_is_the_mirror_image(measured: list[float]) -> None:
    ahead = Pid(setpoint=0.9, kp=1.8, ki=0.1, kd=2.0, low=-0.3, high=0.3)
    back = Pid(setpoint=0.9, kp=1.8, ki=0.1, kd=2.0, low=-0.3, high=0.3, reverse=True)
    assert outputs(back, measured) == [-out for out in outputs(ahead, measured)]


def test_a_long_error_does_not_wind_up_the_integral() -> None:
    pid = Pid(setpoint=0.0, kp=0.0, ki=0.1, low=-1.0, high=1.0)
    *_, still, turned = outputs(pid, [-1.0] * 1000 + [1.0])
    assert still == 1.0
    assert turned == pytest.approx(0.9)


@pytest.mark.parametrize("wanted", [-3.0, 0.5, 4.0])
def test_settles_where_only_the_integral_can_hold(wanted: float) -> None:
    pid, memory, level = Pid(setpoint=wanted, kp=0.4, ki=0.2, low=-9, high=9), PidMemory(), 0.0
    for _ in range(200):
        memory, out = pid.step(memory, level)
        level = 0.5 * level + 0.5 * (out - 1.0)  # a lag, with a steady disturbance
    assert level == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kp": nan}, "kp of a PID must be a finite number, got nan"),
        ({"ki": inf}, "ki of a PID must be a finite number, got inf"),
        ({"setpoint": -inf}, "setpoint of a PID must be a finite number, got -inf"),
        ({"high": inf}, "high of a PID must be a finite number, got inf"),
        ({"kd": -2.0}, "kd of a PID must be 0 or more, got -2; to act the other way round, set"),
        ({"low": 2.0}, "low of a PID must be at most high, got 2 and 1; swap them"),
    ],
)
def test_refuses_what_cannot_settle(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Pid(**{"setpoint": 0.5, "kp": 1.0, "low": -1.0, "high": 1.0, **settings})
