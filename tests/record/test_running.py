"""Figures that grow with a run end where its summary does."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.graph import FlowGraph, Module
from penstock.core.signals import (
    Configuration,
    Decision,
    Latency,
    ModuleReading,
    Observation,
    Power,
    Tick,
)
from penstock.record import summarise
from penstock.record.running import SoFar
from tests.support.dashboard_runs import GRAPH, ticks

PRICED = FlowGraph(
    source="a",
    modules=(Module(name="a", price=0.5, delay_cost=2.0), Module(name="b", price=0.1)),
    also=("b",),
)

numbers = st.none() | st.just(0.0) | st.floats(0.01, 1e6)
counts = st.none() | st.integers(0, 50)
readings = st.builds(
    ModuleReading, processed_rate=numbers, running=counts, failed_tasks=counts, wanted=counts
)
latencies = st.none() | st.floats(0, 9).map(lambda p95: Latency(p50=0.0, p95=p95, p99=9.0))
powers = st.none() | st.builds(Power, watts=st.floats(0, 1e3), modelled=st.booleans())
asked = st.none() | st.dictionaries(st.sampled_from("ab"), st.integers(1, 9), min_size=1).map(
    lambda degrees: Configuration(degrees=degrees)
)
held = Decision(configuration=Configuration(degrees={}), why="-")


@st.composite
def runs(draw: st.DrawFn) -> list[Tick]:
    pool = draw(st.booleans())
    found = []
    for index in range(draw(st.integers(1, 12))):
        names = draw(st.sets(st.sampled_from("ab")))
        seen = Observation(
            at=float(index),
            step=draw(st.floats(0.1, 10)),
            modules={name: draw(readings) for name in sorted(names)},
            latency=draw(latencies),
            power=draw(powers),
            pool=draw(counts) if pool else None,
        )
        found.append(Tick(seen=seen, decided=held, asked=draw(asked)))
    return found


@settings(max_examples=40)
@given(runs())
def test_figures_so_far_end_as_those_of_the_summary(run: list[Tick]) -> None:
    so_far = SoFar(graph=PRICED, slo_latency_p95=2.0)
    for tick in run:
        so_far.add(tick)
    summary = summarise(run, 2.0, source="a", graph=PRICED)
    assert summary.slo is not None
    joules = None if summary.energy is None else summary.energy.joules
    assert so_far.joules == (None if joules is None else pytest.approx(joules))
    assert so_far.cost == (None if summary.cost is None else pytest.approx(summary.cost))
    total = summary.executor_seconds_total
    assert so_far.executor_seconds == (None if total is None else pytest.approx(total))
    assert (so_far.met, so_far.violated, so_far.unknown) == (
        summary.slo.met,
        summary.slo.violated,
        summary.slo.unknown,
    )
    assert so_far.reconfigurations == summary.reconfigurations
    assert (sum(so_far.failed_tasks.values()) if so_far.failed_tasks else None) == (
        summary.failed_tasks
    )


def test_it_holds_after_every_tick_of_a_run_and_not_only_at_the_end() -> None:
    run, so_far = ticks(60), SoFar(graph=GRAPH, slo_latency_p95=2.0)
    for count, tick in enumerate(run, start=1):
        so_far.add(tick)
        summary = summarise(run[:count], 2.0, source="splitter", graph=GRAPH)
        assert so_far.cost == (None if summary.cost is None else pytest.approx(summary.cost))
        assert summary.energy is None or so_far.origin == summary.energy.origin
    assert so_far.cost is not None
    assert so_far.violated
    assert so_far.failed_tasks == {"splitter": 3}
