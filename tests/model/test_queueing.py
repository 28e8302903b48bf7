"""Waiting times by Kingman's formula, against theory and against queues drawn row by row."""

from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.model.queueing import Correction, corrected, response_time, waiting_time

ROWS = 400_000
loads = st.floats(0.01, 0.99)
times = st.floats(1e-6, 1e3)
variations = st.floats(0.0, 3.0)


def draws(rng: Generator, mean: float, cv: float, rows: int = ROWS) -> NDArray[np.float64]:
    """Gamma times; with no variation, all the same."""
    return np.full(rows, mean) if cv == 0.0 else rng.gamma(cv**-2, mean * cv**2, rows)


def drawn_wait(service: NDArray[np.float64], gaps: NDArray[np.float64]) -> float:
    """The mean wait by Lindley's recursion: each row waits for what the one before leaves over."""
    walk = np.concatenate(([0.0], np.cumsum(service[:-1] - gaps[1:])))
    return float((walk - np.minimum.accumulate(walk)).mean())


@given(load=loads, service_time=times)
def test_with_exponential_times_it_is_the_wait_of_m_m_1(load: float, service_time: float) -> None:
    rate = load / service_time
    wait = waiting_time(
        rate=rate,
        service_time=service_time,
        replicas=1,
        arrival_cv=1.0,
        service_cv=1.0,
        headroom=1.0,
    )
    assert wait == pytest.approx(rate * service_time / (1.0 / service_time - rate), rel=1e-9)


@given(load=loads, service_time=times)
def test_with_fixed_service_it_is_the_wait_of_m_d_1(load: float, service_time: float) -> None:
    wait = waiting_time(
        rate=load / service_time,
        service_time=service_time,
        replicas=1,
        arrival_cv=1.0,
        service_cv=0.0,
        headroom=1.0,
    )
    assert wait == pytest.approx(load * service_time / (2.0 * (1.0 - load)), rel=1e-9)


@given(load=loads, service_time=times, cv=variations)
def test_with_poisson_arrivals_it_is_pollaczek_and_khinchine(
    load: float, service_time: float, cv: float
) -> None:
    rate, second_moment = load / service_time, service_time**2 * (1.0 + cv**2)
    wait = waiting_time(
        rate=rate,
        service_time=service_time,
        replicas=1,
        arrival_cv=1.0,
        service_cv=cv,
        headroom=1.0,
    )
    assert wait == pytest.approx(rate * second_moment / (2.0 * (1.0 - load)), rel=1e-9)


