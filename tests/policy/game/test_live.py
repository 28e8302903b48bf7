"""The games as policies of a running pipeline."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from math import inf, nan
from typing import Any

import pytest

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.core.loop import control
from penstock.core.signals import Decision, ModuleReading, Observation
from penstock.model import FlowModel
from penstock.policy import Incentive, Nash, Social
from penstock.policy.game import incentive, nash, social
from penstock.policy.game.live import Estimates
from penstock.testing import seen
from penstock.twin import Twin
from penstock.workload import Constant
from tests.support.game_graphs import SERVICE, chain

Live = type[Nash] | type[Incentive] | type[Social]
EACH = pytest.mark.parametrize("kind", [Nash, Incentive, Social])
PLANNER: dict[Live, Callable[..., Any]] = {Nash: nash, Incentive: incentive, Social: social}


def reading(rate: float | None, degree: int = 3, **more: dict[str, Any]) -> Observation:
    """Of the paper's service: rows a second at the dispatcher, and replicas of all."""
    modules: dict[str, dict[str, Any]] = {name: {"running": degree} for name in SERVICE.names()}
    modules["dispatcher"]["arrival_rate"] = rate
    for name, readings in more.items():
        modules[name.replace("_", "-")] |= readings
    return seen(modules)


def expected(decided: Decision) -> float:
    return decided.expects["inter_departure:recognizer"]


@EACH
def test_the_plan_of_the_step_is_asked_for(kind: Live) -> None:
    plan = PLANNER[kind](FlowModel.of(SERVICE, inter_arrival=0.5))
    decided = kind(SERVICE)(reading(2.0))
    assert decided.configuration.degrees == plan.rounded
    rounded = FlowModel.of(SERVICE, inter_arrival=0.5).pace(plan.rounded)
    assert expected(decided) == pytest.approx(rounded.inter_departure["recognizer"])


def test_the_reason_reports_the_pace_the_bottleneck_and_what_changes() -> None:
    why = Nash(SERVICE)(reading(2.0)).why
    assert why == (
        "rows every 500 ms; recognizer is the bottleneck at 715 ms: dispatcher 3 -> 1, "
        "denoiser-1 3 -> 2, edge-detector 3 -> 11, recognizer 3 -> 20"
    )
    slow = Nash(SERVICE)(reading(0.5, degree=1)).why
    assert slow == "rows every 2 s set the pace: edge-detector 1 -> 4, recognizer 1 -> 7"
    none = Nash(chain([0.1, 0.1]))(seen(m0={"arrival_rate": 1.0, "running": 1}, m1={"running": 1}))
    assert none.why == "rows every 1 s set the pace: nothing changes"


def test_the_reason_stays_short_in_large_graphs() -> None:
    graph = chain([1.0] * 40)
    decided = Social(graph)(
        seen({name: {"arrival_rate": 9.0, "running": 1} for name in graph.names()})
    )
    assert "and 34 more" in decided.why
    assert len(decided.why) < 200


@EACH
@pytest.mark.parametrize("rate", [None, nan, inf, -1.0])
def test_without_an_arrival_rate_all_is_held(kind: Live, rate: float | None) -> None:
    policy = kind(SERVICE)
    for seen_before in ([], [reading(2.0)]):
        for past in seen_before:
            policy(past)
        decided = policy(reading(rate))
        assert set(decided.configuration.degrees.values()) == {3}
        assert decided.why == "all held, the arrival rate of dispatcher is unknown"
        assert decided.expects == {}


def test_arrivals_are_averaged_and_old_ones_forgotten() -> None:
    policy = Nash(SERVICE, smoothing=0.25)
    policy(reading(1.0))
    assert policy(reading(2.0)).why.startswith("rows every 800 ms")  # 1.25 a second
    for _ in range(60):
        decided = policy(reading(2.0))
    assert decided.why.startswith("rows every 500 ms")


