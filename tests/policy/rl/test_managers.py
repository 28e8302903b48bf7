"""What managers, learners and closed loops must not do."""

import json
from pathlib import Path

import numpy as np
import pytest

from penstock.core.errors import FileError, SettingError
from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.regions import Infrastructure, Region
from penstock.core.signals import Configuration, Decision, ModuleReading, Observation, RegionReading
from penstock.papers.e2df.closed_loop import Levels
from penstock.policy.hierarchy import ApplicationManager, Conflicts, TokenBucket
from penstock.policy.rl import saved
from penstock.policy.rl.learners import QLearning, Rl, WarmStart
from penstock.policy.rl.nodes import LearnedNodes

PLACES = Infrastructure(regions=(Region(name="full"), Region(name="roomy")))


def two(first: str, second: str) -> FlowGraph:
    return FlowGraph(
        source="a",
        modules=(Module(name="a", region=first), Module(name="b", region=second)),
        streams=(Stream(origin="a", target="b"),),
    )


def wants(**degrees: int) -> Decision:
    return Decision(configuration=Configuration(degrees=degrees), why="a wants more; b wants more")


def now(at: float, *, free: dict[str, int], **modules: ModuleReading) -> Observation:
    regions = {name: RegionReading(nodes=1, free=room) for name, room in free.items()}
    return Observation(at=at, step=60.0, modules=modules, regions=regions)


def test_a_request_without_room_takes_no_token_from_one_that_has_room() -> None:
    graph, asked = two("full", "roomy"), wants(a=2, b=2)
    manager = ApplicationManager(
        lambda _: asked, TokenBucket(every=60.0), graph=graph, infrastructure=PLACES
    )
    busy, less = (
        ModuleReading(utilisation=1.0, running=1),
        ModuleReading(utilisation=0.9, running=1),
    )
    decided = manager(now(0.0, free={"full": 0, "roomy": 1}, a=busy, b=less))
    assert decided.configuration.degrees == {"a": 2, "b": 2}
    assert {r.manager: r.granted for r in decided.requests} == {"a": True, "b": True}


def test_of_two_overloaded_modules_the_one_with_more_to_do_comes_first() -> None:
    graph, asked = two("full", "full"), wants(a=2, b=2)
    manager = ApplicationManager(lambda _: asked, Conflicts(), graph=graph, infrastructure=PLACES)
    some = ModuleReading(utilisation=1.0, load=1.5, running=1)
    more = ModuleReading(utilisation=1.0, load=3.0, running=1)
    decided = manager(now(0.0, free={"full": 1}, a=some, b=more))
    assert decided.configuration.degrees == {"a": 1, "b": 2}


def test_a_request_granted_in_part_does_not_carry_the_words_of_its_refusal() -> None:
    graph, asked = two("full", "roomy"), wants(a=4, b=1)
    manager = ApplicationManager(lambda _: asked, Conflicts(), graph=graph, infrastructure=PLACES)
    one = ModuleReading(utilisation=1.0, running=1)
    granted, refused = manager(now(0.0, free={"full": 2, "roomy": 1}, a=one, b=one)).requests
    assert (granted.change, granted.granted, granted.answer) == (
        *(2, True),
        "a part of the request",
    )
    assert (refused.change, refused.granted) == (1, False)
    assert "no more room is left in full" in refused.answer


LONE = FlowGraph(source="a", modules=(Module(name="a", service_time=0.01, max_replicas=8),))


def rows(rate: float, running: int | None) -> Observation:
    reading = ModuleReading(
        arrival_rate=rate, waiting_time=0.0, service_time=0.01, running=running, utilisation=0.5
    )
    return Observation(at=0.0, step=1.0, modules={"a": reading})


@pytest.mark.parametrize("gap", [rows(0.0, None), Observation(at=0.0, step=1.0, modules={})])
def test_nothing_is_learned_across_a_gap(gap: Observation) -> None:
    policy = Rl(LONE, bound=0.05)
    for seen in (rows(0.0, 2), gap, rows(790.0, 2)):
        policy(seen)
    agent = policy.agents()["a"]
    assert agent.visits.sum() == 0