@pytest.mark.parametrize("service_cv", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("load", [0.3, 0.6, 0.9])
def test_predicts_drawn_queues_within_a_quarter(load: float, service_cv: float) -> None:
    rng = default_rng(2016)
    measured = drawn_wait(draws(rng, 1.0, service_cv), draws(rng, 1.0 / load, 1.0))
    predicted = waiting_time(
        rate=load, service_time=1.0, replicas=1, arrival_cv=1.0, service_cv=service_cv, headroom=1.0
    )
    assert predicted == pytest.approx(measured, rel=0.25)


@pytest.mark.parametrize("arrival_cv", [0.5, 1.5])
@pytest.mark.parametrize("service_cv", [0.0, 0.5, 1.0])
def test_predicts_heavy_traffic_of_any_arrivals(arrival_cv: float, service_cv: float) -> None:
    rng = default_rng(7)
    measured = drawn_wait(draws(rng, 1.0, service_cv), draws(rng, 1.0 / 0.9, arrival_cv))
    predicted = waiting_time(
        rate=0.9,
        service_time=1.0,
        replicas=1,
        arrival_cv=arrival_cv,
        service_cv=service_cv,
        headroom=1.0,
    )
    assert predicted == pytest.approx(measured, rel=0.25)


@pytest.mark.parametrize("replicas", [2, 5, 12])
@pytest.mark.parametrize("arrival_cv", [0.5, 1.0])
def test_own_queues_predict_rows_that_are_routed_by_chance(
    replicas: int, arrival_cv: float
) -> None:
    rng = default_rng(11)
    arrivals = np.cumsum(draws(rng, 1.0 / (0.8 * replicas), arrival_cv))
    service, owners = draws(rng, 1.0, 0.5), rng.integers(0, replicas, ROWS)
    measured = np.mean(
        [
            drawn_wait(service[owners == i], np.diff(arrivals[owners == i], prepend=0.0))
            for i in range(replicas)
        ]
    )
    operator: dict[str, Any] = {
        "rate": 0.8 * replicas,
        "service_time": 1.0,
        "replicas": replicas,
        "arrival_cv": arrival_cv,
        "service_cv": 0.5,
        "headroom": 1.0,
    }
    assert waiting_time(**operator, own_queues=True) == pytest.approx(measured, rel=0.25)
    assert waiting_time(**operator) < measured / replicas * 1.25  # one server for all waits less


@given(
    rate=st.floats(0.0, 100.0),
    replicas=st.integers(1, 32),
    ratio=st.floats(0.5, 2.0),
    arrival_cv=variations,
    service_cv=variations,
    own=st.booleans(),
)
def test_more_replicas_or_a_faster_clock_never_wait_longer(
    rate: float, replicas: int, ratio: float, arrival_cv: float, service_cv: float, own: bool
) -> None:
    operator: dict[str, Any] = {
        "rate": rate,
        "service_time": 0.1,
        "arrival_cv": arrival_cv,
        "service_cv": service_cv,
    }
    wait = waiting_time(**operator, replicas=replicas, frequency_ratio=ratio)
    assert waiting_time(**operator, replicas=replicas + 1, frequency_ratio=ratio) <= wait
    slower = waiting_time(**operator, replicas=replicas, frequency_ratio=2.0 * ratio)
    assert slower >= wait >= 0.0
    assert response_time(**operator, replicas=replicas, own_queues=own) >= 0.1


def test_rows_that_come_faster_than_they_are_served_wait_for_ever() -> None:
    operator: dict[str, Any] = {"service_time": 0.1, "arrival_cv": 0.0, "service_cv": 0.0}
    assert waiting_time(rate=10.0, replicas=1, **operator) == inf
    assert waiting_time(rate=9.5, replicas=1, **operator) == inf  # the headroom is used up
    assert waiting_time(rate=9.5, replicas=1, headroom=1.0, **operator) == 0.0
    full = waiting_time(
        rate=2.0, service_time=0.5, replicas=1, arrival_cv=1.0, service_cv=0.0, headroom=1.0
    )
    assert full == inf
    assert response_time(rate=10.0, replicas=1, correction=0.0, **operator) == inf


def test_no_row_waits_where_none_arrives() -> None:
    assert (
        waiting_time(rate=0.0, service_time=0.1, replicas=1, arrival_cv=1.0, service_cv=1.0) == 0.0
    )


def test_the_headroom_makes_replicas_fuller_than_they_are() -> None:
    with_headroom = waiting_time(
        rate=76.0, service_time=0.01, replicas=1, arrival_cv=1.0, service_cv=0.0
    )
    assert with_headroom == pytest.approx(0.8 / 0.2 * 0.5 * 0.01)  # 76 / 95 = 0.8 and not 0.76


@pytest.mark.parametrize("own_queues", [False, True])
def test_a_grid_holds_what_single_calls_tell(own_queues: bool) -> None:
    degrees, ratios = np.arange(1, 13)[:, None], 2.0 / np.linspace(1.2, 2.0, 9)
    operator: dict[str, Any] = {
        "rate": 500.0,
        "service_time": 0.01,
        "arrival_cv": 0.7,
        "service_cv": 0.3,
        "own_queues": own_queues,
    }
    grid = response_time(
        replicas=degrees, frequency_ratio=ratios[None, :], correction=1.3, **operator
    )
    assert grid.shape == (12, 9)
    for i, j in np.ndindex(grid.shape):
        one = response_time(
            replicas=i + 1, frequency_ratio=float(ratios[j]), correction=1.3, **operator
        )
        assert isinstance(one, float)
        assert one == grid[i, j]
    assert np.isinf(grid).any()
    assert np.isfinite(grid).any()


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("rate", -1.0),
        ("rate", nan),
        ("rate", inf),
        ("service_time", -0.1),
        ("replicas", 0),
        ("replicas", np.array([2, 0])),
        ("arrival_cv", nan),
        ("service_cv", -1.0),
        ("frequency_ratio", 0.0),
        ("headroom", 0.0),
        ("headroom", 1.1),
    ],
)
def test_refuses_what_no_queue_has(setting: str, value: object) -> None:
    sound: dict[str, Any] = {
        "rate": 1.0,
        "service_time": 0.1,
        "replicas": 1,
        "arrival_cv": 1.0,
        "service_cv": 1.0,
    }
    with pytest.raises(SettingError, match=rf"{setting} must be .*, got"):
        waiting_time(**{**sound, setting: value})


def test_the_correction_is_one_until_it_has_learnt() -> None:
    assert Correction().factor == 1.0


def test_the_correction_is_the_mean_of_the_last_three_ratios() -> None:
    correction = Correction()
    for measured in (9.0, 2.0, 4.0, 6.0):
        correction.update(measured=measured, predicted=2.0)
    assert correction.factor == pytest.approx((1.0 + 2.0 + 3.0) / 3.0)


@pytest.mark.parametrize(
    ("measured", "predicted"),
    [
        (None, 1.0),
        (1.0, None),
        (nan, 1.0),
        (1.0, nan),
        (1.0, 0.0),
        (0.0, 0.0),
        (1.0, inf),
        (inf, 1.0),
        (inf, inf),
        (-1.0, 1.0),
        (1.0, -1.0),
        (1e300, 1e-300),
    ],
)
def test_what_cannot_be_compared_teaches_nothing(
    measured: float | None, predicted: float | None
) -> None:
    correction = Correction()
    correction.update(measured=3.0, predicted=2.0)
    correction.update(measured=measured, predicted=predicted)
    assert correction.factor == 1.5


@given(st.lists(st.tuples(st.floats(), st.floats()), max_size=8))
def test_the_correction_always_is_a_number(steps: list[tuple[float, float]]) -> None:
    correction = Correction()
    for measured, predicted in steps:
        correction.update(measured=measured, predicted=predicted)
    assert 0.0 <= correction.factor < inf


def test_feedback_brings_one_server_for_all_to_the_wait_of_own_queues() -> None:
    operator: dict[str, Any] = {
        "rate": 30.0,
        "service_time": 0.1,
        "replicas": 4,
        "arrival_cv": 1.0,
        "service_cv": 0.5,
    }
    measured, correction = waiting_time(**operator, own_queues=True), Correction()
    for _ in range(3):
        correction.update(measured=measured, predicted=waiting_time(**operator))
    assert corrected(waiting_time(**operator), correction.factor) == pytest.approx(measured)


def test_refuses_a_correction_that_averages_nothing() -> None:
    with pytest.raises(SettingError, match="window of a correction must be 1 or more, got 0"):
        Correction(window=0)
