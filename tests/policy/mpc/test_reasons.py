"""What model predictive control tells an operator, and that it is true."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from penstock.core.graph import FlowGraph, Module
from penstock.core.routing import Routing
from penstock.core.signals import Decision, KeyLoads
from penstock.guard import Cooldown
from penstock.policy import Mpc
from penstock.policy.common.sentences import forecast
from penstock.policy.mpc.controller import ModulePlan
from penstock.policy.mpc.horizon import Trajectory
from penstock.policy.mpc.policy import effect
from penstock.testing import seen

TRADE = Module(name="trade", service_time=0.01, max_replicas=5, keys=10)
ALONE = FlowGraph(source="trade", modules=(TRADE,))


def mpc(**settings: Any) -> Mpc:
    return Mpc(ALONE, warm_up=0, **settings)


def last_decision(policy: Mpc, *rates: float, **reading: Any) -> Decision:
    """What it decides after the last of these rates."""
    for rate in rates:
        decided = policy(seen(trade={"arrival_rate": rate, "running": 2, **reading}))
    return decided


def keyed(rates: Mapping[str, float], **reading: Any) -> dict[str, Any]:
    keys = KeyLoads(rates=rates, service_times={})
    return {"arrival_rate": sum(rates.values()), "keys": keys, "service_time": 0.01, **reading}


def test_rows_to_be_caught_up_on_are_distinguished_from_those_that_come() -> None:
    decided = last_decision(mpc(catch_up=20.0), 100.0, backlog=1e6)
    assert decided.why.startswith(
        "trade: 100 rows/s forecast (100 now) plus 50,000 rows/s of backlog, 5 of 5 replicas"
    )
    assert decided.expects["rate:trade"] == 100.0
    assert "catch up" not in last_decision(mpc(catch_up=20.0), 100.0, backlog=0.0).why


def test_a_key_that_fills_a_replica_is_named() -> None:
    hot = keyed({"A": 390.0, "B": 5.0, "C": 5.0}, running=5, routing=Routing(replicas=5))
    policy = mpc()
    policy(seen(trade=hot))
    assert policy(seen(trade=hot)).why == (
        "trade: 400 rows/s forecast (400 now), one key alone would keep a replica 390 % busy, and "
        "more than 2 would not help: 5 -> 4, moving 67 % of the keys"
    )


def test_keys_of_which_none_fills_a_replica_are_not() -> None:
    even = keyed(dict.fromkeys("ABC", 90.0), running=3, routing=Routing(replicas=3))
    policy = mpc()
    policy(seen(trade=even))
    assert "3 of 5 replicas would be 90 % busy" in policy(seen(trade=even)).why


def test_keys_are_said_to_move_with_a_change_that_a_guard_may_keep_back() -> None:
    policy = Cooldown(mpc(), out=60.0, in_=60.0)
    spread = dict.fromkeys("ABCDEFGHIJ", 15.0)
    more = {key: 2.9 * rate for key, rate in spread.items()}
    policy(seen(at=0.0, trade=keyed(spread, running=1)))
    kept = policy(seen(at=4.0, trade=keyed(more, running=2, routing=Routing(replicas=2))))
    assert kept.configuration.routing == {}
    assert ": 2 -> 5, moving " in kept.why
    assert kept.why.endswith(
        "% of the keys; trade stays at 2, it changed 4 s ago and may grow after 1 min"
    )


def test_keys_that_move_by_themselves_are_reported_with_the_reason() -> None:
    lopsided = Routing(replicas=2, owners={"A": 0, "B": 0, "C": 1, "D": 1})
    rates = {"A": 60.0, "B": 60.0, "C": 30.0, "D": 30.0}
    decided = mpc()(seen(trade=keyed(rates, running=2, routing=lopsided)))
    assert decided.why.endswith(
        "2 stay, moving 50 % of the keys, as the busiest replica has 2 times the idlest one's load"
    )


def test_a_forecast_that_is_not_trusted_is_reported_once_its_trial_is_over() -> None:
    wild = (100.0, 900.0, 100.0, 900.0, 100.0)
    policy = mpc()
    assert last_decision(policy, *wild[:3]).why.endswith("50 % busy: 2 stay")
    assert last_decision(policy, *wild[3:]).why.endswith(
        "50 % busy: 2 stay; forecast not trusted, recent error 138 %: the last rate is used"
    )
    assert last_decision(mpc(trust=False), *wild).why.endswith(": 2 -> 4")


def test_a_fall_that_is_limited_is_reported_and_one_that_is_not_is_not() -> None:
    steep, gentle = (500.0, 425.0, 350.0, 275.0, 200.0), (500.0, 495.0, 490.0, 485.0, 480.0)
    assert last_decision(mpc(), *steep).why.endswith(
        "; the decrease of the forecast is limited to 90 % of the last rate"
    )
    assert "decrease of the forecast" not in last_decision(mpc(), *gentle).why
    assert "decrease of the forecast" not in last_decision(mpc(), *[100.0] * 5).why


def plan(busy: float, responds: float | None = None) -> ModulePlan:
    course = Trajectory(choices=(4,), cost=1.0, explored=5)
    return ModulePlan(
        replicas=5,
        clock=2.0,
        rate=1.0,
        behind=0.0,
        utilisation=busy,
        useful=5.0,
        response_time=responds,
        trajectory=course,
    )


@pytest.mark.parametrize("rate", [1e9, 1.23456e15, 1e300])
def test_long_numbers_are_shown_by_their_size(rate: float) -> None:
    words = forecast(rate, rate, rate) + effect(plan(rate, rate), 5, 2.0)
    assert len(words) < 150
    assert forecast(1.234e9, 999e6) == "1.2e+09 rows/s forecast (999,000,000 now)"
    assert effect(plan(1.5e7), 5, None) == "5 of 5 replicas would be 1.5e+09 % busy"


def test_the_clause_on_the_forecast_follows_that_on_the_keys() -> None:
    policy = mpc()
    for rate in (100.0, 900.0, 100.0, 900.0):
        rates = dict.fromkeys("ABCDEFGHIJ", rate / 10)
        now = seen(trade=keyed(rates, running=2, routing=Routing(replicas=2)))
        decided = policy(replace(now, step=1.0))
    assert ": 2 -> 5, moving " in decided.why
    assert decided.why.index("moving") < decided.why.index("; forecast not trusted")
