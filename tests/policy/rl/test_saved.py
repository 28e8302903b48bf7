"""What was learned can be saved, loaded, looked into, and is refused where it does not fit."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.core.errors import FileError, SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.core.regions import Infrastructure, Region
from penstock.core.roles import Policy
from penstock.core.signals import ModuleReading, Observation, RegionReading
from penstock.guard import Clamp, DryRun
from penstock.policy import QLearning, Rl, Threshold, WarmStart
from penstock.policy.hierarchy import Accept, ApplicationManager, InfrastructureManager, TwoLevels
from penstock.policy.rl.nodes import LearnedNodes
from penstock.policy.rl.saved import inspection, learned, read

PLACES = Infrastructure(regions=(Region(name="dc1", max_nodes=4),))
GRAPH = FlowGraph(
    source="count", modules=(Module(name="count", service_time=0.01, max_replicas=6),)
)
LEARNERS: dict[str, Callable[..., Policy]] = {
    "rl": lambda **more: Rl(GRAPH, bound=0.05, **more),
    "q-learning": lambda **more: QLearning(GRAPH, bound=0.05, **more),
    "warm-start": lambda **more: WarmStart(GRAPH, bound=0.05, patience=5, **more),
    "warm-start, q-learning": lambda **more: WarmStart(
        GRAPH, bound=0.05, patience=2, tolerance=0.9, learner="q-learning", **more
    ),
    "rl of regions": lambda **more: LearnedNodes(PLACES, **more),
}


def script(steps: int, *, start: int = 0) -> list[Observation]:
    return [
        Observation(
            at=float(step),
            step=1.0,
            modules={
                "count": ModuleReading(
                    arrival_rate=60.0 * (1 + step // 7 % 6),
                    waiting_time=float(step % 5 == 0),
                    service_time=0.01,
                    utilisation=0.6,
                    running=2 + step // 11 % 3,
                )
            },
            regions={
                "dc1": RegionReading(
                    nodes=1 + step // 9 % 3,
                    idle=step // 5 % 2,
                    replicas=2,
                    utilisation=(step % 10) / 10,
                    unmet=int(step % 6 == 0),
                )
            },
        )
        for step in range(start, start + steps)
    ]


def gap() -> Observation:
    return Observation(at=0.0, step=1.0, modules={}, regions={"dc1": RegionReading()})


@pytest.mark.parametrize("kind", LEARNERS)
def test_what_was_saved_decides_as_if_it_had_never_stopped(kind: str, tmp_path: Path) -> None:
    policy, path = LEARNERS[kind](), tmp_path / "tables.json"
    for observed in script(300):
        policy(observed)
    path.write_text(json.dumps(learned(policy)))
    again = LEARNERS[kind](load=str(path))
    assert learned(again) == learned(policy) == read(path)
    policy(gap())  # what is loaded does not know where it was a step ago
    if isinstance(policy, WarmStart):
        assert policy.handed_over == again.handed_over == {"count"}  # type: ignore[attr-defined]
    for observed in script(100, start=300):
        assert policy(observed) == again(observed)
    assert learned(policy) == learned(again)


def test_both_levels_are_found_inside_guards_and_managers(tmp_path: Path) -> None:
    policy = DryRun(
        TwoLevels(
            ApplicationManager(Clamp(LEARNERS["rl"](), high=4), Accept(), graph=GRAPH),
            InfrastructureManager(LEARNERS["rl of regions"](), Accept(), infrastructure=PLACES),
        )
    )
    assert learned(policy) == {}
    for observed in script(5):
        policy(observed)
    data = learned(policy)
    assert (set(data["application"]), set(data["infrastructure"])) == ({"count"}, {"dc1"})
    (tmp_path / "both.json").write_text(json.dumps(data))
    Rl(GRAPH, bound=0.05, load=str(tmp_path / "both.json"))
    LearnedNodes(PLACES, load=str(tmp_path / "both.json"))


def test_a_policy_that_does_not_learn_has_nothing_to_save() -> None:
    assert learned(Clamp(Threshold())) == {}


# What does not fit


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    policy = LEARNERS["rl"]()
    for observed in script(50):
        policy(observed)
    (tmp_path / "tables.json").write_text(json.dumps(learned(policy)))
    return tmp_path / "tables.json"


MISFITS: dict[str, tuple[Callable[[str], object], str]] = {
    "levels": (
        lambda path: Rl(GRAPH, bound=0.05, levels=8, load=path),
        "has 10 levels, 1 flag and numbers to 6, and 8 levels, 1 flag and numbers to 6 are needed",
    ),
    "replicas": (
        lambda path: Rl(
            FlowGraph(
                source="count", modules=(Module(name="count", service_time=0.01, max_replicas=9),)
            ),
            bound=0.05,
            load=path,
        ),
        "numbers to 6, and 10 levels, 1 flag and numbers to 9 are needed",
    ),
    "kind": (
        lambda path: QLearning(GRAPH, bound=0.05, load=path),
        "was learned by rl, and q-learning is to begin with it",
    ),
    "bound": (
        lambda path: Rl(GRAPH, bound=0.1, load=path),
        "was learned with bound 0.05, and it is 0.1 now",
    ),
    "no bound": (
        lambda path: Rl(GRAPH, load=path),
        "was learned with bound 0.05, and it is none now",
    ),
    "peak": (
        lambda path: Rl(GRAPH, bound=0.05, peak=100.0, load=path),
        "was learned with span 600, and it is 100 now",
    ),
    "level": (
        lambda path: LearnedNodes(PLACES, load=path),
        "holds no tables of the infrastructure, only of the application",
    ),
    "modules": (
        lambda path: Rl(
            FlowGraph(source="other", modules=(Module(name="other", service_time=0.01),)), load=path
        ),
        "holds tables of count, and the modules are other",
    ),
}


@pytest.mark.parametrize("case", MISFITS)
def test_a_table_that_does_not_fit_is_refused(case: str, saved: Path) -> None:
    make, message = MISFITS[case]
    with pytest.raises(SettingError, match=message):
        make(str(saved))


def spoilt(data: dict[str, Any], what: str) -> str:
    entry = data["application"]["count"]
    match what:
        case "version":
            data["version"] = 7
        case "format":
            data["format"] = "run"
        case "kind":
            entry["kind"] = "sarsa"
        case "missing array":
            del entry["arrays"]["penalty"]
        case "ragged":
            entry["arrays"]["visits"][0] = [[1.0]]
        case "short":
            entry["arrays"]["level_counts"].pop()
        case "words":
            entry["arrays"]["penalty"][0][0][0] = "many"
        case "null":
            entry["arrays"]["penalty"][0][0][0] = None
        case "negative":
            entry["arrays"]["visits"][0][0][0] = -1.0
        case "no counts":
            entry["arrays"]["level_counts"][0] = [0.0] * 10
        case "not whole":
            del entry["shape"]["flags"]
        case "no tables":
            data["application"] = [1, 2]
        case "nan":
            entry["arrays"]["penalty"][0][0][0] = float("nan")
    return json.dumps(data)


SPOILT = {
    "version": "holds learned tables of version 7, and this one reads version 1; save them again",
    "format": "holds no learned tables; give a file that a run has saved",
    "kind": "is of kind 'sarsa', and there are rl and q-learning",
    "missing array": "has no penalty; save it again",
    "ragged": "visits of the table of count in .* is not made of numbers",
    "short": "has the shape 9 x 10, and 10 x 10 is needed",
    "words": "penalty of the table of count in .* is not made of numbers",
    "null": "penalty of the table of count in .* holds a number that cannot be",
    "negative": "visits of the table of count in .* holds a number that cannot be",
    "no counts": "level_counts of the table of count in .* holds a number that cannot be",
    "not whole": "the table of count in .* is not whole",
    "no tables": "has no tables under application",
    "nan": "it holds NaN, which is no number to learn from",
}


@pytest.mark.parametrize("what", SPOILT)
def test_a_spoilt_file_is_explained_in_one_sentence(what: str, saved: Path) -> None:
    saved.write_text(spoilt(json.loads(saved.read_text()), what))
    with pytest.raises(FileError, match=SPOILT[what]) as error:
        Rl(GRAPH, bound=0.05, load=str(saved))
    assert str(saved) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"null", b"[" * 100_000])
def test_a_garbled_file_is_explained(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_bytes(content)
    with pytest.raises(FileError, match=r"t\.json holds no learned tables"):
        read(tmp_path / "t.json")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"there is no file .*none\.json with learned tables"):
        read(tmp_path / "none.json")
    with pytest.raises(FileError, match="cannot be read: is a directory"):
        read(tmp_path)


# Looking into it


def test_an_inspection_reports_what_would_be_done(saved: Path) -> None:
    (found,) = inspection(read(saved))
    assert (found.level, found.manager, found.kind) == ("application", "count", "rl")
    assert found.numbers == (0, 1, 2, 3, 4, 5, 6)
    assert found.levels[:2] == ("0/s", "60/s")
    assert found.flags == ("",)
    assert len(found.actions) == 1
    assert {len(row) for row in found.actions[0]} == {10}
    assert sum(sum(row) for row in found.visits[0]) == found.steps == 49
    assert found.actions[0][6] != (1,) * 10
    assert found.penalties is not None
    assert max(map(max, found.penalties[0])) > 0
    assert found.handed_over is None


def test_an_inspection_of_a_region_reports_both_flags() -> None:
    policy = LearnedNodes(PLACES)
    for observed in script(500):
        policy(observed)
    (found,) = inspection(learned(policy))
    assert found.flags == ("no idle node", "an idle node")
    assert found.levels[3] == "30 %"
    assert -1 not in {action for row in found.actions[0] for action in row}
    assert 0 <= found.settled <= 1
    for flag in found.actions:
        assert all(action < 1 for action in flag[4])  # four nodes are the most


def test_an_inspection_of_what_learns_without_a_model_has_no_penalties() -> None:
    policy = LEARNERS["warm-start, q-learning"]()
    for observed in script(300):
        policy(observed)
    (found,) = inspection(learned(policy))
    assert (found.kind, found.penalties, found.handed_over) == ("q-learning", None, True)
