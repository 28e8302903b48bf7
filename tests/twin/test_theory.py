"""The twin against queueing theory: theory must lie in the 99 % confidence interval of 40 runs."""

from math import factorial, log

import numpy as np
import pytest
from numpy.typing import NDArray

from penstock.core.graph import FlowGraph, Module, Stream
from penstock.twin import Totals, Twin
from tests.support.twins import SEEDS, Constant, assert_agrees

Array = NDArray[np.float64]


def settled(
    graph: FlowGraph, rate: float, seed: int, seconds: float = 100_000.0
) -> dict[str, Totals]:
    """Totals of a run without its first tenth, in which the queues fill."""
    twin = Twin(graph, Constant(rate), step=seconds / 10, duration=seconds, seed=seed)
    readings = twin.readings()
    next(readings)
    filled = twin.totals()
    for _ in readings:
        pass
    return {name: totals - filled[name] for name, totals in twin.totals().items()}


def station(name: str = "only", **settings: float) -> Module:
    return Module(name=name, service_time=1.0, **settings)  # type: ignore[arg-type]


def erlang_c(servers: int, load: float) -> float:
    """Probability that a row of an M/M/c has to wait."""
    waiting = load**servers / factorial(servers) * servers / (servers - load)
    return waiting / (sum(load**k / factorial(k) for k in range(servers)) + waiting)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.75])
def test_waiting_time_of_exponential_service_is_that_of_an_mm1(load: float) -> None:
    graph = FlowGraph(source="only", modules=(station(service_cv=1.0),))
    runs = [settled(graph, load, seed)["only"] for seed in SEEDS]
    assert_agrees([run.waiting_time for run in runs], load / (1 - load))
    assert_agrees([run.sojourn_time for run in runs], 1 / (1 - load))
    assert_agrees([run.mean_rows for run in runs], load / (1 - load))
    assert_agrees([run.utilisation for run in runs], load)


def test_waiting_time_of_fixed_service_is_that_of_an_md1() -> None:
    graph = FlowGraph(source="only", modules=(station(),))
    runs = [settled(graph, 0.75, seed)["only"] for seed in SEEDS]
    assert_agrees([run.waiting_time for run in runs], 0.75 / (2 * 0.25))


@pytest.mark.parametrize("cv", [0.5, 2.0])
def test_waiting_time_of_gamma_service_follows_pollaczek_and_khinchine(cv: float) -> None:
    graph = FlowGraph(source="only", modules=(station(service_cv=cv),))
    runs = [settled(graph, 0.6, seed)["only"] for seed in SEEDS]
    assert_agrees([run.waiting_time for run in runs], 0.6 / 0.4 * (1 + cv**2) / 2, 0.03)
    assert_agrees([run.service_time for run in runs], 1.0)
    assert_agrees([run.service_cv for run in runs], cv)


@pytest.mark.parametrize(("servers", "load"), [(2, 1.4), (5, 4.0), (16, 13.6)])
def test_waiting_time_of_several_servers_is_that_of_an_mmc(servers: int, load: float) -> None:
    graph = FlowGraph(source="only", modules=(station(service_cv=1.0, initial_replicas=servers),))
    runs = [settled(graph, load, seed, seconds=400_000.0 / load)["only"] for seed in SEEDS]
    assert_agrees([run.waiting_time for run in runs], erlang_c(servers, load) / (servers - load))


def test_stations_in_a_row_are_independent_mm1s_as_jackson_found() -> None:
    names = ("first", "second", "third")
    graph = FlowGraph(
        source="first",
        modules=tuple(station(name, service_cv=1.0) for name in names),
        streams=(Stream(origin="first", target="second"), Stream(origin="second", target="third")),
    )
    runs = [settled(graph, 0.7, seed) for seed in SEEDS]
    for name in names:
        assert_agrees([run[name].waiting_time for run in runs], 0.7 / 0.3)


def test_a_stream_that_parts_and_joins_again_is_a_jackson_network() -> None:
    graph = FlowGraph(
        source="root",
        modules=(
            station("root", service_cv=1.0),
            station("left", service_cv=1.0),
            station("right", service_cv=1.0),
            station("join", service_cv=1.0, initial_replicas=2),
        ),
        streams=(
            Stream(origin="root", target="left", probability=0.75),
            Stream(origin="root", target="right", probability=0.25),
            Stream(origin="left", target="join"),
            Stream(origin="right", target="join"),
        ),
    )
    runs = [settled(graph, 0.8, seed) for seed in SEEDS]
    assert_agrees([run["left"].waiting_time for run in runs], 0.6 / 0.4)
    assert_agrees([run["right"].waiting_time for run in runs], 0.2 / 0.8)
    assert_agrees([run["join"].waiting_time for run in runs], erlang_c(2, 0.8) / 1.2)


@pytest.mark.parametrize("buffer", [1, 4])
def test_a_full_buffer_between_two_stations_costs_throughput_as_theory_says(buffer: int) -> None:
    """With rows always waiting, the second of two equal stations is an M/M/1/(buffer + 2)."""
    graph = FlowGraph(
        source="first",
        modules=(
            station("first", service_cv=1.0),
            station("second", service_cv=1.0, buffer=buffer),
        ),
        streams=(Stream(origin="first", target="second"),),
    )
    runs = [settled(graph, 1.5, seed, seconds=6_000.0) for seed in SEEDS]
    share = (buffer + 2) / (buffer + 3)
    assert_agrees([run["second"].processed_rate for run in runs], share)
    assert_agrees([run["first"].utilisation for run in runs], share)


def test_rows_that_never_wait_take_the_quantiles_of_their_service_time() -> None:
    many = Module(
        name="only", service_time=1.0, service_cv=1.0, initial_replicas=99, max_replicas=99
    )
    twin = Twin(FlowGraph(source="only", modules=(many,)), Constant(5.0), step=2e5, duration=2e5)
    (seen,) = twin.readings()
    assert seen.latency is not None
    assert seen.latency.p50 == pytest.approx(log(2), rel=0.015)
    assert seen.latency.p95 == pytest.approx(log(20), rel=0.015)
    assert seen.latency.p99 == pytest.approx(log(100), rel=0.015)


def test_gamma_service_has_the_quantiles_of_numpys_gamma() -> None:
    many = Module(
        name="only", service_time=1.0, service_cv=2.0, initial_replicas=99, max_replicas=99
    )
    twin = Twin(FlowGraph(source="only", modules=(many,)), Constant(5.0), step=2e5, duration=2e5)
    (seen,) = twin.readings()
    assert seen.latency is not None
    drawn = np.random.default_rng(1).gamma(0.25, 4.0, 1_000_000)
    p50, p95, p99 = np.quantile(drawn, [0.5, 0.95, 0.99])
    assert seen.latency.p50 == pytest.approx(p50, rel=0.03)
    assert seen.latency.p95 == pytest.approx(p95, rel=0.03)
    assert seen.latency.p99 == pytest.approx(p99, rel=0.03)
