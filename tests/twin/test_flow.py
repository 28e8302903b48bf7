"""Rows on their way through the twin: none is lost, and full buffers hold them back."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.signals import Configuration, Decision
from penstock.twin import Twin
from tests.support.twins import Constant


def chain(*modules: Module, selectivity: float = 1.0) -> FlowGraph:
    return FlowGraph(
        source=modules[0].name,
        modules=modules,
        streams=tuple(
            Stream(origin=a.name, target=b.name, selectivity=selectivity)
            for a, b in pairwise(modules)
        ),
    )


def run(graph: FlowGraph, workload: Constant, seconds: float, arrivals: str = "even") -> Twin:
    twin = Twin(graph, workload, step=seconds, duration=seconds, arrivals=arrivals)
    for _ in twin.readings():
        pass
    return twin


modules = st.builds(
    Module,
    name=st.just(""),
    service_time=st.sampled_from([0.0, 0.01, 0.05, 0.4]),
    service_cv=st.sampled_from([0.0, 0.5, 1.0, 2.0]),
    buffer=st.sampled_from([1, 2, 7, float("inf")]),
    trigger=st.sampled_from([0.0, 0.0, 0.3, 1.0]),
    overhead=st.sampled_from([0.0, 0.1, 2.0]),
    start_up=st.sampled_from([0.0, 0.7, 3.0]),
    initial_replicas=st.integers(1, 4),
    max_replicas=st.just(6),
)


@st.composite
def diamonds(draw: st.DrawFn, selectivities: list[float]) -> FlowGraph:
    """A graph that parts into two ways and joins again, with any mechanics."""
    names = ("root", "left", "right", "join", "end")
    made = tuple(
        Module(**{f: getattr(m, f) for f in Module.__dataclass_fields__} | {"name": name})
        for name, m in zip(names, draw(st.tuples(*[modules] * 5)), strict=True)
    )
    several = draw(st.sampled_from(selectivities))
    share = draw(st.sampled_from([0.1, 0.5, 0.9]))
    return FlowGraph(
        source="root",
        modules=made,
        streams=(
            Stream(origin="root", target="left", probability=share, selectivity=several),
            Stream(origin="root", target="right", probability=1 - share, selectivity=several),
            Stream(origin="left", target="join"),
            Stream(origin="right", target="join"),
            Stream(origin="join", target="end"),
        ),
    )


def drain(graph: FlowGraph, decisions: list[list[int]], seed: int) -> Twin:
    """Fifty rows or so through a graph that is resized at random, with time to finish."""
    twin = Twin(graph, Constant(10.0, rows=50), step=1.0, duration=2000.0, seed=seed)
    plan = iter(decisions)
    for seen in twin.readings():
        degrees = dict(zip(graph.names(), next(plan, [1] * 5), strict=True))
        twin.apply(Decision(configuration=Configuration(degrees=degrees), why="at random"))
        for module, name in zip(graph.modules, graph.names(), strict=True):
            reading = seen.modules[name]
            assert reading.backlog is not None
            assert reading.backlog >= 0
            if reading.utilisation is None:
                assert module.trigger > 0, "only in mid-batch"
            else:
                assert 0 <= reading.utilisation <= 1
            assert reading.running is not None
            assert 1 <= reading.running <= module.max_replicas
        if seen.at > 10 and not any(module.backlog for module in seen.modules.values()):
            break
    return twin


sizes = st.lists(st.lists(st.integers(1, 6), min_size=5, max_size=5), max_size=12)


@settings(max_examples=60, deadline=None)
@given(graph=diamonds([1.0]), decisions=sizes, seed=st.integers(0, 2**32))
def test_every_row_that_comes_leaves_once_however_the_pipeline_is_resized(
    graph: FlowGraph, decisions: list[list[int]], seed: int
) -> None:
    totals = drain(graph, decisions, seed).totals()
    rows = totals["root"].arrived
    assert rows > 20
    assert totals["left"].finished + totals["right"].finished == rows
    for name in ("root", "join", "end"):
        assert totals[name].started == totals[name].served == totals[name].finished == rows


@settings(max_examples=60, deadline=None)
@given(graph=diamonds([0.3, 1.0, 3.0, 4.6]), decisions=sizes, seed=st.integers(0, 2**32))
def test_what_leaves_one_station_enters_the_next_and_littles_law_holds(
    graph: FlowGraph, decisions: list[list[int]], seed: int
) -> None:
    """Rows over time equal time over rows, exactly once the pipeline has emptied."""
    totals = drain(graph, decisions, seed).totals()
    assert totals["join"].arrived == totals["left"].finished + totals["right"].finished
    for station in totals.values():
        assert station.arrived == station.finished
        assert station.row_seconds == pytest.approx(station.stayed, rel=1e-9, abs=1e-9)
        assert station.waited + station.busy_seconds <= station.stayed + 1e-6


def test_littles_law_holds_in_the_middle_of_a_run() -> None:
    graph = chain(Module(name="a", service_time=0.8, service_cv=1.0), Module(name="b"))
    station = run(graph, Constant(1.0), 1e6, "poisson").totals()["a"]
    assert station.mean_rows is not None
    assert station.sojourn_time is not None
    assert station.arrival_rate is not None
    assert station.mean_rows == pytest.approx(station.arrival_rate * station.sojourn_time, rel=1e-3)


@settings(max_examples=60, deadline=None)
@given(
    rate=st.sampled_from([1.0, 3.0, 7.0]),
    times=st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.7]), min_size=3, max_size=3),
    buffers=st.lists(st.integers(1, 3), min_size=3, max_size=3),
)
def test_stations_with_buffers_follow_the_recursion_of_tandem_queues(
    rate: float, times: list[float], buffers: list[int]
) -> None:
    """Row k moves on when it is done, and row k minus the next buffer is in service there."""
    graph = chain(
        *(
            Module(name=name, service_time=time, buffer=buffer)
            for name, time, buffer in zip("abc", times, buffers, strict=True)
        )
    )
    count = 30
    enters, starts = np.zeros((4, count)), np.zeros((3, count))
    enters[0] = (np.arange(count) + 1) / rate
    for k in range(count):
        for i in range(3):
            free = enters[i + 1, k - 1] if k else 0.0
            starts[i, k] = max(enters[i, k], free)
            enters[i + 1, k] = starts[i, k] + times[i]
            if i < 2 and k >= buffers[i + 1]:
                room = starts[i + 1, k - buffers[i + 1]]
                enters[i + 1, k] = max(enters[i + 1, k], room)
    totals = run(graph, Constant(rate, rows=count), 200.0).totals()
    for i, name in enumerate("abc"):
        assert totals[name].waited == pytest.approx((starts[i] - enters[i]).sum(), abs=1e-9)
        assert totals[name].stayed == pytest.approx((enters[i + 1] - enters[i]).sum(), abs=1e-9)


def test_a_slow_last_station_sets_the_pace_of_all() -> None:
    graph = chain(
        Module(name="a", service_time=0.1, buffer=3),
        Module(name="b", service_time=0.02, buffer=2),
        Module(name="c", service_time=0.5, buffer=4),
    )
    twin = Twin(graph, Constant(8.0), step=10.0, duration=100.0, arrivals="even")
    for seen in twin.readings():
        if seen.at > 20.0:
            assert [module.processed_rate for module in seen.modules.values()] == [2.0, 2.0, 2.0]
            assert [module.arrival_rate for module in seen.modules.values()] == [8.0, 2.0, 2.0]
            shares = [module.utilisation for module in seen.modules.values()]
            assert shares == pytest.approx([0.2, 0.04, 1.0])


def test_a_buffer_is_never_exceeded_and_the_rest_waits_at_the_source() -> None:
    graph = chain(
        Module(name="a", service_time=0.01, service_cv=1.0, buffer=2, initial_replicas=3),
        Module(name="b", service_time=0.1, service_cv=1.0, buffer=5, initial_replicas=2),
        selectivity=3.0,
    )
    twin = Twin(graph, Constant(40.0), step=0.05, duration=50.0)
    backlogs = [[m.backlog or 0.0 for m in seen.modules.values()] for seen in twin.readings()]
    assert max(b for _, b in backlogs) == 5 + 2
    assert backlogs[-1][0] > 1000  # 40 rows a second came, under 7 were taken


def test_blocked_servers_go_on_in_the_order_in_which_they_were_blocked() -> None:
    """Rows overtake each other only in service, so with fixed times they leave as they came."""
    graph = chain(
        Module(name="a", service_time=0.1, initial_replicas=3),
        Module(name="b", service_time=0.25, buffer=1),
        Module(name="c", trigger=1000.0),
    )
    twin = Twin(graph, Constant(10.0), step=0.25, duration=60.0, arrivals="even")
    ages = [seen.modules["b"].latency.p50 for seen in twin.readings() if seen.modules["b"].latency]
    assert len(ages) > 200
    assert ages == sorted(ages)
    growth = np.diff(ages[10:])  # each row came 0.1 s after the one before, and leaves 0.25 s after
    assert growth == pytest.approx(np.full(len(growth), 0.15))


def test_a_blocked_row_with_many_results_keeps_its_place_in_line() -> None:
    """Four rows of three results each find room for one at a time."""
    graph = chain(
        Module(name="a", service_time=0.0, initial_replicas=2),
        Module(name="b", service_time=1.0, buffer=1),
        selectivity=3.0,
    )
    twin = Twin(graph, Constant(1.0, rows=4), step=1.0, duration=20.0, arrivals="even")
    ages = [seen.latency.p50 for seen in twin.readings() if seen.latency]
    leaves = [3 * row + result + 1 - row for row in range(4) for result in range(3)]
    assert ages == pytest.approx(leaves)


def test_one_full_way_holds_up_the_rows_of_another() -> None:
    """A server keeps its row until all its results are placed, whichever way they go."""
    graph = FlowGraph(
        source="root",
        modules=(
            Module(name="root", service_time=0.01),
            Module(name="free"),
            Module(name="full", service_time=1.0, buffer=1),
        ),
        streams=(
            Stream(origin="root", target="free", probability=0.5),
            Stream(origin="root", target="full", probability=0.5),
        ),
    )
    totals = run(graph, Constant(50.0), 1000.0).totals()
    assert totals["full"].processed_rate == pytest.approx(1.0, rel=0.01)
    assert totals["free"].processed_rate == pytest.approx(1.0, rel=0.1)


def test_selectivity_below_one_drops_rows_and_above_one_multiplies_them() -> None:
    graph = FlowGraph(
        source="split",
        modules=(Module(name="split"), Module(name="filter"), Module(name="count")),
        streams=(
            Stream(origin="split", target="filter", selectivity=5.0),
            Stream(origin="filter", target="count", selectivity=0.4),
        ),
    )
    totals = run(graph, Constant(100.0), 1000.0).totals()
    assert totals["split"].arrived == 100_000
    assert totals["filter"].arrived == 500_000
    deviation = (500_000 * 0.4 * 0.6) ** 0.5
    assert abs(totals["count"].arrived - 200_000) < 2.58 * deviation
