"""Pipelines in regions on the twin: backlog carries over, nodes limit servers, rows travel."""

from collections.abc import Mapping
from typing import Any

import pytest

from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.interference import Interference
from penstock.core.regions import Infrastructure, Region
from penstock.core.roles import Workload
from penstock.core.signals import Configuration, Decision, Observation
from penstock.model import queueing
from penstock.testing.plants import check_plant
from penstock.twin import Twin
from penstock.workload import Step
from tests.support.twins import SEEDS, Constant, assert_agrees

DELAY = 0.05
PLACES = Infrastructure(
    regions=(Region(name="near", max_nodes=4), Region(name="far", max_nodes=4)),
    delays={"near-far": DELAY},
)


def pipeline(
    load: Workload,
    split: Mapping[str, Any] | None = None,
    count: Mapping[str, Any] | None = None,
    **given: Any,
) -> Twin:
    usual: dict[str, Any] = {"step": 10.0, "duration": 60.0, "places": PLACES}
    first: dict[str, Any] = {"region": "near", "service_time": 0.01}
    second: dict[str, Any] = {"region": "far", "service_time": 0.01}
    modules = (
        Module(name="split", **(first | dict(split or {}))),
        Module(name="count", **(second | dict(count or {}))),
    )
    streams = (Stream(origin="split", target="count"),)
    graph = FlowGraph(source="split", modules=modules, streams=streams)
    return Twin(graph, load, **(usual | given))


def wish(nodes: Mapping[str, int] | None = None, **degrees: int) -> Decision:
    return Decision(configuration=Configuration(degrees=degrees, nodes=nodes or {}), why="a test")


def after(twin: Twin, *wishes: Decision) -> Observation:
    readings = twin.readings()
    seen = next(readings)
    for decision in wishes:
        twin.apply(decision)
        seen = next(readings)
    return seen


def run(twin: Twin) -> Twin:
    for _ in twin.readings():
        pass
    return twin


def test_it_keeps_a_plants_contract() -> None:
    check_plant(lambda: pipeline(Constant(50.0)))


@pytest.mark.parametrize("busy", [0.3, 0.7])
def test_a_replica_is_an_md1(busy: float) -> None:
    totals = [
        run(pipeline(Constant(100 * busy), duration=1000.0, seed=seed)).totals() for seed in SEEDS
    ]
    theory = queueing.response(100 * busy, 0.01)
    assert_agrees([total["split"].sojourn_time for total in totals], theory, 0.03)


def test_rows_travel_between_regions_and_littles_law_holds_at_both_ends() -> None:
    twin = pipeline(Constant(1.0, 50), arrivals="even")
    seen = after(twin)
    assert seen.latency is not None
    assert seen.latency.p50 == pytest.approx(0.02 + DELAY)
    for total in run(twin).totals().values():
        assert total.finished == 50
        assert total.row_seconds == pytest.approx(total.stayed, rel=1e-9)


def test_rows_on_their_way_have_their_place_in_the_buffer() -> None:
    twin = pipeline(Constant(95.0), count={"buffer": 3, "service_time": 0.02}, step=0.1)
    for seen in twin.readings():
        assert (seen.modules["count"].backlog or 0.0) <= 4  # and one in service


def test_backlog_carries_over_and_drains_at_capacity_minus_arrivals() -> None:
    load = Step(((200.0, 0.0), (50.0, 10.0)))
    waits = [seen.modules["split"].backlog or 0.0 for seen in pipeline(load).readings()]
    assert waits[0] == pytest.approx(10 * (200 - 100), rel=0.1)
    assert waits[0] - waits[1] == pytest.approx(10 * (100 - 50), rel=0.15)
    assert waits[-1] < 10


def test_micro_batches_add_half_a_trigger_the_batch_and_its_overhead() -> None:
    batches = {"trigger": 2.0, "overhead": 0.4}
    totals = [
        run(pipeline(Constant(5.0), split=batches, duration=2000.0, seed=seed)).totals()["split"]
        for seed in SEEDS
    ]
    theory = 1.0 + 0.01 * (1 + 5.0 * 2.0) + 0.4
    assert_agrees([total.sojourn_time for total in totals], theory, 0.01)


def test_a_replica_without_a_slot_is_not_started_and_counted() -> None:
    seen = after(pipeline(Constant(10.0)), wish(split=5))
    assert seen.modules["split"].running == seen.modules["split"].requested == 2
    assert seen.modules["split"].wanted == 5
    assert (seen.regions["near"].unmet, seen.regions["far"].unmet) == (3, 0)


def test_replicas_on_new_nodes_take_their_time_to_start() -> None:
    wishes = [wish({"near": 2}, split=4), wish()]
    first = after(pipeline(Constant(10.0), split={"start_up": 15.0}), wishes[0])
    second = after(pipeline(Constant(10.0), split={"start_up": 15.0}), *wishes)
    assert (first.modules["split"].requested, first.modules["split"].running) == (4, 1)
    assert second.modules["split"].running == 4
    assert second.regions["near"].nodes == 2


def test_only_idle_nodes_are_given_up() -> None:
    seen = after(pipeline(Constant(10.0)), wish({"near": 3}), wish({"near": 1}))
    assert seen.regions["near"].nodes == 1
    assert seen.modules["split"].running == 1


def test_keys_and_regions_go_together() -> None:
    twin = pipeline(Constant(100.0, 3000), count={"keys": 20}, arrivals="even")
    for turn, _ in enumerate(twin.readings()):
        twin.apply(wish({"far": 2}, count=1 + turn % 4))
    totals = twin.totals()["count"]
    assert totals.finished == 3000
    assert twin.moved > 0


def test_rows_take_longer_while_there_is_interference() -> None:
    beside = Interference(processes=2, from_=20.0, until=40.0, slowdown=1.5)
    twin = pipeline(Constant(50.0), interference=beside)
    times = [seen.modules["split"].service_time for seen in twin.readings()]
    assert times == pytest.approx([0.01, 0.01, 0.015, 0.015, 0.01, 0.01])
