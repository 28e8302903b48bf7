"""Forecasts that must prove themselves, and forecasters by name."""

from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from math import nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.core.roles import Forecaster
from penstock.forecast import FORECASTERS, Ewma, Holt, HoltWinters, MovingAverage, Trusted, make
from penstock.testing import check_forecaster

rates = st.lists(st.floats(0.0, 1e6), min_size=1, max_size=40)


@dataclass
class Share:
    """Foresees a share of the last value: wrong by as much as one likes."""

    share: float
    _last: float = field(default=nan, init=False, repr=False)

    def update(self, value: float, /) -> None:
        self._last = value

    def forecast(self, steps: int, /) -> NDArray[np.float64]:
        return np.full(steps, self.share * self._last)


class Shortsighted(Share):
    """Foresees one step, and no further."""

    def forecast(self, steps: int, /) -> NDArray[np.float64]:
        return np.where(np.arange(steps) < 1, super().forecast(steps), nan)


def taught(forecaster: Trusted, values: Iterable[float]) -> Trusted:
    for value in values:
        forecaster.update(value)
    return forecaster


def test_a_forecast_that_comes_true_is_passed_on() -> None:
    ramp = [100.0 * step for step in range(1, 40)]
    holt = Holt()
    for rate in ramp:
        holt.update(rate)
    gate = taught(Trusted(Holt()), ramp)
    assert gate.trusts
    assert gate.why == "forecast trusted, recent error 0 %"
    assert gate.forecast(3).tolist() == holt.forecast(3).tolist()


def test_a_forecast_that_was_far_off_gives_way_to_the_last_value() -> None:
    gate = taught(Trusted(Share(1.5)), [100.0] * 5 + [200.0] * 15)
    assert not gate.trusts
    assert gate.forecast(3).tolist() == [200.0] * 3
    assert gate.why == "forecast not trusted, recent error 50 %: the last rate is used"


@pytest.mark.parametrize(("share", "trusts"), [(1.2, True), (1.3, False), (0.8, True)])
def test_the_tolerance_decides(share: float, trusts: bool) -> None:
    assert taught(Trusted(Share(share), tolerance=0.25), [100.0] * 20).trusts is trusts


def test_a_forecaster_is_on_trial_at_first() -> None:
    gate = taught(Trusted(Share(1.1), trial=3), [100.0, 100.0])
    assert gate.why == "forecast not trusted, on trial for 2 more steps: the last rate is used"
    assert gate.forecast(2).tolist() == [100.0, 100.0]
    assert "on trial for 1 more step:" in taught(gate, [100.0]).why
    assert taught(gate, [100.0]).trusts


def test_trust_comes_back_when_the_misses_have_left_the_window() -> None:
    gate = taught(Trusted(Ewma(), window=5), [100.0] * 10)
    assert not taught(gate, [1000.0]).trusts
    assert taught(gate, [1000.0] * 10).trusts


def test_a_fall_that_is_only_foreseen_is_limited_in_the_first_step() -> None:
    gate = taught(Trusted(Share(0.8), floor=0.9), [100.0] * 20)
    assert gate.trusts
    np.testing.assert_allclose(gate.forecast(3), [90.0, 80.0, 80.0])
    assert gate.why == (
        "forecast trusted, recent error 20 %; its decrease limited to 90 % of the last rate"
    )


@given(rates, st.floats(0.0, 1.0), st.floats(0.01, 2.0))
def test_no_forecast_lies_below_its_floor(
    values: list[float], floor: float, tolerance: float
) -> None:
    gate = Trusted(Holt(a=1.0, b=1.0), floor=floor, tolerance=tolerance)
    for value in values:
        gate.update(value)
        ahead = gate.forecast(4)
        assert ahead[0] >= floor * value
        assert (ahead >= 0.0).all()


@given(rates, st.floats(0.01, 2.0))
def test_what_is_not_trusted_is_the_last_value(values: list[float], tolerance: float) -> None:
    gate = taught(Trusted(HoltWinters(period=3), tolerance=tolerance), values)
    if not gate.trusts:
        assert gate.forecast(3).tolist() == [values[-1]] * 3
        assert "not trusted" in gate.why