def test_what_was_learned_with_another_fewest_is_refused(tmp_path: Path) -> None:
    narrow = FlowGraph(
        source="a",
        modules=(
            Module(name="a", service_time=0.01, max_replicas=8, min_replicas=3, initial_replicas=3),
        ),
    )
    policy = QLearning(narrow, bound=0.05)
    for _ in range(3):
        policy(rows(100.0, 3))
    (tmp_path / "learned.json").write_text(json.dumps(saved.learned(policy)))
    with pytest.raises(SettingError, match=r"min_replicas 3, and it is 1 now"):
        QLearning(LONE, bound=0.05, load=str(tmp_path / "learned.json"))


@pytest.mark.parametrize(("name", "value"), [("steps", 10**30), ("visits", 1e300), ("q", None)])
def test_numbers_that_cannot_be_are_refused(tmp_path: Path, name: str, value: object) -> None:
    policy = Rl(LONE, bound=0.05)
    for _ in range(3):
        policy(rows(100.0, 2))
    data = saved.learned(policy)
    entry = data["application"]["a"]
    if name == "steps":
        entry["steps"] = value
    else:
        entry["arrays"][name] = np.full(np.shape(entry["arrays"][name]), value).tolist()
    (tmp_path / "learned.json").write_text(json.dumps(data))
    with pytest.raises(FileError, match=r"save it again"):
        saved.read(tmp_path / "learned.json")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"quantum": 0.0}, r"quantum of a closed loop must be in \(0, 1\], got 0"),
        ({"levels": 0}, r"levels of a closed loop must be"),
        ({"demand_weight": 7.0}, r"demand_weight of a closed loop must be in \[0, 1\], got 7"),
        ({"discount": 2.0}, r"discount of a closed loop must be in \[0, 1\), got 2"),
        ({"resource_weight": 0.9}, r"sum to 1, got 0.333333, 0.333333 and 0.9"),
        ({"bound": 0.0}, r"bound of a closed loop must be above 0, got 0"),
        ({"application": "x"}, r"application of a closed loop must be threshold or rl, got 'x'"),
    ],
)
def test_a_closed_loop_refuses_what_nothing_can_be_learned_with(
    given: dict[str, float], message: str
) -> None:
    with pytest.raises(SettingError, match=message):
        Levels(**given)  # type: ignore[arg-type]


def test_a_table_too_large_to_look_through_is_refused() -> None:
    wide = Infrastructure(regions=(Region(name="dc1", max_nodes=10_000),))
    with pytest.raises(SettingError, match=r"the table of dc1 would have 20,022,002 states"):
        LearnedNodes(wide, quantum=0.001)


def test_a_delay_that_may_be_between_two_pairs_is_refused() -> None:
    names = ("a-b", "c", "a", "b-c")
    with pytest.raises(SettingError, match=r"delay a-b-c may be from a-b to c or from a to b-c"):
        Infrastructure(regions=tuple(Region(name=n) for n in names), delays={"a-b-c": 0.1})


def test_a_module_that_is_handed_over_does_not_try_what_it_could_have_foreseen() -> None:
    """Four replicas, 85 % busy with three: two would fall behind for ever."""
    policy = WarmStart(
        LONE,
        bound=0.05,
        patience=20,
        reconfiguration_weight=0.1,
        performance_weight=0.6,
        resource_weight=0.3,
    )
    running, fewest = 4, 4
    for step in range(400):
        busy = 2.55 / running
        waits = 10.0 if busy >= 1 else 0.01 * busy / (2 * (1 - busy))
        reading = ModuleReading(
            arrival_rate=255.0,
            waiting_time=waits,
            service_time=0.01,
            utilisation=min(busy, 1.0),
            running=running,
        )
        seen = Observation(at=float(step), step=1.0, modules={"a": reading})
        running = policy(seen).configuration.degrees.get("a", running)
        fewest = min(fewest, running)
    assert policy.handed_over == {"a"}
    assert fewest >= 3
