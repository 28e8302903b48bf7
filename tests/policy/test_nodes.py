"""What proposes nodes for regions keeps to their bounds, and lets the others go on."""

from collections.abc import Callable
from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.core.regions import Infrastructure, Region
from penstock.core.roles import Policy
from penstock.core.settings import build
from penstock.core.signals import Observation, RegionReading
from penstock.policy import NODE_POLICIES
from penstock.policy.nodes import SimpleNodes, StaticNodes
from penstock.policy.rl.nodes import LearnedNodes

PLACES = Infrastructure(
    regions=(Region(name="dc1", max_nodes=4), Region(name="dc2", max_nodes=4, initial_nodes=2))
)


def now(at: float = 1.0, **regions: RegionReading) -> Observation:
    return Observation(at=at, step=1.0, modules={}, regions=regions)


def busy(nodes: int, **more: object) -> RegionReading:
    values = {"idle": 0, "free": 0, "replicas": 2 * nodes, "utilisation": 0.8, "unmet": 0, **more}
    return RegionReading(nodes=nodes, **values)  # type: ignore[arg-type]  # as the fields are


READINGS = st.builds(
    RegionReading,
    nodes=st.none() | st.integers(0, 6),
    idle=st.none() | st.integers(0, 3),
    replicas=st.none() | st.integers(0, 4),
    utilisation=st.none() | st.floats(0, 1),
    unmet=st.none() | st.integers(0, 2),
    requested=st.none() | st.integers(0, 6),
    trouble=st.none() | st.just("the network is gone"),
)


@pytest.mark.parametrize("kind", NODE_POLICIES)
@given(script=st.lists(st.tuples(READINGS, READINGS), max_size=15))
@settings(deadline=None, max_examples=40)
def test_a_node_is_asked_for_or_given_up_within_bounds(
    kind: str, script: list[tuple[RegionReading, RegionReading]]
) -> None:
    policy = build(NODE_POLICIES[kind], {}, of="policy", infrastructure=PLACES)
    for one, other in script:
        decided = policy(now(dc1=one, dc2=other))
        assert decided.configuration.degrees == {}
        assert ". " not in decided.why
        for name, reading in (("dc1", one), ("dc2", other)):
            asked = reading.nodes if reading.requested is None else reading.requested
            after = decided.configuration.nodes.get(name)
            if not reading.answers:
                assert after is None
                continue
            assert asked is not None
            assert after is not None
            assert abs(after - asked) <= 1
            assert after <= asked or after <= 4
            assert after >= asked or (after >= 1 and reading.idle)
            assert after == asked or reading.trouble is None


@pytest.mark.parametrize("kind", NODE_POLICIES)
def test_the_same_observations_lead_to_the_same_decisions(kind: str) -> None:
    def make() -> Policy:
        return build(NODE_POLICIES[kind], {}, of="policy", infrastructure=PLACES)

    policy, other = make(), make()
    assert policy == other
    assert repr(policy) == repr(other)
    script = [now(dc1=busy(1 + step % 3, unmet=step % 2), dc2=busy(2)) for step in range(40)]
    past, future = script[:20], script[20:]
    assert [policy(seen) for seen in past] == [other(seen) for seen in past]
    fork = deepcopy(policy)
    fork(now(dc1=busy(4, unmet=1), dc2=busy(4, unmet=1)))
    assert [policy(seen) for seen in future] == [other(seen) for seen in future]


@pytest.mark.parametrize("kind", NODE_POLICIES)
def test_says_so_where_there_is_no_region(kind: str) -> None:
    policy = build(NODE_POLICIES[kind], {}, of="policy", infrastructure=PLACES)
    assert policy(now()).why == "no region was seen"


# A region that stops answering

SILENT: dict[str, tuple[RegionReading, str]] = {
    "silent": (RegionReading(), "dc2 does not answer, it keeps its 3 nodes"),
    "silent, known why": (
        RegionReading(trouble="2 of its workers are gone"),
        "dc2 does not answer (2 of its workers are gone), it keeps its 3 nodes",
    ),
    "in trouble": (
        busy(3, trouble="no machine will start"),
        "dc2 reports a problem (no machine will start), it keeps its 3 nodes",
    ),
}


@pytest.mark.parametrize("kind", ["simple", "rl"])
@pytest.mark.parametrize("case", SILENT)
def test_a_region_that_does_not_answer_is_held_and_the_others_go_on(kind: str, case: str) -> None:
    policy = build(NODE_POLICIES[kind], {}, of="policy", infrastructure=PLACES)
    for step in range(10):
        policy(now(at=step, dc1=busy(2, unmet=1), dc2=busy(3, unmet=1)))
    reading, reason = SILENT[case]
    decided = policy(now(at=11.0, dc1=busy(2, unmet=1), dc2=reading))
    assert reason in decided.why
    assert decided.configuration.nodes["dc1"] == 3
    assert decided.configuration.nodes.get("dc2") == reading.nodes