def test_a_forecaster_that_foresees_no_number_is_not_trusted() -> None:
    gate = taught(Trusted(Share(1.0)), [100.0] * 10 + [nan])
    assert gate.why == "forecast not trusted, it predicts no number: the last rate is used"
    assert gate.forecast(2).tolist() == [100.0, 100.0]


def test_steps_that_are_not_foreseen_are_the_last_value() -> None:
    gate = taught(Trusted(Shortsighted(1.1)), [100.0] * 10)
    assert gate.forecast(1).tolist() == pytest.approx([110.0])
    assert gate.forecast(2).tolist() == [100.0, 100.0]


def test_a_load_that_stops_is_reported_without_a_percentage() -> None:
    gate = taught(Trusted(Ewma(), window=3), [100.0] * 5 + [0.0] * 5)
    assert gate.why == "forecast not trusted, recent error more than all: the last rate is used"
    assert gate.forecast(1).tolist() == [0.0]


def test_copies_of_a_gate_live_apart() -> None:
    gate = taught(Trusted(Ewma()), [100.0] * 10)
    taught(deepcopy(gate), [1e6] * 10)
    assert gate == taught(Trusted(Ewma()), [100.0] * 10)
    assert gate.forecast(1).tolist() == [100.0]
    assert repr(gate) == repr(Trusted(Ewma()))


@pytest.mark.parametrize("kind", sorted(FORECASTERS))
def test_every_forecaster_can_be_gated(kind: str) -> None:
    check_forecaster(lambda: Trusted(make(kind), trial=1, window=5))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Trusted(tolerance=0.0), "tolerance .*trusted must be above 0, got 0"),
        (lambda: Trusted(tolerance=nan), "tolerance .*trusted must be above 0, got nan"),
        (lambda: Trusted(window=0), "window .*trusted must be 1 or more, got 0"),
        (lambda: Trusted(window=5, trial=6), "trial .*trusted must be 1 to 5, got 6"),
        (lambda: Trusted(floor=1.5), r"floor .*trusted must be in \[0, 1\], got 1.5"),
        (lambda: Trusted("holt"), "forecaster .*trusted must be a forecaster, got 'holt'"),  # type: ignore[arg-type]
    ],
)
def test_a_gate_that_cannot_be_is_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        build()


# By name


@pytest.mark.parametrize(
    ("name", "settings", "made"),
    [
        ("moving_average", {"window": "5"}, MovingAverage(window=5)),
        ("holt", {"a": 1, "b": "0.015"}, Holt(a=1.0, b=0.015)),
        ("holt-winters", {"period": 24, "season": "multiplicative"}, None),
        ("trusted", {"tolerance": 0.1}, Trusted(Holt(), tolerance=0.1)),
        ("trusted", {"forecaster": "ewma"}, Trusted(Ewma())),
        ("trusted", {"forecaster": {"ewma": None}}, Trusted(Ewma())),
        ("trusted", {"forecaster": {"holt": {"a": 1}}}, Trusted(Holt(a=1.0))),
        ("trusted", {"forecaster": Holt(b=0.0), "trial": 1}, Trusted(Holt(b=0.0), trial=1)),
    ],
)
def test_a_forecaster_is_made_from_its_name(
    name: str, settings: dict[str, object], made: Forecaster | None
) -> None:
    assert make(name, settings) == (made or HoltWinters(period=24, season="multiplicative"))


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("hold", {}, "there is no forecaster 'hold'; did you mean 'holt'"),
        ("holt", {"alpha": 1}, "forecaster holt has no setting 'alpha'; there are a, b"),
        ("holt-winters", {"period": 2.5}, "period of forecaster holt-winters must be a whole"),
        ("trusted", {"forecaster": "hold"}, "there is no forecaster 'hold'"),
        ("trusted", {"forecaster": {"ewma": {"beta": 1}}}, "forecaster ewma has no setting 'beta'"),
        ("trusted", {"forecaster": 3}, "must be a name, alone or with settings .*, got 3"),
        ("trusted", {"forecaster": {}}, "must be a name, alone or with settings .*, got {}"),
    ],
)
def test_a_forecaster_that_cannot_be_made_is_refused(
    name: str, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(SettingError, match=message):
        make(name, settings)
