"""Managers grant and refuse as their rules say, tell why, and compose with guards."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.regions import Infrastructure, Region
from penstock.core.roles import Policy
from penstock.core.routing import Routing
from penstock.core.settings import build
from penstock.core.signals import Configuration, Decision, ModuleReading, Observation, RegionReading
from penstock.guard import Clamp, Cooldown, DryRun, Hold, StepLimit
from penstock.policy import Static, Threshold
from penstock.policy.hierarchy import (
    MANAGERS,
    Accept,
    ApplicationManager,
    Conflicts,
    InfrastructureManager,
    Proposal,
    Rule,
    TokenBucket,
    TwoLevels,
)
from penstock.policy.nodes import SimpleNodes, StaticNodes
from penstock.policy.rl.nodes import LearnedNodes
from penstock.testing import check_policy, seen
from penstock.testing.policies import EXAMPLE_GRAPH

PLACES = Infrastructure(regions=(Region(name="dc1", max_nodes=4), Region(name="dc3", max_nodes=4)))
GRAPH = FlowGraph(
    source="splitter",
    modules=(
        Module(name="splitter", region="dc1"),
        Module(name="counter", region="dc3"),
        Module(name="consumer", region="dc3"),
    ),
    streams=(
        Stream(origin="splitter", target="counter"),
        Stream(origin="counter", target="consumer"),
    ),
)


def now(free: int | None = 1, at: float = 1.0, **busy: float) -> Observation:
    return Observation(
        at=at,
        step=1.0,
        modules={
            name: ModuleReading(utilisation=share, running=2, arrival_rate=1.0)
            for name, share in busy.items()
        },
        regions={
            "dc1": RegionReading(nodes=2, idle=0, free=free),
            "dc3": RegionReading(nodes=2, idle=0, free=free),
        },
    )


def managed(policy: Policy, rule: Rule) -> ApplicationManager:
    return ApplicationManager(policy, rule, graph=GRAPH, infrastructure=PLACES)


def granted(decided: Decision) -> dict[str, int]:
    return {asked.manager: asked.change for asked in decided.requests if asked.granted}


def refused(decided: Decision) -> dict[str, int]:
    return {asked.manager: asked.change for asked in decided.requests if not asked.granted}


# Conflicts


def test_the_busiest_module_gets_the_last_slot() -> None:
    decided = managed(Threshold(), Conflicts())(now(splitter=0.8, counter=0.8, consumer=0.9))
    assert granted(decided) == {"splitter": 1, "consumer": 1}
    assert refused(decided) == {"counter": 1}
    assert decided.configuration.degrees == {"splitter": 3, "counter": 2, "consumer": 3}
    assert decided.proposed is not None
    assert decided.proposed.degrees == {"splitter": 3, "counter": 3, "consumer": 3}
    assert "counter is refused +1, no room is left in dc3" in decided.why
    assert "granted: consumer +1, splitter +1" in decided.why


def test_of_equals_the_first_in_the_graph_gets_it() -> None:
    decided = managed(Threshold(), Conflicts())(now(consumer=0.9, counter=0.9))
    assert granted(decided) == {"counter": 1}


def test_the_first_request_passes_where_there_is_no_room_at_all() -> None:
    decided = managed(Threshold(), Conflicts())(now(free=0, counter=0.9, consumer=0.8))
    assert granted(decided) == {"counter": 1}
    assert refused(decided) == {"consumer": 1}
    assert decided.requests[0].answer == "dc3 has no room, granted to show it the demand"


def test_a_request_for_several_is_granted_in_part() -> None:
    decided = managed(Static(degrees=5), Conflicts())(now(free=2, counter=0.5))
    assert granted(decided) == {"counter": 2}
    assert refused(decided) == {"counter": 1}
    assert decided.configuration.degrees == {"counter": 4}


def test_giving_up_is_always_granted() -> None:
    decided = managed(Threshold(), Conflicts())(now(free=0, counter=0.1, consumer=0.1))
    assert granted(decided) == {"counter": -1, "consumer": -1}


def test_without_regions_there_are_no_conflicts() -> None:
    manager = ApplicationManager(Threshold(), Conflicts(), graph=GRAPH)
    assert granted(manager(now(free=0, counter=0.9, consumer=0.9))) == {"counter": 1, "consumer": 1}


def test_a_region_whose_room_is_unknown_refuses_no_request() -> None:
    decided = managed(Threshold(), Conflicts())(now(free=None, counter=0.9, consumer=0.9))
    assert granted(decided) == {"counter": 1, "consumer": 1}


@given(
    free=st.integers(0, 5),
    busy=st.lists(st.floats(0, 1) | st.none(), min_size=1, max_size=8),
    wants=st.lists(st.integers(1, 4), min_size=8, max_size=8),
)
def test_no_more_is_granted_than_there_is_room_for_but_for_the_first(
    free: int, busy: list[float | None], wants: list[int]
) -> None:
    wishes = [
        Proposal(
            level="application", manager=f"m{i}", before=1, change=wants[i], why="",
            region="dc3", load=share,
        )
        for i, share in enumerate(busy)
    ]  # fmt: skip
    observed, rule = now(free=free), Conflicts()
    answers = rule.accept(rule.prioritise(wishes, observed), observed)
    assert sum(answer.granted for answer in answers) <= max(free, 1)
    assert answers[0].granted >= 1
    assert all(0 <= answer.granted <= answer.proposal.change for answer in answers)


# Token bucket


@given(
    every=st.floats(0.1, 100),
    burst=st.integers(1, 5),
    gaps=st.lists(st.tuples(st.floats(0, 50), st.integers(0, 4)), max_size=60),
)
def test_a_token_bucket_never_exceeds_its_rate(
    every: float, burst: int, gaps: list[tuple[float, int]]
) -> None:
    rule, at, spent = TokenBucket(every=every, burst=burst), 0.0, [(0.0, 0)]
    for gap, wants in gaps:
        at += gap
        wishes = [
            Proposal(level="application", manager=f"m{i}", before=2, change=-1, why="")
            for i in range(wants)
        ]
        answers = rule.accept(wishes, seen(at=at))
        spent.append((at, sum(answer.granted != 0 for answer in answers)))
    for start in range(len(spent)):
        for end in range(start, len(spent)):
            count = sum(n for _, n in spent[start : end + 1])
            assert count <= burst + (spent[end][0] - spent[start][0]) / every + 1e-6


def test_what_conflicts_refuse_takes_no_token() -> None:
    rule = TokenBucket(every=60.0, burst=2)
    manager = managed(Threshold(), rule)
    decided = manager(now(counter=0.9, consumer=0.8))
    assert granted(decided) == {"counter": 1}
    assert decided.why.endswith("1 of 2 tokens left")
    assert granted(manager(now(splitter=0.9))) == {"splitter": 1}
    assert refused(manager(now(splitter=0.9))) == {"splitter": 1}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"every": "0s"}, "every of manager token-bucket must be above 0s, got 0s"),
        ({"burst": 0}, "burst of manager token-bucket must be 1 or more, got 0"),
    ],
)
def test_a_bucket_that_is_always_empty_is_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        build(MANAGERS["token-bucket"], given, of="manager token-bucket")


# Decisions


def test_what_else_was_decided_survives() -> None:
    table = {"counter": Routing(replicas=3), "splitter": Routing(replicas=2)}
    plan = Decision(
        configuration=Configuration(
            degrees={"counter": 3, "consumer": 3, "splitter": 2}, routing=table, frequency=1.8
        ),
        why="as planned",
        expects={"utilisation:counter": 0.5, "rate:splitter": 9.0},
    )
    decided = managed(lambda _: plan, Conflicts())(now(splitter=0.5, counter=0.2, consumer=0.9))
    assert decided.configuration.frequency == 1.8
    assert decided.configuration.degrees == {"counter": 2, "consumer": 3, "splitter": 2}
    assert set(decided.configuration.routing) == {"splitter"}
    assert decided.expects == {"rate:splitter": 9.0}
    assert decided.proposed == plan.configuration
    assert decided.requests[0].why == "as planned"
    assert managed(lambda _: plan, Accept())(now(counter=0.2)).configuration == plan.configuration


def test_nodes_stay_within_the_bounds_of_their_region() -> None:
    def greedy(_: Observation) -> Decision:
        return Decision(
            configuration=Configuration(degrees={}, nodes={"dc1": 9, "dc3": 0}), why="more"
        )

    decided = InfrastructureManager(greedy, Accept(), infrastructure=PLACES)(now())
    assert decided.configuration.nodes == {"dc1": 4, "dc3": 1}
    assert granted(decided) == {"dc1": 2, "dc3": -1}
    assert "dc1 limited to 4 nodes, the most allowed" in decided.why
    assert decided.proposed is not None
    assert decided.proposed.nodes == {"dc1": 9, "dc3": 0}


def test_two_levels_decide_together() -> None:
    policy = TwoLevels(
        managed(Threshold(), Conflicts()),
        InfrastructureManager(SimpleNodes(PLACES), TokenBucket(), infrastructure=PLACES),
    )
    decided = policy(now(counter=0.9, consumer=0.8))
    assert decided.configuration.degrees == {"counter": 3, "consumer": 2}
    assert decided.configuration.nodes == {"dc1": 3, "dc3": 2}
    assert decided.proposed is not None
    assert decided.proposed.degrees == {"counter": 3, "consumer": 3}
    assert decided.proposed.nodes == {"dc1": 3, "dc3": 3}
    levels = [(asked.level, asked.manager, asked.granted) for asked in decided.requests]
    assert levels == [
        ("application", "counter", True),
        ("application", "consumer", False),
        ("infrastructure", "dc1", True),
        ("infrastructure", "dc3", False),
    ]
    assert "; nodes: dc1 2 -> 3 nodes: 0 idle" in decided.why


def test_nothing_is_requested_of_a_region_that_does_not_answer() -> None:
    manager = InfrastructureManager(SimpleNodes(PLACES), Accept(), infrastructure=PLACES)
    manager(now())
    silent = replace(now(), regions={"dc1": RegionReading(), "dc3": RegionReading(nodes=2, idle=0)})
    decided = manager(silent)
    assert granted(decided) == {"dc3": 1}
    assert "dc1 does not answer, it keeps its 2 nodes" in decided.why


# With guards, and as any policy

GUARDS: dict[str, Callable[[Policy], Policy]] = {
    "clamp": lambda policy: Clamp(policy, high=2),
    "cooldown": lambda policy: Cooldown(policy, out=60.0),
    "step-limit": lambda policy: StepLimit(policy, out=0),
    "hold": lambda policy: Hold(policy, needs=("backlog",)),
    "dry-run": DryRun,
}


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("rule", MANAGERS)
def test_guards_hold_inside_and_around_managers(guard: str, rule: str) -> None:
    made = MANAGERS[rule]
    nodes = InfrastructureManager(SimpleNodes(PLACES), made(), infrastructure=PLACES)
    observed = now(counter=0.9, splitter=0.9)
    for policy in (
        TwoLevels(managed(GUARDS[guard](Threshold()), made()), nodes),
        TwoLevels(GUARDS[guard](managed(Threshold(), made())), nodes),
        GUARDS[guard](TwoLevels(managed(Threshold(), made()), nodes)),
    ):
        before = replace(
            observed,
            at=0.0,
            modules={n: replace(m, running=1) for n, m in observed.modules.items()},
        )
        policy(before)  # so that a cooldown has seen a change
        decided = policy(observed)
        assert decided.configuration.degrees == {"counter": 2, "splitter": 2}
        assert "; nodes: " in decided.why


@pytest.mark.parametrize("rule", MANAGERS)
def test_a_managed_policy_is_a_policy(rule: str) -> None:
    check_policy(
        lambda: TwoLevels(
            ApplicationManager(
                Threshold(), MANAGERS[rule](), graph=EXAMPLE_GRAPH, infrastructure=PLACES
            ),
            InfrastructureManager(LearnedNodes(PLACES), MANAGERS[rule](), infrastructure=PLACES),
        )
    )


def test_static_nodes_are_asked_for_as_any_others() -> None:
    manager = InfrastructureManager(StaticNodes(PLACES, nodes=3), Accept(), infrastructure=PLACES)
    assert granted(manager(now())) == {"dc1": 1, "dc3": 1}