def test_a_region_that_is_not_reported_does_not_answer() -> None:
    assert SimpleNodes(PLACES)(now(dc1=busy(2))).why == (
        "dc1 2 -> 3 nodes: 0 idle, fewer than 2; dc2 does not answer, it keeps what it has"
    )


def test_nothing_is_learned_across_the_gap() -> None:
    policy = LearnedNodes(PLACES)
    policy(now(dc1=busy(2), dc2=busy(2)))
    policy(now(dc1=busy(2), dc2=RegionReading()))
    policy(now(dc1=busy(2), dc2=busy(4, unmet=3)))
    learned = policy.agents()
    assert learned["dc1"].progress.steps == 2
    assert learned["dc2"].progress.steps == 0
    assert learned["dc2"].visits.sum() == 0


# Each


def test_static_keeps_what_is_there_or_what_it_was_given() -> None:
    seen = now(dc1=busy(1), dc2=busy(2, requested=3))
    assert StaticNodes(PLACES)(seen).configuration.nodes == {"dc1": 1, "dc2": 3}
    assert StaticNodes(PLACES, nodes={"dc2": 4})(seen).configuration.nodes == {"dc1": 1, "dc2": 4}
    assert StaticNodes(PLACES, nodes=2)(seen).configuration.nodes == {"dc1": 2, "dc2": 2}


@pytest.mark.parametrize("nodes", [0, 5, {"dc1": 9}])
def test_static_refuses_nodes_that_a_region_cannot_have(nodes: int | dict[str, int]) -> None:
    with pytest.raises(SettingError, match="must be 1 to 4 in region dc1, got"):
        StaticNodes(PLACES, nodes=nodes)


@pytest.mark.parametrize(
    ("nodes", "idle", "requested", "after"),
    [
        (2, 0, 2, 3),
        (2, 2, 2, 2),
        (3, 3, 3, 2),
        (4, 1, 4, 4),  # the most
        (2, 1, 3, 3),  # one is to come
        (2, 0, 3, 4),
        (1, 3, 1, 1),  # the fewest
    ],
)
def test_simple_keeps_two_idle(nodes: int, idle: int, requested: int, after: int) -> None:
    reading = busy(nodes, idle=idle, requested=requested)
    assert SimpleNodes(PLACES)(now(dc1=reading)).configuration.nodes == {"dc1": after}


def test_rl_acquires_where_requests_find_no_room_and_releases_what_is_idle() -> None:
    policy, nodes, course = LearnedNodes(PLACES), 1, []
    for step in range(600):
        reading = busy(nodes, unmet=int(nodes < 3), idle=max(nodes - 2, 0))
        decided = policy(now(at=step, dc1=reading))
        nodes = decided.configuration.nodes["dc1"]
        course.append(nodes)
    assert set(course[-100:]) == {3}


def test_rl_counts_an_empty_region_as_not_busy() -> None:
    policy = LearnedNodes(PLACES)
    policy(now(dc1=RegionReading(nodes=1, idle=1, replicas=0, unmet=0)))
    policy(now(dc1=RegionReading(nodes=1, idle=1, replicas=0, unmet=0)))
    assert policy.agents()["dc1"].visits[0, 1, 1] == 1
    held = policy(now(dc1=RegionReading(nodes=1, idle=1, replicas=1, unmet=0)))
    assert held.why.startswith("dc1 keeps its 1 node, utilisation unknown")


def test_rl_learns_but_holds_while_nodes_are_to_come() -> None:
    policy = LearnedNodes(PLACES)
    for _ in range(20):
        decided = policy(now(dc1=busy(1, requested=2, unmet=1)))
        assert decided.configuration.nodes == {"dc1": 2}
    assert "1 of them still to come" in decided.why
    assert policy.agents()["dc1"].visits[8, 0, 1] == 19


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"demand_weight": 0.7, "resource_weight": 0.5}, "sum to 1, got 0.7 and 0.5"),
        ({"demand_weight": 1.2}, "sum to 1, got 1.2 and -0.2"),
        ({"quantum": 0.0}, r"quantum of policy rl of infrastructure must be in \(0, 1\], got 0"),
        ({"quantum": 1.5}, r"must be in \(0, 1\], got 1.5"),
        ({"quantum": 1e-9}, "levels, at most 1001 can be learned"),
        ({"quantum": float("nan")}, r"must be in \(0, 1\], got nan"),
        ({"discount": 1.0}, r"discount of policy rl of infrastructure must be in \[0, 1\)"),
        ({"learning_rate": 1.1}, r"learning_rate of policy rl of infrastructure must be in"),
    ],
)
def test_rl_refuses_what_nothing_can_be_learned_with(given: dict[str, float], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        LearnedNodes(PLACES, **given)  # type: ignore[arg-type]  # all of them are numbers


@pytest.mark.parametrize(
    "make", [lambda: SimpleNodes(PLACES, idle=-1), lambda: build(SimpleNodes, {"idle": "x"}, of="")]
)
def test_simple_refuses_fewer_idle_nodes_than_none(make: Callable[[], object]) -> None:
    with pytest.raises(SettingError, match="idle"):
        make()
