"""Loops of their own, held against the event loop of stations, decision by decision.

The stages of a preference query have compiled loops of their own, and stations with keys have a
queue for each replica. Where all of them describe the same station they have to give the same
readings, and so the same decisions.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.loop import control
from penstock.core.panes import Panes
from penstock.core.roles import Plant, Policy
from penstock.core.signals import Decision, ModuleReading, Observation
from penstock.policy import Static, Threshold
from penstock.twin import Costs, PaneTwin, Twin
from penstock.workload import Constant, Daily
from tests.support.twins import chain

TRIGGER, STEP, DURATION = 2.0, 3.98, 35.82
"""Steps end just before a trigger, when no batch is open: a station lets new servers take rows of
an open batch, a pane stage lets them begin with the next."""
BATCHES: dict[str, Any] = {"trigger": TRIGGER, "overhead": 0.2, "task_overhead": 0.05}
PLQ = Module(name="plq", service_time=0.004, max_replicas=8, **BATCHES)
SWELL = Daily(low=40.0, high=250.0, period=30.0)
SAME = ("arrival_rate", "processed_rate", "backlog", "utilisation", "batch_duration", "running")


class SplitEverywhere:
    """A control that hands every tuple to the least loaded worker, as a shared queue does."""

    period = STEP

    def step(self, memory: Any, load: float) -> Any:
        return memory

    def threshold(self, *_: object) -> float:
        return 1.0


def station(module: Module, workload: Any, **given: Any) -> Twin:
    return Twin(chain(module), workload, step=STEP, duration=DURATION, seed=5, **given)


def panes(module: Module, workload: Any, **given: Any) -> PaneTwin:
    graph = FlowGraph(
        source="plq",
        modules=(module, Module(name="wlq")),
        streams=(Stream(origin="plq", target="wlq"),),
    )
    twin = PaneTwin(
        graph,
        workload,
        panes=Panes.parse("1s", "1s"),
        costs=Costs(tuple_time=module.service_time),
        splitting=SplitEverywhere(),  # type: ignore[arg-type]  # of the control only what is used
        step=STEP,
        duration=DURATION,
        seed=5,
        **given,
    )
    twin._state.clock["threshold"] = 1.0  # before the first sample, too
    return twin


def course(plant: Plant, policy: Policy) -> list[tuple[ModuleReading, Decision]]:
    """What was read of the stage, and what was decided for it alone."""

    def decide(seen: Observation, /) -> Decision:
        return policy(replace(seen, modules={"plq": seen.modules["plq"]}))

    return [(tick.seen.modules["plq"], tick.decided) for tick in control(plant, decide)]


def agree(make: Callable[[], Plant], reference: Plant, policy: Callable[[], Policy]) -> list[int]:
    """Both give the same readings and decisions; says the degrees."""
    expected, other = course(reference, policy()), course(make(), policy())
    assert len(expected) == len(other) == 9
    for (kernel, decided), (reading, also_decided) in zip(expected, other, strict=True):
        assert [getattr(reading, name) for name in SAME] == [
            value if value is None else pytest.approx(value, rel=1e-9, abs=1e-9)
            for value in (getattr(kernel, name) for name in SAME)
        ]
        assert also_decided.configuration == decided.configuration
        assert also_decided.why == decided.why
    return [reading.running or 0 for reading, _ in other]


def growing() -> Policy:
    return Threshold(max_utilisation=0.4)


@pytest.mark.parametrize("arrivals", ["even", "poisson"])
def test_a_pane_stage_is_a_station_with_micro_batches(arrivals: str) -> None:
    module = replace(PLQ, initial_replicas=2)
    degrees = agree(
        lambda: panes(module, SWELL, arrivals=arrivals),
        station(module, SWELL, arrivals=arrivals),
        growing,
    )
    assert max(degrees) > 2
    assert degrees[-1] < max(degrees)


def test_a_pane_stage_without_micro_batches_is_a_station() -> None:
    module = replace(PLQ, trigger=0.0, overhead=0.0, task_overhead=0.0, initial_replicas=2)
    degrees = agree(
        lambda: panes(module, SWELL, arrivals="even"),
        station(module, SWELL, arrivals="even"),
        growing,
    )
    assert len(set(degrees)) > 1


def test_new_workers_lengthen_their_first_batch_in_both() -> None:
    module = replace(PLQ, initial_replicas=2, warm_up=0.3)
    agree(lambda: panes(module, SWELL), station(module, SWELL), growing)


def test_an_overloaded_pane_stage_falls_behind_as_a_station_does() -> None:
    """Its load is the work that came by the time that batches of the greatest length leave."""
    module = replace(PLQ, initial_replicas=2, max_batch=2.0)
    workload = Constant(800.0)
    agree(lambda: panes(module, workload), station(module, workload), lambda: Static(degrees=2))
    readings = [reading for reading, _ in course(panes(module, workload), Static(degrees=2))]
    for reading in readings[1:]:
        expected = (reading.arrival_rate or 0.0) * PLQ.service_time / 2 * 2.25 / 2.0
        assert reading.load == pytest.approx(expected, rel=0.01)
    assert (readings[-1].backlog or 0.0) > 5000


@pytest.mark.parametrize("batches", [{}, BATCHES])
def test_one_replica_with_keys_is_a_station(batches: dict[str, Any]) -> None:
    module = Module(name="plq", service_time=0.004, max_replicas=1, **batches)
    keyed = replace(module, keys=50)
    agree(lambda: station(keyed, SWELL), station(module, SWELL), lambda: Static(degrees=1))
