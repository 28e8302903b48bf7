"""Throughput, efficiency and cost of each module, from what was measured."""

import pytest

from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.signals import Configuration, Decision, ModuleReading, Observation, Tick
from penstock.record.summary import summarise

GRAPH = FlowGraph(
    source="scan",
    modules=(
        Module(name="scan", price=0.01, delay_cost=0.5),
        Module(name="match", price=0.02, delay_cost=0.5),
    ),
    streams=(Stream(origin="scan", target="match"),),
)


def tick(at: float, scan: ModuleReading, match: ModuleReading, step: float = 5.0) -> Tick:
    seen = Observation(at=at, step=step, modules={"scan": scan, "match": match})
    held = Decision(configuration=Configuration(degrees={}), why="as it was")
    return Tick(seen=seen, decided=held, asked=None)


def reading(rate: float | None, time: float | None = 0.1, running: int = 2) -> ModuleReading:
    return ModuleReading(processed_rate=rate, service_time=time, running=running)


def test_the_cost_of_a_step_is_that_of_the_paper() -> None:
    found = summarise([tick(5, reading(4.0), reading(2.0))], None, graph=GRAPH).modules
    assert found["scan"].cost == pytest.approx(0.5 / 4 + 2 * 0.01)
    assert found["match"].cost == pytest.approx(0.5 / 2 + 2 * 0.02)


def test_costs_of_steps_add_up() -> None:
    ticks = [tick(5, reading(4.0), reading(2.0)), tick(10, reading(2.0), reading(2.0))]
    assert summarise(ticks, None, graph=GRAPH).modules["scan"].cost == pytest.approx(
        0.5 / 4 + 0.5 / 2 + 4 * 0.01
    )


def test_a_step_that_measured_nothing_costs_what_the_one_before_did() -> None:
    ticks = [tick(5, reading(4.0), reading(2.0)), tick(10, reading(None), reading(2.0))]
    assert summarise(ticks, None, graph=GRAPH).modules["scan"].cost == pytest.approx(
        2 * (0.5 / 4 + 0.02)
    )


def test_efficiency_is_the_share_of_what_the_executors_could_do() -> None:
    found = summarise([tick(5, reading(10.0), reading(40.0))], None, graph=GRAPH).modules
    assert found["scan"].efficiency == pytest.approx(0.5)
    assert found["match"].efficiency == 1.0  # never more than all of it


def test_a_module_without_a_price_has_no_cost() -> None:
    free = FlowGraph(source="scan", modules=(Module(name="scan"),))
    assert (
        summarise([tick(5, reading(4.0), reading(2.0))], None, graph=free).modules["scan"].cost
        is None
    )


def test_nothing_measured_is_nothing_known() -> None:
    ticks = [tick(5, reading(None, None), reading(None, None))]
    found = summarise(ticks, None, graph=GRAPH).modules["scan"]
    assert (found.throughput, found.efficiency, found.cost) == (None, None, None)
    assert summarise([], None, graph=GRAPH).modules["scan"].cost is None


def test_the_summary_has_the_cost_of_all_modules_or_none() -> None:
    ticks = [tick(5, reading(4.0), reading(2.0))]
    assert summarise(ticks, None, graph=GRAPH).cost == pytest.approx(0.125 + 0.02 + 0.25 + 0.04)
    unknown = [tick(5, reading(4.0), reading(None))]
    assert summarise(unknown, None, graph=GRAPH).cost is None
