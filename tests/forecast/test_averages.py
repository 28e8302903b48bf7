"""Forecasters: what will come."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.core.settings import build, choose
from penstock.forecast import FORECASTERS, Ewma, Last

rates = st.lists(st.floats(0.0, 1e9), min_size=1, max_size=50)


@given(rates)
def test_last_foresees_the_newest_value(values: list[float]) -> None:
    foresight = Last()
    for value in values:
        foresight.update(value)
    assert foresight.forecast(3).tolist() == [values[-1]] * 3


@given(rates, st.floats(0.01, 1.0))
def test_ewma_is_the_weighted_sum_that_its_name_says(values: list[float], alpha: float) -> None:
    foresight = Ewma(alpha=alpha)
    for value in values:
        foresight.update(value)
    age = np.arange(len(values))[::-1]
    weights = alpha * (1 - alpha) ** age
    weights[0] = (1 - alpha) ** age[0]  # the first value stands for all before it
    assert weights.sum() == pytest.approx(1.0)
    assert foresight.forecast(1)[0] == pytest.approx(weights @ np.array(values), abs=1e-3)


@given(rates, st.floats(0.01, 1.0))
def test_ewma_never_leaves_the_range_of_what_it_saw(values: list[float], alpha: float) -> None:
    foresight = Ewma(alpha=alpha)
    for value in values:
        foresight.update(value)
    assert min(values) - 1e-6 <= foresight.forecast(1)[0] <= max(values) + 1e-6


def test_an_ewma_that_only_weighs_the_newest_is_last() -> None:
    foresight = Ewma(alpha=1.0)
    for value in (3.0, 7.0):
        foresight.update(value)
    assert foresight.forecast(2).tolist() == [7.0, 7.0]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("kind", sorted(FORECASTERS))
def test_a_value_that_was_not_measured_teaches_nothing(kind: str, value: float) -> None:
    foresight = FORECASTERS[kind]()
    foresight.update(value)
    assert np.isnan(foresight.forecast(1)).all()
    foresight.update(300.0)
    foresight.update(value)
    assert foresight.forecast(1).tolist() == [300.0]


@pytest.mark.parametrize("alpha", [0.0, -1.0, 1.1, float("nan")])
def test_a_weight_that_does_not_average_is_refused(alpha: float) -> None:
    with pytest.raises(SettingError, match=r"alpha of forecaster ewma must be in \(0, 1\]"):
        Ewma(alpha=alpha)


def test_forecasters_are_built_from_settings() -> None:
    kind = choose(FORECASTERS, "ewma", of="forecaster")
    assert build(kind, {"alpha": "0.3"}, of="forecaster ewma") == Ewma(alpha=0.3)
    assert build(FORECASTERS["last"], {}, of="forecaster last").forecast(2).shape == (2,)
