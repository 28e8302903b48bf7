"""What learns for modules does what the e2df paper asks of it, and says so."""

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.settings import build
from penstock.core.signals import Observation
from penstock.policy import POLICIES, QLearning, Rl, WarmStart
from penstock.policy.rl import known_costs, level_of, utilisation_level, utilisation_levels
from penstock.policy.rl.agent import ModelBased, State, greedy
from penstock.policy.rl.backup import Table, back_up, choose, learn, new_table
from penstock.policy.rl.learners import ModelFree
from penstock.testing import seen

ALONE = FlowGraph(
    source="count", modules=(Module(name="count", service_time=0.01, max_replicas=6),)
)


def now(n: int, *, rate: float = 50.0, wait: float = 0.0, **more: float) -> Observation:
    reading = {"arrival_rate": rate, "waiting_time": wait, "service_time": 0.01, "running": n}
    return seen(count={**reading, **more})


# The kernel, against Alg. 2 written out


def plain_back_up(table: Table, discount: float) -> NDArray[np.float64]:
    levels, flags, numbers = table.penalty.shape
    q = np.full((3, levels, flags, numbers), inf)
    states = [(u, f, k) for u in range(levels) for f in range(flags) for k in range(numbers)]
    for u, f, k in states:
        for action in (-1, 0, 1):
            if not np.isfinite(table.known[action + 1, k]):
                continue
            if flags == 2 and f == 0 and action == -1:
                continue
            total = 0.0
            for u2 in range(levels):
                for f2 in range(flags):
                    chance = table.level_chances[u, u2] * table.flag_chances[f, action + 1, f2]
                    best = min(table.q[a, u2, f2, k + action] for a in range(3))
                    cost = table.known[action + 1, k] + table.penalty[u2, f2, k + action]
                    total += chance * (cost + discount * best)
            q[action + 1, u, f, k] = total
    return q


@pytest.mark.parametrize("flags", [1, 2])
def test_a_back_up_is_algorithm_2(flags: int) -> None:
    draw = np.random.default_rng(flags)
    table = new_table(known_costs(1, 5, each=0.3, change=0.2), levels=4, flags=flags)
    back_up(table, 0.9)  # what is not allowed costs no end from here on
    for _ in range(40):
        u, u2, f, f2 = (
            draw.integers(4),
            draw.integers(4),
            draw.integers(flags),
            draw.integers(flags),
        )
        k, action = int(draw.integers(1, 6)), int(draw.integers(-1, 2))
        learn(table, int(u), int(f), action, int(u2), int(f2), k, float(draw.random()), 0.1)
        expected = plain_back_up(table, 0.9)
        back_up(table, 0.9)
        np.testing.assert_allclose(table.q, expected, rtol=1e-12)


STEPS = st.lists(
    st.tuples(
        st.integers(0, 3), st.integers(0, 1), st.integers(0, 5), st.sampled_from([0.0, 0.3, 0.7])
    ),
    max_size=60,
)


@given(steps=STEPS)
@settings(deadline=None)
def test_penalties_never_fall_with_fewer_or_a_higher_level(
    steps: list[tuple[int, int, int, float]],
) -> None:
    table = new_table(known_costs(0, 5, each=0.3, change=0.0), levels=4, flags=2)
    for level, flag, number, penalty in steps:
        learn(table, 0, 0, 0, level, flag, number, penalty, 0.1)
        for grid in table.penalty.transpose(1, 0, 2):
            assert (np.diff(grid, axis=0) >= 0).all()  # by level
            assert (np.diff(grid, axis=1) <= 0).all()  # by number


@given(steps=STEPS)
@settings(deadline=None, max_examples=30)
def test_only_an_allowed_action_is_chosen(steps: list[tuple[int, int, int, float]]) -> None:
    table = new_table(known_costs(1, 5, each=0.3, change=0.0), levels=4, flags=2)
    for level, flag, number, penalty in steps:
        learn(table, 0, 0, 0, level, flag, number, penalty, 0.1)
        back_up(table, 0.99)
        action = choose(table, level, flag, number)
        assert action in greedy(table.q)[level, flag, number : number + 1]
        assert number + action <= 5
        assert action != -1 or (flag == 1 and number > 1)


# Levels and costs


@given(rate=st.floats(0, 1e9), span=st.floats(0, 1e6), levels=st.integers(1, 50))
def test_a_level_is_one_of_them(rate: float, span: float, levels: int) -> None:
    assert 0 <= level_of(rate, span, levels) < levels


@given(busy=st.floats(0, 1), quantum=st.floats(0.01, 1))
def test_the_level_of_a_utilisation_is_the_nearest(busy: float, quantum: float) -> None:
    level = utilisation_level(busy, quantum)
    assert 0 <= level < utilisation_levels(quantum)
    assert abs(level * quantum - busy) <= quantum * 0.5 + 1e-9 or level * quantum < busy


