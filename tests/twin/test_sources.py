"""How gaps and service times scatter on the twin, and how many rows it takes on."""

from math import sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from penstock.core.errors import PlantError, SettingError
from penstock.core.graph import FlowGraph, Module, Stream
from penstock.twin import Twin
from penstock.twin.sources import NORMAL_CV, Arrivals
from penstock.twin.state import MOST_ROWS, build, more_rows
from penstock.workload import Constant, Daily, parse

Array = NDArray[np.float64]


def single(**settings: float) -> FlowGraph:
    return FlowGraph(source="only", modules=(Module(name="only", **settings),))  # type: ignore[arg-type]


def gaps(kind: str, rows: int, rate: float = 4.0, seed: int = 1) -> Array:
    """Seconds between the rows of a constant rate."""
    arrivals = Arrivals(Constant(rate), kind, 2.0 * rows / rate, np.random.default_rng(seed))
    moments = np.concatenate([arrivals.next_chunk() for _ in range(rows // 8192 + 1)])
    return np.diff(moments, prepend=0.0)


@pytest.mark.parametrize(("kind", "cv"), [("even", 0.0), ("poisson", 1.0), ("normal", NORMAL_CV)])
def test_gaps_have_the_mean_of_the_workload_and_the_variation_of_their_kind(
    kind: str, cv: float
) -> None:
    found = gaps(kind, rows=400_000)
    margin = 2.58 * 0.25 * cv / sqrt(len(found))
    assert abs(found.mean() - 0.25) <= margin + 1e-9
    assert found.std() / 0.25 == pytest.approx(cv, rel=0.01, abs=1e-6)


def test_normal_gaps_are_never_negative_and_lie_as_a_normal_law_says() -> None:
    found = gaps("normal", rows=400_000) / 0.25
    assert found.min() == 0.0  # about four in ten thousand would have been negative
    assert np.mean(found == 0.0) == pytest.approx(4.3e-4, rel=0.3)
    one, two = (np.mean(np.abs(found - 1.0) < k * NORMAL_CV) for k in (1, 2))
    assert (one, two) == pytest.approx((0.6827, 0.9545), abs=0.003)


def test_normal_gaps_follow_a_rate_that_changes() -> None:
    workload = Daily(low=2.0, high=20.0, period=600.0)
    twin = Twin(single(), workload, step=60.0, duration=600.0, arrivals="normal", seed=3)
    counts = np.array([(s.modules["only"].arrival_rate or 0.0) * 60.0 for s in twin.readings()])
    expected = np.diff(workload.arrivals(np.arange(0.0, 601.0, 60.0)))
    assert np.all(np.abs(counts - expected) < 4.0 * NORMAL_CV * np.sqrt(expected) + 1.0)


@pytest.mark.parametrize("cv", [0.1, 0.3, 0.4])
def test_normal_service_times_have_the_mean_and_the_variation_asked_for(cv: float) -> None:
    graph = single(service_time=2.0, service_cv=cv, initial_replicas=20)
    twin = Twin(graph, Constant(5.0), step=40_000.0, duration=40_000.0, service="normal")
    (seen,) = twin.readings()
    module = seen.modules["only"]
    assert module.service_time == pytest.approx(2.0, abs=2.58 * 2.0 * cv / sqrt(200_000))
    assert module.service_cv == pytest.approx(cv, rel=0.015)


def test_normal_service_times_have_the_quantiles_of_a_normal_law() -> None:
    """Rows that never wait stay as long as they are served."""
    many = Module(
        name="only", service_time=1.0, service_cv=0.3, initial_replicas=99, max_replicas=99
    )
    graph = FlowGraph(source="only", modules=(many,))
    twin = Twin(graph, Constant(5.0), step=1e5, duration=1e5, service="normal")
    (seen,) = twin.readings()
    assert seen.latency is not None
    assert seen.latency.p50 == pytest.approx(1.0, rel=0.01)
    assert seen.latency.p95 == pytest.approx(1.0 + 0.3 * 1.6449, rel=0.01)
    assert seen.latency.p99 == pytest.approx(1.0 + 0.3 * 2.3263, rel=0.01)


def test_waiting_behind_normal_service_follows_pollaczek_and_khinchine() -> None:
    """M/G/1 asks for two moments only, so normal and gamma wait alike."""
    graph = single(service_time=1.0, service_cv=0.3)
    waits = []
    for seed in range(20):
        twin = Twin(graph, Constant(0.6), step=5e4, duration=5e4, seed=seed, service="normal")
        list(twin.readings())
        waits.append(twin.totals()["only"].waiting_time)
    mean, margin = np.mean(waits), 2.861 * np.std(waits, ddof=1) / sqrt(20)  # type: ignore[arg-type]
    theory = 0.6 / 0.4 * (1 + 0.3**2) / 2
    assert margin < 0.03 * theory
    assert abs(mean - theory) < margin


def test_a_law_of_service_times_that_there_is_not_is_refused() -> None:
    with pytest.raises(SettingError, match="no law of service times 'norml'; did you mean 'norma"):
        Twin(single(), Constant(1.0), step=1.0, duration=1.0, service="norml")


def test_normal_service_times_that_would_often_be_negative_are_refused() -> None:
    with pytest.raises(
        SettingError, match=r"service_cv of module only must be .* to 0.4 on the tw"
    ):
        Twin(single(service_cv=0.5), Constant(1.0), step=1.0, duration=1.0, service="normal")


def test_more_rows_than_can_be_simulated_in_an_hour_or_so_are_refused() -> None:
    graph = FlowGraph(
        source="a",
        modules=(Module(name="a"), Module(name="b")),
        streams=(Stream(origin="a", target="b", selectivity=3.0),),
    )
    message = (
        r"brings 3.6e\+15 rows in 3600 s, 1.44e\+16 at all modules .* lower the rate or the dur"
    )
    with pytest.raises(SettingError, match=message):
        Twin(graph, parse("constant:1e12/s"), step=60.0, duration=3600.0)


def test_a_backlog_that_would_fill_the_memory_ends_in_a_sentence() -> None:
    state = build(single(), np.random.SeedSequence(1), "gamma")
    full = state._replace(rows=state.rows[:0])
    full.clock["reserve"] = MOST_ROWS
    with pytest.raises(PlantError, match="the twin holds at most 67,108,864; lower the rate"):
        more_rows(full)
