"""Figures that grow with a run end where its summary does."""

import json
from pathlib import Path

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
from penstock.dashboard.feed import Board
from penstock.record import load, summarise
from penstock.record.running import RunningSummary
from tests.support.dashboard_runs import GRAPH, finished, ticks

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
def test_figures_running_end_as_those_of_the_summary(run: list[Tick]) -> None:
    running = RunningSummary(graph=PRICED, slo_latency_p95=2.0)
    for tick in run:
        running.add(tick)
    summary = summarise(run, 2.0, source="a", graph=PRICED)
    assert summary.slo is not None
    joules = None if summary.energy is None else summary.energy.joules
    assert running.joules == (None if joules is None else pytest.approx(joules))
    assert running.cost == (None if summary.cost is None else pytest.approx(summary.cost))
    total = summary.executor_seconds_total
    assert running.executor_seconds == (None if total is None else pytest.approx(total))
    assert (running.met, running.violated, running.unknown) == (
        summary.slo.met,
        summary.slo.violated,
        summary.slo.unknown,
    )
    assert running.reconfigurations == summary.reconfigurations
    assert (sum(running.failed_tasks.values()) if running.failed_tasks else None) == (
        summary.failed_tasks
    )


def test_it_holds_after_every_tick_of_a_run_and_not_only_at_the_end() -> None:
    run, running = ticks(60), RunningSummary(graph=GRAPH, slo_latency_p95=2.0)
    for count, tick in enumerate(run, start=1):
        running.add(tick)
        summary = summarise(run[:count], 2.0, source="splitter", graph=GRAPH)
        assert running.cost == (None if summary.cost is None else pytest.approx(summary.cost))
        assert summary.energy is None or running.energy == summary.energy
    assert running.cost is not None
    assert running.violated
    assert running.failed_tasks == {"splitter": 3}


def test_the_live_page_and_the_summary_on_disk_have_the_same_figures(tmp_path: Path) -> None:
    recorded = load(finished(tmp_path / "run", ticks(200)))
    live = Board(recorded.settings, "run")
    for tick in recorded.ticks:
        live.add(tick)
    summary, running = recorded.summary, live.state.running
    assert summary is not None
    assert summary.slo is not None
    assert (running.steps, running.reconfigurations) == (summary.steps, summary.reconfigurations)
    assert (running.met, running.violated) == (summary.slo.met, summary.slo.violated)
    assert running.executor_seconds == summary.executor_seconds_total
    assert running.cost == summary.cost
    assert running.energy == summary.energy
    assert running.arrivals.total == summary.rows_arrived
    shown = json.loads(live.whole({}))["now"]
    assert (shown["cost"], shown["executor_seconds"]) == (
        summary.cost,
        summary.executor_seconds_total,
    )