def test_when_no_rows_come_every_module_shrinks_to_its_fewest() -> None:
    policy = Social(SERVICE, smoothing=0.9)
    policy(reading(2.0))
    for _ in range(350):  # until the average is smaller than any number
        decided = policy(reading(0.0))
    assert set(decided.configuration.degrees.values()) == {1}


def test_measured_running_times_take_the_place_of_declared_ones() -> None:
    policy = Nash(SERVICE)
    slower = reading(2.0, recognizer={"service_time": 4 * 14.44})
    assert policy(slower).configuration.degrees["recognizer"] == 32  # twice as many, if it could
    for useless in (0.0, nan, None, -2.0):
        other = Nash(SERVICE)(reading(2.0, recognizer={"service_time": useless}))
        assert other.configuration.degrees["recognizer"] == 20


def test_running_times_are_remembered_while_they_cannot_be_measured() -> None:
    known = Estimates(SERVICE)
    known.observe(reading(2.0, recognizer={"service_time": 10.0}))
    known.observe(reading(2.0))
    assert known.model().modules["recognizer"].running_time == 10.0
    known.observe(reading(2.0, recognizer={"service_time": 20.0}))
    assert known.model().modules["recognizer"].running_time == 15.0


def test_routing_is_measured_only_if_asked_for() -> None:
    noisy = reading(
        2.0,
        dispatcher={"processed_rate": 2.0},
        denoiser_1={"arrival_rate": 0.4},
        denoiser_2={"arrival_rate": 1.6},
    )
    declared, measured = (Estimates(SERVICE, routing=by) for by in ("declared", "measured"))
    for known in (declared, measured):
        known.observe(noisy)
    assert declared.model().modules["denoiser-1"].reach == 0.5
    assert measured.model().modules["denoiser-1"].reach == pytest.approx(0.2)
    assert measured.model().modules["denoiser-2"].reach == pytest.approx(0.8)
    assert measured.model().modules["recognizer"].reach == 1.0
    degrees = Nash(SERVICE, routing="measured")(noisy).configuration.degrees
    assert (degrees["denoiser-1"], degrees["denoiser-2"]) == (1, 4)


def test_modules_that_were_not_seen_are_not_decided_for_and_strangers_kept() -> None:
    decided = Nash(SERVICE)(
        seen(dispatcher={"arrival_rate": 2.0, "running": 1}, stranger={"running": 7})
    )
    assert decided.configuration.degrees == {"dispatcher": 1, "stranger": 7}
    assert decided.expects == {}


def test_a_module_whose_executors_are_unknown_gets_its_degree() -> None:
    decided = Nash(SERVICE)(reading(2.0, recognizer={"running": None}))
    assert decided.configuration.degrees["recognizer"] == 20
    assert "recognizer -> 20" in decided.why


def test_rounding_up_lets_every_row_through() -> None:
    model = FlowModel.of(SERVICE, inter_arrival=0.5)
    degrees = Social(SERVICE, rounding="up")(reading(2.0)).configuration.degrees
    assert model.pace(degrees).inter_departure["recognizer"] == pytest.approx(0.5)


@EACH
def test_a_fork_remembers_what_its_origin_saw(kind: Live) -> None:
    policy = kind(SERVICE)
    policy(reading(4.0))
    fork = deepcopy(policy)
    assert fork == policy
    assert fork(reading(0.1)) == policy(reading(0.1))
    policy(reading(9.0))
    assert fork != policy
    assert repr(fork) == repr(policy)


@EACH
def test_messages_and_arithmetic_decide_alike(kind: Live) -> None:
    talk, bulk = kind(SERVICE), kind(SERVICE, agents_up_to=0)
    for rate in (0.2, 0.9, 1.3, 1.6, 2.0, 5.0, 0.0):
        assert talk(reading(rate)) == bulk(reading(rate))


