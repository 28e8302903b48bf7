"""Forecasters agree with statsmodels on published series: states, and forecasts far ahead.

Its seasonal weight is our `c` times `1 - a`. `ExponentialSmoothing` is asked for less than a
period: up to 0.15 its forecast of a whole period ahead takes the season of a period ago.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from statsmodels import datasets
from statsmodels.tsa.exponential_smoothing.ets import ETSModel
from statsmodels.tsa.holtwinters import ExponentialSmoothing, SimpleExpSmoothing
from statsmodels.tsa.holtwinters import Holt as ReferenceHolt

from penstock.core.roles import Forecaster
from penstock.forecast import Ewma, Holt, HoltWinters

Floats = NDArray[np.float64]


def nile() -> Floats:
    """Flow of the river at Aswan, by year."""
    return np.asarray(datasets.nile.load_pandas().data["volume"], dtype=float)


def sunspots() -> Floats:
    """Spots on the sun, by year; none in some."""
    return np.asarray(datasets.sunspots.load_pandas().data["SUNACTIVITY"], dtype=float)


def output() -> Floats:
    """Gross domestic product of the United States, by quarter."""
    return np.asarray(datasets.macrodata.load_pandas().data["realgdp"], dtype=float)


def sea() -> Floats:
    """Temperature of the Pacific, by month."""
    return np.asarray(datasets.elnino.load_pandas().data.iloc[:, 1:], dtype=float).ravel()


def air() -> Floats:
    """Carbon dioxide over Mauna Loa, by week, the weeks that were measured."""
    return np.asarray(datasets.co2.load_pandas().data["co2"].dropna(), dtype=float)


def agree(ours: Floats, theirs: Floats) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def name(part: Any) -> str | None:
    return getattr(part, "__name__", None)


def after_each(forecaster: Forecaster, values: Floats, state: Callable[[], object]) -> Floats:
    """The state after each of the values."""
    history = []
    for value in values:
        forecaster.update(float(value))
        history.append(state())
    return np.array(history)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("series", [nile, sunspots, air], ids=name)
def test_ewma_is_simple_exponential_smoothing(series: Callable[[], Floats], alpha: float) -> None:
    values, ours = series(), Ewma(alpha=alpha)
    known = {"initialization_method": "known", "initial_level": values[0]}
    theirs = SimpleExpSmoothing(values, **known).fit(smoothing_level=alpha, optimized=False)
    levels = after_each(ours, values, lambda: ours.level)
    agree(levels, theirs.level)
    agree(ours.forecast(5), theirs.forecast(5))


@pytest.mark.parametrize(("a", "b"), [(0.67, 0.26), (1.0, 0.015), (0.2, 0.9), (0.5, 0.0)])
@pytest.mark.parametrize("series", [nile, sunspots, output, air], ids=name)
def test_holt_is_holts_linear_method(series: Callable[[], Floats], a: float, b: float) -> None:
    values, ours = series(), Holt(a=a, b=b)
    theirs = ReferenceHolt(
        values, initialization_method="known", initial_level=values[0], initial_trend=0.0
    ).fit(smoothing_level=a, smoothing_trend=b, optimized=False)
    states = after_each(ours, values, lambda: (ours.level, ours.trend, ours.forecast(1)[0]))
    agree(states[:, 0], theirs.level)
    agree(states[:, 1], theirs.trend)
    agree(states[:-1, 2], theirs.fittedvalues[1:])
    agree(ours.forecast(20), theirs.forecast(20))


def begun(values: Floats, season: str, period: int) -> dict[str, Any]:
    """The states in which a first period leaves Holt-Winters, as the reference takes them."""
    mean = values[:period].mean()
    terms = values[:period] - mean if season == "additive" else values[:period] / mean
    return {
        "initialization_method": "known",
        "initial_level": mean,
        "initial_trend": 0.0,
        "initial_seasonal": terms,
    }


SEASONAL = pytest.mark.parametrize(
    ("series", "period"), [(output, 4), (sea, 12), (air, 52), (sunspots, 11)], ids=name
)


@pytest.mark.parametrize(
    ("a", "b", "c"), [(0.67, 0.26, 0.5), (0.1, 0.05, 0.3), (1.0, 0.015, 1.0), (0.3, 0.0, 0.0)]
)
@pytest.mark.parametrize("season", ["additive", "multiplicative"])
@SEASONAL
def test_holt_winters_is_the_seasonal_method(
    series: Callable[[], Floats], period: int, season: str, a: float, b: float, c: float
) -> None:
    values = series() + (100.0 if series is sunspots else 0.0)  # a factor of zero has no reference
    ours = HoltWinters(a=a, b=b, c=c, period=period, season=season)
    weights = {"smoothing_level": a, "smoothing_trend": b, "smoothing_seasonal": c * (1 - a)}
    theirs = ExponentialSmoothing(
        values[period:],
        trend="add",
        seasonal=season[:3],
        seasonal_periods=period,
        **begun(values, season, period),
    ).fit(**weights, optimized=False)
    after_each(ours, values[:period], tuple)
    states = after_each(
        ours,
        values[period:],
        lambda: (ours.level, ours.trend, ours.terms[-1], ours.forecast(1)[0]),
    )
    agree(states[:, 0], theirs.level)
    agree(states[:, 1], theirs.trend)
    agree(states[:, 2], theirs.season)
    agree(states[:-1, 3], theirs.fittedvalues[1:])
    steps = np.arange(1, 3 * period + 1)
    terms = np.resize(theirs.season[-period:], steps.shape)
    lines = theirs.level[-1] + theirs.trend[-1] * steps
    agree(ours.forecast(3 * period), lines + terms if season == "additive" else lines * terms)
    agree(ours.forecast(period - 1), theirs.forecast(period - 1))


@pytest.mark.parametrize(("a", "b", "c"), [(0.67, 0.26, 0.5), (0.1, 0.05, 0.3), (0.3, 0.0, 0.0)])
@SEASONAL
def test_holt_winters_foresees_periods_ahead_as_a_state_space_model(
    series: Callable[[], Floats], period: int, a: float, b: float, c: float
) -> None:
    values = series()[: 5 * period + 3]
    ours = HoltWinters(a=a, b=b, c=c, period=period)
    after_each(ours, values, tuple)
    first = begun(values, "additive", period)
    model = ETSModel(values[period:], trend="add", seasonal="add", seasonal_periods=period, **first)
    weights = [a, a * b, c * (1 - a)]  # of the error, in level, trend and season
    newest_first = first["initial_seasonal"][::-1]
    theirs = model.smooth([*weights, first["initial_level"], 0.0, *newest_first])
    agree(ours.forecast(3 * period), theirs.forecast(3 * period))
