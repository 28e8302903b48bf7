"""Model predictive control as a policy: what it foresees, asks for and says."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.loop import control
from penstock.core.routing import Routing
from penstock.core.settings import build
from penstock.core.signals import Decision, KeyLoads, Observation
from penstock.policy import POLICIES, Mpc
from penstock.policy.mpc import lpt
from penstock.testing import check_policy, seen
from penstock.testing.policies import EXAMPLE_GRAPH
from penstock.twin import KeyedTwin
from penstock.workload import RandomWalk

COUNT = Module(name="count", service_time=0.01, max_replicas=12, initial_replicas=3)
ALONE = FlowGraph(source="count", modules=(COUNT,))


def steer(policy: Mpc, *steps: Mapping[str, Any], frequency: float | None = None) -> list[Decision]:
    return [policy(replace(seen(count=step), frequency=frequency)) for step in steps]


def last(policy: Mpc, step: Mapping[str, Any], frequency: float | None = None) -> Decision:
    """What it decides once it has seen the same step often enough to have watched."""
    return steer(policy, step, step, step, frequency=frequency)[-1]


def mpc(**settings: Any) -> Mpc:
    return Mpc(ALONE, **settings)


def test_watches_for_two_steps_and_says_so() -> None:
    busy = {"arrival_rate": 900.0, "running": 3}
    first, second, third = steer(mpc(), busy, busy, busy)
    assert first.why == "count holds at 3, warm-up step 1 of 2"
    assert second.configuration.degrees == {"count": 3}
    assert third.configuration.degrees == {"count": 10}
    assert third.why == (
        "count: 900 rows/s forecast (900 now), 10 of 12 replicas would be 90 % busy: 3 -> 10"
    )
    assert third.expects == {"utilisation:count": pytest.approx(0.9), "rate:count": 900.0}


def test_sees_a_ramp_coming_where_the_last_rate_would_be_late() -> None:
    ramp = [{"arrival_rate": 200.0 + 60 * i, "running": 5} for i in range(5)]
    line = {"holt": {"a": 1, "b": 1}}
    ahead = steer(mpc(forecaster=line, trust=False), *ramp)[-1]
    blind = steer(mpc(forecaster="last", trust=False), *ramp)[-1]
    assert ahead.configuration.degrees == {"count": 6}
    assert blind.configuration.degrees == {"count": 5}
    assert "500 rows/s forecast (440 now)" in ahead.why


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ({"running": 4}, "count holds at 4, arrival rate unknown"),
        ({"running": 4, "arrival_rate": float("nan")}, "count holds at 4, arrival rate unknown"),
        ({"arrival_rate": 100.0}, "count is left alone, its executors are unknown"),
    ],
)
def test_holds_with_a_reason_what_it_cannot_foresee(step: dict[str, Any], message: str) -> None:
    assert last(mpc(), step).why == message


def test_holds_while_the_service_time_is_neither_declared_nor_measured() -> None:
    policy = Mpc(FlowGraph(source="count", modules=(Module(name="count"),)))
    step = {"arrival_rate": 100.0, "running": 4}
    assert last(policy, step).why == "count holds at 4, service time unknown"
    assert last(policy, {**step, "service_time": 0.02}).configuration.degrees == {"count": 3}


def test_a_measured_service_time_takes_the_place_of_the_declared_one() -> None:
    twice = {"arrival_rate": 400.0, "running": 5, "service_time": 0.02}
    assert last(mpc(), twice).configuration.degrees == {"count": 9}


def test_a_load_beyond_all_configurations_takes_the_most_capacity_and_says_so() -> None:
    flood = {"arrival_rate": 5000.0, "running": 3}
    for settings in ({"strategy": "lat-node"}, {"strategy": "lat-node", "switching": False}):
        decided = last(mpc(threshold=0.05, horizon=3, **settings), flood)
        assert decided.configuration.degrees == {"count": 12}
        assert "no configuration keeps up, so the one with the most capacity" in decided.why
        assert "latency:count" not in decided.expects


def test_latency_keeps_more_replicas_than_throughput_needs() -> None:
    step = {"arrival_rate": 450.0, "running": 5, "arrival_cv": 1.0, "service_cv": 1.0}
    throughput = last(mpc(switching=False), step).configuration.degrees["count"]
    decided = last(mpc(strategy="lat-node", threshold=0.012, switching=False), step)
    assert throughput == 5
    assert decided.configuration.degrees["count"] > 5
    assert "busy and take" in decided.why
    assert decided.expects["latency:count"] < 0.013


def test_waits_that_are_longer_than_the_formula_says_are_allowed_for() -> None:
    policy = mpc(strategy="lat-node", threshold=0.02, switching=False)
    step = {"arrival_rate": 450.0, "running": 6, "service_time": 0.01, "waiting_time": 0.0}
    late = {**step, "waiting_time": 0.05}
    calm = last(policy, step).configuration.degrees["count"]
    assert last(policy, late).configuration.degrees["count"] > calm


def test_the_clock_is_only_decided_where_there_is_one() -> None:
    step = {"arrival_rate": 450.0, "running": 5}
    without = last(mpc(strategy="th-power"), step)
    slow = last(mpc(strategy="th-power", switching=False), step, frequency=2.0)
    assert without.configuration.frequency is None
    assert "GHz" not in without.why
    assert slow.configuration.frequency is not None
    assert slow.configuration.frequency < 2.0
    assert "2 -> " in slow.why


def test_service_times_are_given_for_the_clock_they_were_measured_at() -> None:
    step = {"arrival_rate": 300.0, "running": 5, "service_time": 0.02}
    faster = last(mpc(strategy="th-power", frequencies=(2.0,)), step, frequency=1.0)
    assert faster.configuration.degrees == {"count": 4}  # 0.01 s at 2 GHz
    as_it_is = last(mpc(), step, frequency=1.0)
    assert as_it_is.configuration.degrees == {"count": 7}


def test_a_declared_service_time_is_one_at_the_clock_of_the_first_step() -> None:
    """And stays so: a clock that was lowered does not make rows seem cheaper still."""
    policy, step = mpc(strategy="th-power", switching=False), {"arrival_rate": 450.0, "running": 5}
    first = last(policy, step, frequency=2.0).configuration
    again = last(policy, step, frequency=first.frequency).configuration
    assert again == first


def test_modules_that_share_a_clock_take_the_fastest_that_one_needs() -> None:
    graph = FlowGraph(
        source="split",
        modules=(
            Module(name="split", service_time=0.01, max_replicas=4),
            Module(name="count", service_time=0.01, max_replicas=4),
        ),
        streams=(Stream(origin="split", target="count"),),
    )
    policy = Mpc(graph, strategy="th-power", switching=False)
    idle, full = {"arrival_rate": 30.0, "running": 2}, {"arrival_rate": 460.0, "running": 2}
    now = replace(seen(split=idle, count=full), frequency=1.6)
    for _ in range(3):
        decided = policy(now)
    assert decided.configuration.frequency == 2.0
    assert decided.configuration.degrees == {"split": 1, "count": 4}
    quiet = replace(seen(split=idle, count={"running": 2}), frequency=1.6)
    assert policy(quiet).configuration.frequency == 1.6  # one cannot tell, so it does not fall


def test_only_the_module_that_is_named_is_steered() -> None:
    policy = Mpc(EXAMPLE_GRAPH, module="counter", warm_up=0)
    decided = policy(
        seen(
            splitter={"arrival_rate": 9000.0, "running": 1},
            counter={"arrival_rate": 900.0, "running": 1},
        )
    )
    assert decided.configuration.degrees == {"splitter": 1, "counter": 2}
    assert "splitter holds at 1, it is not controlled" in decided.why


def test_rows_that_wait_are_worked_off_in_the_time_that_is_given() -> None:
    step = {"arrival_rate": 200.0, "running": 3, "backlog": 4000.0}
    assert last(mpc(), step).configuration.degrees == {"count": 3}
    assert last(mpc(catch_up=10.0), step).configuration.degrees == {"count": 7}


def test_a_keyed_module_gets_a_table_for_its_new_degree() -> None:
    rates = {"A": 80.0, "B": 80.0, "C": 70.0, "D": 60.0, "E": 60.0, "F": 40.0}
    keys = KeyLoads(rates=rates, service_times=dict.fromkeys(rates, 0.01))
    step = {"arrival_rate": 390.0, "running": 3, "keys": keys, "routing": Routing(replicas=3)}
    decided = last(mpc(), step)
    assert decided.configuration.degrees == {"count": 5}
    assert decided.configuration.routing["count"] == lpt({k: 0.01 * r for k, r in rates.items()}, 5)
    assert decided.why.endswith("80 % busy: 3 -> 5, moving 67 % of the keys")


def test_replicas_that_one_heavy_key_cannot_use_are_not_bought() -> None:
    rates = {"A": 380.0, "B": 10.0}
    keys = KeyLoads(rates=rates, service_times=dict.fromkeys(rates, 0.01))
    step = {"arrival_rate": 390.0, "running": 3, "keys": keys}
    assert last(mpc(), step).configuration.degrees == {"count": 2}


def test_degrees_that_help_no_more_are_not_bought() -> None:
    best = replace(COUNT, scaling="saturating", best_replicas=4.0)
    policy = Mpc(FlowGraph(source="count", modules=(best,)))
    assert last(policy, {"arrival_rate": 900.0, "running": 3}).configuration.degrees == {"count": 4}


@given(st.lists(st.floats(0.0, 1e7), min_size=3, max_size=6), st.integers(1, 40))
def test_never_leaves_the_bounds_of_the_module(rates: list[float], running: int) -> None:
    for strategy in ("th-node", "lat-power"):
        policy = mpc(strategy=strategy, threshold=0.05)
        steps = [{"arrival_rate": rate, "running": running} for rate in rates]
        decided = steer(policy, *steps, frequency=1.6)[-1]
        assert 1 <= decided.configuration.degrees["count"] <= 12


@given(st.lists(st.floats(0.0, 2000.0), min_size=3, max_size=5), st.integers(1, 12))
def test_both_optimisers_steer_alike(rates: list[float], running: int) -> None:
    steps = [{"arrival_rate": rate, "running": running} for rate in rates]
    settings: dict[str, Any] = {"strategy": "lat-power", "threshold": 0.02, "horizon": 2}
    ours = steer(mpc(**settings), *steps, frequency=1.6)
    tree = steer(mpc(optimiser="branch-and-bound", **settings), *steps, frequency=1.6)
    assert ours == tree


@pytest.mark.parametrize("strategy", ["th-power", "lat-node", "lat-power"])
def test_keeps_every_promise_of_a_policy(strategy: str) -> None:
    check_policy(lambda: Mpc(EXAMPLE_GRAPH, strategy=strategy, threshold=0.1, catch_up=10.0))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"horizon": 0}, "horizon of policy mpc must be 1 to 1,000, got 0"),
        ({"horizon": "-2"}, "horizon of policy mpc must be 1 to 1,000, got -2"),
        ({"horizon": 1.5}, "horizon of policy mpc must be a whole number, got 1.5"),
        ({"warm_up": -1}, "warm_up of policy mpc must be 0 or more, got -1"),
        ({"module": "cuont"}, "there is no module 'cuont'; did you mean 'count'?"),
        (
            {"optimiser": "magic"},
            "optimiser of policy mpc must be dynamic-programming or branch-and-bound",
        ),
        ({"forecaster": "hold"}, "there is no forecaster 'hold'; did you mean 'holt'?"),
        ({"forecaster": {"holt": {"a": 3}}}, "a of forecaster holt must be in"),
        ({"forecaster": {"holt": 3}}, "settings of forecaster holt must be written as"),
        ({"forecaster": {"holt": {}, "last": {}}}, "forecaster of policy mpc must be a name"),
        ({"frequencies": [5.0]}, "the voltage table has nothing for 5 GHz"),
        ({"voltages": {"1.2": 0.9, "2.0": 0.8}}, "the voltage must not fall"),
        (
            {"voltages": {2.0: None}},
            "the voltage table has a hole at 2 GHz, got nan; give its volts",
        ),
        ({"forecaster": 3.5}, "there is no forecaster '3.5'"),
        ({"forecaster": ["holt"]}, "must be a text or an object for each name"),
        ({"catch_up": "0s"}, "catch_up of policy mpc must be above 0s"),
        ({"arrival_cv": -1}, "arrival_cv of policy mpc must be 0 or more"),
        ({"threshold": "7"}, "threshold of policy mpc needs a unit"),
    ],
)
def test_wrong_settings_are_explained(settings: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        build(POLICIES["mpc"], settings, of="policy mpc", graph=ALONE)


def test_settings_are_read_as_people_write_them() -> None:
    written = {
        "strategy": "lat-power",
        "horizon": "3",
        "switching": "no",
        "threshold": "7ms",
        "forecaster": {"holt": {"a": 1, "b": 0.015}},
        "frequencies": [1.2, 2.0],
        "catch-up": "30s",
    }
    policy = build(POLICIES["mpc"], written, of="policy mpc", graph=ALONE)
    assert isinstance(policy, Mpc)
    assert (policy.horizon, policy.switching, policy.threshold) == (3, False, 0.007)
    assert policy.frequencies == (1.2, 2.0)


def changes(policy: Mpc, module: Module) -> tuple[int, list[Observation]]:
    walk = RandomWalk(start=600.0, step=60.0, low=250.0, high=1000.0, seed=4)
    graph = FlowGraph(source=module.name, modules=(module,))
    ticks = list(control(KeyedTwin(graph, walk, step=1.0, duration=60.0, frequency=2.0), policy))
    return sum(tick.asked is not None for tick in ticks), [tick.seen for tick in ticks]


def test_switching_costs_mean_fewer_changes_of_a_keyed_operator() -> None:
    """mpc, Result 1, on the twin of a keyed operator under a random walk."""
    keyed = replace(COUNT, initial_replicas=6, service_cv=0.3, keys=300)
    graph = FlowGraph(source="count", modules=(keyed,))
    with_cost, seen_with = changes(
        Mpc(graph, strategy="lat-node", threshold=0.03, horizon=1), keyed
    )
    without, _ = changes(
        Mpc(graph, strategy="lat-node", threshold=0.03, horizon=1, switching=False), keyed
    )
    assert 0 < with_cost < without
    settled = [s.modules["count"] for s in seen_with[5:]]
    kept_up = [m for m in settled if (m.processed_rate or 0) >= 0.95 * (m.arrival_rate or 0)]
    assert len(kept_up) >= 0.9 * len(settled)


@pytest.mark.parametrize(("keys", "own"), [(0, False), (50, True)])
def test_rows_routed_by_key_wait_before_their_own_replica(keys: int, own: bool) -> None:
    """With a queue for each replica the same wait takes more of them."""
    module = Module(
        name="trade",
        service_time=0.01,
        service_cv=1.0,
        max_replicas=20,
        initial_replicas=8,
        keys=keys,
    )
    graph = FlowGraph(source="trade", modules=(module,))

    def chosen(own_queues: bool | None) -> int:
        policy = Mpc(graph, strategy="lat-node", threshold=0.012, warm_up=0, own_queues=own_queues)
        return policy(
            seen(trade={"arrival_rate": 600.0, "running": 8, "service_time": 0.01})
        ).configuration.degrees["trade"]

    assert chosen(True) > chosen(False)
    assert chosen(None) == chosen(own)


@pytest.mark.parametrize(("strategy", "decides"), [("th-node", False), ("th-power", True)])
def test_only_power_strategies_touch_the_clock(strategy: str, decides: bool) -> None:
    """A machine of 3.4 GHz is not slowed down by a policy that counts replicas."""
    module = Module(name="trade", service_time=0.01, max_replicas=8)
    graph = FlowGraph(source="trade", modules=(module,))
    policy = Mpc(graph, strategy=strategy, warm_up=0)
    reading = {"arrival_rate": 300.0, "running": 4, "service_time": 0.01}
    decided = policy(replace(seen(trade=reading), frequency=3.4 if not decides else 2.0))
    assert (decided.configuration.frequency is not None) == decides
    assert decided.configuration.degrees["trade"] >= 4 - decides
