"""The strategies that model predictive control is compared with: rules, and SPL's climb."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from penstock.core.errors import SettingError
from penstock.core.routing import Routing
from penstock.core.settings import build
from penstock.core.signals import KeyLoads
from penstock.policy import POLICIES, Rules, Spl
from penstock.policy.mpc import lpt
from penstock.testing import check_policy, seen


def degree(policy: Rules | Spl, **reading: Any) -> int:
    return policy(seen(count=reading)).configuration.degrees["count"]


@pytest.mark.parametrize(
    ("busy", "after"), [(0.95, 5), (0.9, 4), (0.85, 4), (0.8, 4), (0.79, 3), (0.0, 3)]
)
def test_rules_add_one_above_and_take_one_below(busy: float, after: int) -> None:
    assert degree(Rules(), utilisation=busy, running=4) == after


@pytest.mark.parametrize(("wait", "after"), [(0.0078, 5), (0.0066, 4), (0.0040, 4), (0.0038, 3)])
def test_rules_of_latency_have_limits_of_their_own(wait: float, after: int) -> None:
    """Above 7.7 ms and below 4.9 ms, of which the service takes 1 ms."""
    measured = {"waiting_time": wait, "service_time": 0.001, "utilisation": 0.99, "running": 4}
    assert degree(Rules(threshold=0.007), **measured) == after


def test_rules_never_go_below_one_and_wait_for_what_was_promised() -> None:
    assert degree(Rules(), utilisation=0.1, running=1) == 1
    decided = Rules()(seen(count={"utilisation": 0.99, "requested": 4, "running": 2}))
    assert decided.why == "count holds at 4, 2 executors still to come"


def test_rules_hold_what_they_cannot_judge() -> None:
    assert Rules()(seen(count={"running": 2})).why == "count holds at 2, utilisation unknown"
    late = Rules(threshold=1.0)(seen(count={"running": 2, "utilisation": 1.0}))
    assert late.why == "count holds at 2, waiting or service time unknown"


IDLE = {"utilisation": 0.2, "arrival_rate": 100.0, "processed_rate": 100.0, "running": 3}


@pytest.mark.parametrize("make", [Rules, lambda: Rules(threshold=1.0), Spl])
def test_no_replica_is_spared_while_more_rows_wait_than_a_step_can_take(
    make: Callable[[], Rules | Spl],
) -> None:
    """Steps of four seconds: 400 rows come, and 1,200 could be served at 10 ms by the row."""
    measured = {**IDLE, "service_time": 0.01, "waiting_time": 0.1}

    def after(**more: float) -> int:
        return make()(replace(seen(count={**measured, **more}), step=4.0)).configuration.degrees[
            "count"
        ]

    assert after(backlog=1200.0) == 2
    assert after(backlog=1201.0) == 3
    assert after(backlog=1201.0, batch_duration=2.1) == 2
    assert after(backlog=1201.0, arrival_rate=0.0, processed_rate=0.0) == 3


def test_rows_that_wait_are_the_reason_that_is_reported() -> None:
    message = "1,000,000 rows wait, more than arrive or can be served in a step"
    silent = {**IDLE, "arrival_rate": 0.0, "processed_rate": 0.0, "backlog": 1e6}
    assert Rules()(seen(count=silent)).why == f"count holds at 3, 20 % busy, but {message}"
    assert Spl()(seen(count=silent)).why == f"count holds at 3, {message}"
    alone = Spl()(seen(count={**silent, "running": 1})).why
    assert alone == "count holds at 1, keeps up, already at 1"


@pytest.mark.parametrize(
    ("executors", "why"),
    [
        ({}, "its executors are unknown"),
        ({"running": 0}, "no executor of it runs"),
        ({"requested": 0, "running": 2}, "no executor of it is asked for"),
        ({"running": -3}, "its executors are unknown"),
    ],
)
@pytest.mark.parametrize("make", [Rules, Spl])
def test_a_module_without_executors_is_left_alone(
    make: Callable[[], Rules | Spl], executors: dict[str, int], why: str
) -> None:
    decided = make()(seen(count={"utilisation": 0.5, **executors}))
    assert decided.why == f"count is left alone, {why}"
    assert decided.configuration.degrees == {}


@pytest.mark.parametrize("make", [Rules, Spl])
def test_a_keyed_module_gets_a_table_with_its_new_degree(make: Callable[[], Rules | Spl]) -> None:
    keys = KeyLoads(rates={"A": 50.0, "B": 30.0, "C": 20.0}, service_times={})
    reading = {
        "utilisation": 0.99,
        "arrival_rate": 200.0,
        "processed_rate": 100.0,
        "service_time": 0.02,
        "running": 2,
        "keys": keys,
        "routing": Routing(replicas=2),
    }
    decided = make()(seen(count=reading))
    assert decided.configuration.degrees == {"count": 3}
    assert decided.configuration.routing == {"count": lpt({"A": 1.0, "B": 0.6, "C": 0.4}, 3)}
    assert decided.why.endswith("2 -> 3, moving 67 % of the keys")


def test_spl_climbs_while_it_helps_and_settles_where_rows_no_longer_pile_up() -> None:
    policy, running, arrived = Spl(), 1, 1000.0
    path = []
    for _ in range(12):
        running = degree(
            policy,
            arrival_rate=arrived,
            processed_rate=min(arrived, 240.0 * running),
            running=running,
        )
        path.append(running)
    assert path[:3] == [2, 3, 4]
    assert set(path[4:]) == {4}  # 4 miss 4 %, and 3 are known to be too few


def test_spl_stops_at_the_highest_level() -> None:
    policy, running = Spl(levels=3), 1
    for _ in range(6):
        running = degree(
            policy, arrival_rate=1000.0, processed_rate=100.0 * running, running=running
        )
    assert running == 3


def test_spl_steps_back_where_another_replica_brings_nothing() -> None:
    """The congestion is elsewhere: no degree gets more than 500 rows a second through."""
    policy, running, path = Spl(), 4, []
    for _ in range(6):
        done = min(500.0, 125.0 * running)
        running = degree(policy, arrival_rate=900.0, processed_rate=done, running=running)
        path.append(running)
    assert path == [5, 4, 4, 4, 4, 4]


def test_spl_tries_again_once_the_load_is_another() -> None:
    policy = Spl()
    for running, done in ((4, 500.0), (5, 500.0), (4, 500.0)):
        held = degree(policy, arrival_rate=900.0, processed_rate=done, running=running)
    assert held == 4
    assert degree(policy, arrival_rate=900.0, processed_rate=600.0, running=4) == 5


def test_spl_comes_down_with_a_load_that_falls_slowly() -> None:
    policy, running = Spl(), 4
    degree(policy, arrival_rate=1000.0, processed_rate=720.0, running=3)
    path = []
    for i in range(20):
        load = 900.0 - 20.0 * i
        done = min(load, 240.0 * running)
        running = degree(policy, arrival_rate=load, processed_rate=done, running=running)
        path.append(running)
    assert path[0] == 4
    assert path[-1] < 4


def test_spl_reads_congestion_off_the_backlog_where_nothing_else_is_known() -> None:
    policy = Spl()
    unknown = policy(seen(count={"arrival_rate": 100.0, "backlog": 50.0, "running": 2}))
    assert unknown.why == "count holds at 2, arrived or processed rows unknown"
    assert degree(policy, arrival_rate=100.0, backlog=90.0, running=2) == 3


def test_spl_does_not_judge_a_level_that_is_not_there_yet() -> None:
    reading = {"arrival_rate": 900.0, "processed_rate": 100.0, "requested": 4, "running": 2}
    assert Spl()(seen(count=reading)).why == "count holds at 4, 2 still to come"


@pytest.mark.parametrize(
    "make", [lambda: Rules(threshold=0.1), lambda: Spl(levels=4, congestion=0.0)]
)
def test_keeps_every_promise_of_a_policy(make: Callable[[], Rules | Spl]) -> None:
    check_policy(make)


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (
            "rules",
            {"min_utilisation": 0.95},
            "min_utilisation of policy rules must be below its max_utilisation",
        ),
        ("rules", {"low": 1.2}, "low of policy rules must be below its high, got 1.2 and 1.1"),
        ("rules", {"threshold": "0s"}, "threshold of policy rules must be above 0s"),
        ("spl", {"congestion": 1.0}, "congestion of policy spl must be in \\[0, 1\\), got 1"),
        ("spl", {"sensitivity": 0.0}, "sensitivity of policy spl must be in \\(0, 1\\], got 0"),
        ("spl", {"levels": 0}, "levels of policy spl must be 1 or more, got 0"),
    ],
)
def test_wrong_settings_are_explained(kind: str, settings: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        build(POLICIES[kind], settings, of=f"policy {kind}")