def test_costs_are_those_of_the_paper() -> None:
    costs = known_costs(1, 20, each=1 / 3, change=1 / 3)
    assert costs[1, 6] == pytest.approx(6 / 60)
    assert costs[2, 6] == pytest.approx(7 / 60 + 1 / 3)
    assert costs[0, 1] == costs[2, 20] == inf


# Rl


def test_rl_gives_replicas_up_until_that_hurts() -> None:
    policy, n, course = Rl(ALONE, bound=0.05), 5, []
    for _ in range(600):
        decided = policy(now(n, rate=250.0, wait=1.0 if n < 3 else 0.0))
        n = decided.configuration.degrees["count"]
        course.append(n)
    assert min(course) < 3
    assert set(course[-200:]) == {3}


def test_rl_learns_nothing_and_holds_without_a_response_time() -> None:
    policy = Rl(ALONE, bound=0.05)
    decided = policy(seen(count={"arrival_rate": 50.0, "running": 3, "utilisation": 0.4}))
    assert decided.why == "count holds at 3, response time unknown"
    policy(now(3))
    policy(seen(count={"arrival_rate": 50.0, "running": 3}))
    policy(now(4))
    assert policy.agents()["count"].progress.steps == 0  # no two known steps in a row


def test_rl_learns_but_holds_while_executors_are_to_come() -> None:
    policy = Rl(ALONE, bound=0.005)
    for _ in range(100):
        decided = policy(now(2, requested=3))
        assert decided.why == "count holds at 3, 1 executor still to come"
    agent = policy.agents()["count"]
    assert isinstance(agent, ModelBased)
    assert agent.progress.steps == 99
    assert agent.visits[0, 0, 2] == 99
    assert agent.arrays()["penalty"][0, 0, 2] == pytest.approx(1 / 3, rel=1e-3)


def test_rl_withdraws_what_it_never_got_once_there_is_less_to_do() -> None:
    policy = Rl(ALONE, bound=1.0)
    for _ in range(200):
        decided = policy(now(3, rate=200.0, requested=4))
    assert decided.configuration.degrees == {"count": 4}
    for _ in range(200):
        decided = policy(now(3, rate=50.0, requested=4))
    assert decided.configuration.degrees == {"count": 3}


def test_rl_learns_from_what_happened_and_not_from_what_it_wanted() -> None:
    policy = Rl(ALONE, bound=1.0, reconfiguration_weight=0.0, resource_weight=2 / 3)
    wanted = [policy(now(4)).configuration.degrees["count"] for _ in range(50)]
    assert wanted[-1] == 3  # and somebody refused
    agent = policy.agents()["count"]
    assert agent.visits.sum() == agent.visits[0, 0, 4] == 49


def test_a_module_that_falls_behind_is_late_without_any_bound() -> None:
    policy = Rl(ALONE)
    for _ in range(60):
        decided = policy(seen(count={"arrival_rate": 590.0, "utilisation": 1.0, "running": 2}))
    assert decided.configuration.degrees == {"count": 3}


@pytest.mark.parametrize(
    ("settings", "bound"),
    [
        ({"bound": "11ms"}, 0.011),
        ({"bound": {"count": "20ms"}}, 0.02),
        ({"bound": {"other": "20ms"}}, 5.0),
        ({}, 5.0),
    ],
)
def test_a_bound_is_given_or_the_share_of_the_slo(settings: object, bound: float) -> None:
    graph = FlowGraph(
        source="split",
        modules=(Module(name="split", service_time=0.1), Module(name="count", service_time=0.1)),
        streams=(Stream(origin="split", target="count", selectivity=5.0),),
    )
    assert isinstance(settings, dict)
    policy = build(POLICIES["rl"], settings, of="policy rl", graph=graph, slo=10.0)
    assert isinstance(policy, Rl)
    assert policy.bound_of("count") == bound