@EACH
def test_the_twin_settles_at_the_plan(kind: Live) -> None:
    graph = replace(
        SERVICE, modules=tuple(replace(m, initial_replicas=1, buffer=20) for m in SERVICE.modules)
    )
    ticks = list(
        control(Twin(graph, Constant(1.8), step=300.0, duration=3000.0, seed=1), kind(graph))
    )
    plan = PLANNER[kind](FlowModel.of(graph, inter_arrival=1 / 1.8))
    final = ticks[-1].decided.configuration.degrees
    assert all(abs(final[name] - degree) <= 1 for name, degree in plan.rounded.items())
    done = ticks[-1].seen.modules["recognizer"].processed_rate
    assert done == pytest.approx(1 / expected(ticks[-2].decided), rel=0.05)


# Rows that wait


@EACH
def test_waiting_rows_are_worked_off_in_the_time_given(kind: Live) -> None:
    calm = {"arrival_rate": 0.5, "running": 1}
    behind = seen(dispatcher=calm, recognizer={"backlog": 30.0, "running": 8})
    [patient, eager] = [kind(SERVICE, catch_up=limit)(behind) for limit in (None, 60.0)]
    assert patient.why.startswith("rows every 2 s")
    assert eager.why.startswith("rows every 1 s")
    degrees = [made.configuration.degrees["recognizer"] for made in (patient, eager)]
    assert degrees[0] < degrees[1]


def test_a_module_off_the_main_way_counts_for_as_many_rows_of_the_source() -> None:
    one_way = replace(
        seen(),
        modules={
            "dispatcher": ModuleReading(arrival_rate=0.5, running=1),
            "denoiser-1": ModuleReading(backlog=15.0, running=2),
        },
    )
    assert Nash(SERVICE, catch_up=60.0)(one_way).why.startswith("rows every 1 s")


def test_replicas_that_slow_each_other_down_are_not_taken_for_slow_rows() -> None:
    crowded = Module(
        name="scan",
        service_time=1.0,
        price=0.01,
        delay_cost=0.5,
        scaling="saturating",
        best_replicas=4,
    )
    known = Estimates(FlowGraph(source="scan", modules=(crowded,)))
    known.observe(seen(scan={"arrival_rate": 1.0, "service_time": 2.0, "running": 8}))
    assert known.model().modules["scan"].running_time == pytest.approx(1.0)


# Settings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"smoothing": 0.0}, r"smoothing of policy nash must be in \(0, 1\], got 0"),
        ({"smoothing": nan}, r"smoothing of policy nash must be in \(0, 1\], got nan"),
        (
            {"routing": "guessed"},
            "routing of policy nash must be declared or measured, got 'guessed'",
        ),
        ({"rounding": "down"}, "rounding of policy nash must be nearest or up, got 'down'"),
        ({"catch_up": 0.0}, "catch_up of policy nash must be above 0s, got 0s"),
        ({"agents_up_to": -1}, "agents_up_to of policy nash must be 0 or more, got -1"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Nash(SERVICE, **settings)


def test_settings_of_incentives_and_sums_are_refused_too() -> None:
    with pytest.raises(SettingError, match=r"increment of policy incentive must be in \(0, 1\]"):
        Incentive(SERVICE, increment=1.5)
    with pytest.raises(SettingError, match="max_rounds of policy incentive must be 1 or more"):
        Incentive(SERVICE, max_rounds=0)
    for kind in (Incentive, Social):
        with pytest.raises(SettingError, match="must be tree or gossip, got 'forest'"):
            kind(SERVICE, aggregation="forest")


@EACH
@pytest.mark.parametrize("missing", ["service_time", "price", "delay_cost"])
def test_a_module_without_stakes_is_named(kind: Live, missing: str) -> None:
    stakes = {"service_time": 1.0, "price": 1.0, "delay_cost": 1.0, missing: 0.0}
    graph = FlowGraph(source="scan", modules=(Module(name="scan", **stakes),))  # type: ignore[arg-type]
    name = kind.__name__.lower()
    with pytest.raises(SettingError, match=f"{missing} of module scan .* for policy {name}, got 0"):
        kind(graph)
