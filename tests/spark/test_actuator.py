"""How executors are asked for and let go, on a scheduler that only records its calls."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from penstock.spark.actuator import Actuator, ModuleExecutors, choose_to_release
from penstock.spark.backend import Executor
from tests.spark.test_progress import executor


@dataclass
class Ledger:
    """A scheduler that grants every request at once."""

    granted: dict[str, Executor] = field(default_factory=dict)
    requests: list[dict[int, int]] = field(default_factory=list)
    dismissed: list[str] = field(default_factory=list)

    def request(self, targets: Mapping[int, int]) -> None:
        self.requests.append(dict(targets))
        for profile, target in targets.items():
            while sum(e.profile == profile for e in self.granted.values()) < target:
                name = str(len(self.granted))
                self.granted[name] = replace(executor(name), profile=profile, completed_tasks=1)

    def decommission(self, executors: Iterable[str]) -> tuple[str, ...]:
        agreed = tuple(executors)
        self.dismissed.extend(agreed)
        return agreed

    def executors(self) -> tuple[Executor, ...]:
        return tuple(self.granted.values())


@dataclass
class Query:
    between_batches: bool = True


@pytest.fixture
def query() -> Query:
    return Query()


@pytest.fixture
def actuator(tmp_path: Path, query: Query) -> Actuator:
    modules = {
        "split": ModuleExecutors(profile=1, hint=tmp_path / "split"),
        "count": ModuleExecutors(
            profile=0,
            hint=tmp_path / "count",
            shuffles=True,
            between_batches=lambda: query.between_batches,
        ),
    }
    made = Actuator(Ledger(), modules)  # type: ignore[arg-type]
    made.want({"split": 2, "count": 3})
    return made


def ledger(actuator: Actuator) -> Ledger:
    assert isinstance(actuator.backend, Ledger)
    return actuator.backend


def test_every_module_is_asked_for_in_one_request(actuator: Actuator) -> None:
    assert ledger(actuator).requests == [{1: 2, 0: 3}]


def test_wanting_the_same_again_asks_for_nothing(actuator: Actuator) -> None:
    actuator.want({"split": 2})
    assert len(ledger(actuator).requests) == 1


def test_the_request_is_lowered_before_executors_leave(actuator: Actuator) -> None:
    actuator.want({"split": 1})
    assert ledger(actuator).requests[-1] == {1: 1, 0: 3}
    assert len(ledger(actuator).dismissed) == 1


def test_a_leaving_executor_no_longer_runs_and_is_dismissed_once(actuator: Actuator) -> None:
    actuator.want({"split": 1})
    actuator.reconcile(ledger(actuator).executors())
    actuator.reconcile(ledger(actuator).executors())
    assert len(ledger(actuator).dismissed) == 1
    assert len(actuator.running(ledger(actuator).executors())["split"]) == 1


def test_a_module_that_shuffles_lets_go_only_between_batches(
    actuator: Actuator, query: Query
) -> None:
    query.between_batches = False
    actuator.want({"count": 1})
    assert ledger(actuator).dismissed == []
    actuator.batch_ended("count")
    assert len(ledger(actuator).dismissed) == 2


def test_a_module_without_shuffle_lets_go_at_once(actuator: Actuator, query: Query) -> None:
    query.between_batches = False
    actuator.want({"split": 1})
    assert len(ledger(actuator).dismissed) == 1


def test_the_end_of_a_batch_changes_nothing_where_nobody_has_to_go(actuator: Actuator) -> None:
    actuator.batch_ended("count")
    assert ledger(actuator).dismissed == []


def test_growing_again_before_the_farewell_keeps_everybody(
    actuator: Actuator, query: Query
) -> None:
    query.between_batches = False
    actuator.want({"count": 1})
    actuator.want({"count": 3})
    actuator.batch_ended("count")
    assert ledger(actuator).dismissed == []


def test_sources_learn_how_many_parts_are_useful(actuator: Actuator, tmp_path: Path) -> None:
    assert (tmp_path / "count").read_text() == "3"
    actuator.want({"count": 1})
    assert (tmp_path / "count").read_text() == "1"


def test_a_newcomer_does_not_count_as_running_before_its_first_task(actuator: Actuator) -> None:
    cold = replace(executor("77"), profile=1)
    executors = (*ledger(actuator).executors(), cold)
    assert len(actuator.members(executors)["split"]) == 3
    assert len(actuator.running(executors)["split"]) == 2


def test_growth_is_announced_until_everybody_is_there(actuator: Actuator) -> None:
    announced: list[None] = []
    actuator.on_growth = lambda: announced.append(None)
    actuator.want({"split": 4})
    assert announced == []  # the ledger grants at once
    actuator.reconcile(ledger(actuator).executors()[:3])
    assert len(announced) == 1


def test_cold_executors_go_first_then_idle_ones_then_the_newest() -> None:
    names = {"9": 1, "10": 0, "2": 0, "11": 1}
    warm = [replace(executor(n, tasks=t), completed_tasks=1) for n, t in names.items()]
    assert choose_to_release([*warm, executor("1")], 4) == ["1", "10", "2", "11"]