def test_levels_span_the_peak_as_it_reaches_each_module() -> None:
    graph = FlowGraph(
        source="split",
        modules=(Module(name="split"), Module(name="count")),
        streams=(Stream(origin="split", target="count", selectivity=5.0),),
    )
    policy = build(POLICIES["rl"], {"peak": "650/s"}, of="policy rl", graph=graph)
    assert isinstance(policy, Rl)
    assert (policy.meaning("split")["span"], policy.meaning("count")["span"]) == (650.0, 3250.0)
    assert Rl(ALONE).meaning("count")["span"] == pytest.approx(600.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"resource_weight": 0.5},
            "must be 0 or more and sum to 1, got 0.333333, 0.333333 and 0.5",
        ),
        (
            {"resource_weight": -0.5, "performance_weight": 1.0, "reconfiguration_weight": 0.5},
            "must be 0 or more, got -0.5",
        ),
        ({"discount": 1.0}, r"discount of policy rl must be in \[0, 1\), got 1"),
        ({"learning_rate": 0.0}, r"learning_rate of policy rl must be in \(0, 1\], got 0"),
        ({"levels": 0}, "levels of policy rl must be 1 to 1,001, got 0"),
        ({"bound": 0.0}, "bound of policy rl must be above 0s, got 0s"),
        ({"bound": {"count": inf}}, "bound of policy rl must be above 0s and finite"),
        ({"peak": 0.0}, "peak of policy rl must be above 0/s, got 0/s"),
    ],
)
def test_rl_refuses_what_nothing_can_be_learned_with(given: dict[str, float], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Rl(ALONE, **given)  # type: ignore[arg-type]  # some of it is wrong on purpose


def test_rl_needs_a_peak_where_no_service_time_is_declared() -> None:
    unknown = FlowGraph(source="count", modules=(Module(name="count"),))
    with pytest.raises(SettingError, match="give it, or the policy a peak such as 600/s"):
        Rl(unknown)


# Q-learning


def test_q_learning_finds_the_best_on_a_tiny_instance() -> None:
    agent = ModelFree(
        known_costs(1, 3, each=0.5, change=0.1),
        levels=1,
        epsilon=1.0,
        decay=1.0,
        discount=0.9,
        learning_rate=0.4,
    )
    state = State(number=1, level=0)
    for _ in range(2500):
        after = State(number=state.number + agent.choose(state).action, level=0)
        agent.learn(state, after, 0.6 if after.number < 2 else 0.0)
        state = after
    assert greedy(agent.arrays()["q"])[0, 0, 1:].tolist() == [1, 0, -1]
    # at two for good: what two cost, over and over
    assert agent.arrays()["q"][1, 0, 0, 2] == pytest.approx(0.5 * 2 / 3 / (1 - 0.9), rel=0.02)


def test_q_learning_tries_less_and_less() -> None:
    policy = QLearning(ALONE, bound=1.0, epsilon=1.0, decay=0.98)
    tried = ["exploration" in policy(now(3)).why for _ in range(400)]
    assert sum(tried[:50]) > 10
    assert not any(tried[-50:])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"epsilon": 1.5}, r"epsilon of policy q-learning must be in \[0, 1\], got 1.5"),
        ({"decay": -0.1}, r"decay of policy q-learning must be in \[0, 1\], got -0.1"),
        ({"seed": -1}, "seed of policy q-learning must be 0 or more, got -1"),
        ({"resource_weight": 1.0}, "of policy q-learning must be 0 or more and sum to 1"),
    ],
)
def test_q_learning_refuses_chances_that_are_none(given: dict[str, float], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        QLearning(ALONE, **given)  # type: ignore[arg-type]  # some of it is wrong on purpose


# Warm start


@pytest.mark.parametrize("learner", ["rl", "q-learning"])
def test_warm_start_hands_each_module_over_for_itself(learner: str) -> None:
    graph = FlowGraph(
        source="count", modules=(ALONE["count"], Module(name="tail", service_time=0.01)),
        streams=(Stream(origin="count", target="tail"),),
    )  # fmt: skip
    policy = WarmStart(graph, bound=0.05, patience=20, learner=learner)
    steady = {"waiting_time": 0.0, "service_time": 0.01, "running": 3, "utilisation": 0.6}
    reasons = []
    for step in range(700):
        wavering = {**steady, "waiting_time": float(step % 2)}
        reasons.append(
            policy(
                seen(
                    count={**steady, "arrival_rate": 50.0},
                    tail={**wavering, "arrival_rate": 50.0 + 4000.0 * (step % 3)},
                )
            ).why
        )
    handed = [why for why in reasons if f"count switches to {learner}" in why]
    assert len(handed) == 1
    assert "count" in policy.handed_over


def test_warm_start_begins_as_threshold() -> None:
    policy = WarmStart(ALONE, bound=0.05)
    assert policy(now(2, utilisation=0.9)).why == "count 90 % busy, above 75 %: 2 -> 3"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"learner": "sarsa"},
            "learner of policy warm-start must be q-learning or rl, got 'sarsa'",
        ),
        ({"patience": 0}, "patience of policy warm-start must be 1 or more, got 0"),
        ({"tolerance": 0.0}, r"tolerance of policy warm-start must be in \(0, 1\), got 0"),
        ({"max_utilisation": 1.5}, r"max_utilisation .* must be in \(0, 1\]"),
        ({"discount": 2.0}, "discount of policy warm-start"),
    ],
)
def test_warm_start_refuses_what_would_never_be_handed_over(
    given: dict[str, float], message: str
) -> None:
    with pytest.raises(SettingError, match=message):
        WarmStart(ALONE, **given)  # type: ignore[arg-type]  # some of it is wrong on purpose
