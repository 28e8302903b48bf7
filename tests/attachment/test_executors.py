"""How executors of an application are asked for and let go, on a scheduler that writes it down."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import pytest

from penstock.attachment.errors import APPLICATION
from penstock.attachment.plant import application_actuator
from penstock.core.errors import ClusterError
from penstock.spark.actuator import Actuator
from penstock.spark.backend import Executor, RunningTask
from tests.spark.test_progress import executor


@dataclass
class Books:
    """A cluster that grants requests when the test says so."""

    there: dict[str, Executor] = field(default_factory=dict)
    requests: list[dict[int, int]] = field(default_factory=list)
    decommissioned: list[str] = field(default_factory=list)
    killed: list[str] = field(default_factory=list)

    deaf: bool = False

    def request(self, targets: dict[int, int], /) -> bool:
        self.requests.append(dict(targets))
        return not self.deaf

    def decommission(self, executors: Iterable[str], /) -> tuple[str, ...]:
        self.decommissioned.extend(chosen := list(executors))
        return tuple(chosen)

    def kill_idle(self, executors: Iterable[str], /) -> tuple[str, ...]:
        gone = [name for name in executors if not self.there[name].active_tasks]
        self.killed.extend(gone)
        return tuple(gone)

    def executors(self, *, driver: bool = False) -> tuple[Executor, ...]:
        return tuple(self.there.values())

    def running_tasks(self) -> tuple[RunningTask, ...]:
        return ()


@dataclass
class Application:
    """The executors of an application, by number."""

    actuator: Actuator

    def want(self, number: int) -> bool:
        return self.actuator.want({APPLICATION: number})

    def reconcile(self, executors: Iterable[Executor]) -> int:
        return self.actuator.reconcile(executors)

    def members(self, executors: Iterable[Executor]) -> list[Executor]:
        return self.actuator.members(executors)[APPLICATION]

    @property
    def wanted(self) -> int | None:
        return self.actuator.wanted.get(APPLICATION)

    @property
    def requested(self) -> int | None:
        return self.actuator.requested.get(APPLICATION)


def application(*busy: int, graceful: bool = True) -> tuple[Application, Books]:
    """With one executor for each number of tasks."""
    there = {str(n): executor(str(n), tasks=tasks) for n, tasks in enumerate(busy)}
    books = Books(there)
    return Application(actuator_of(books, graceful=graceful)), books


def actuator_of(books: Books, *, graceful: bool = True) -> Actuator:
    return application_actuator(books, graceful=graceful)  # type: ignore[arg-type]


def test_growing_is_a_request() -> None:
    few, books = application(1, 1)
    assert few.want(5)
    assert books.requests == [{0: 5}]
    assert (few.wanted, few.requested) == (5, 5)


def test_what_is_there_need_not_be_asked_for() -> None:
    few, books = application(1, 1)
    assert not few.want(2)
    assert books.requests == []
    assert few.requested is None


def test_a_request_that_nobody_took_up_is_no_request() -> None:
    few, books = application(1)
    books.deaf = True
    with pytest.raises(ClusterError, match="did not accept a request for 3 executors"):
        few.want(3)
    assert (few.wanted, few.requested) == (None, None)
    books.deaf = False
    assert few.want(3)


def test_wanting_the_same_again_asks_for_nothing() -> None:
    few, books = application(1)
    few.want(3)
    assert not few.want(3)
    assert len(books.requests) == 1


def test_shrinking_lowers_the_request_and_lets_the_idle_leave() -> None:
    few, books = application(1, 0, 1)
    few.want(2)
    assert books.requests == [{0: 2}]
    assert books.decommissioned == ["1"]


def test_a_leaving_executor_is_dismissed_once_and_counts_no_more() -> None:
    few, books = application(0, 0, 0)
    few.want(2)
    assert few.reconcile(books.executors()) == 0
    assert len(books.decommissioned) == 1
    assert len(few.members(books.executors())) == 2


def test_without_decommissioning_a_busy_executor_is_never_killed() -> None:
    few, books = application(1, 1, graceful=False)
    few.want(1)
    assert books.killed == []
    assert few.reconcile(books.executors()) == 1
    books.there["1"] = executor("1", tasks=0)
    assert few.reconcile(books.executors()) == 0
    assert books.killed == ["1"]


def test_growing_again_before_the_farewell_keeps_everybody() -> None:
    few, books = application(1, 1, graceful=False)
    few.want(1)
    few.want(2)
    books.there = {name: executor(name) for name in books.there}
    assert few.reconcile(books.executors()) == 0
    assert books.killed == []


def test_executors_of_other_profiles_are_neither_counted_nor_cancelled() -> None:
    few, books = application(1, 1)
    books.there["9"] = replace(executor("9"), profile=4)
    assert len(few.members(books.executors())) == 2
    few.want(3)
    assert books.requests == [{0: 3, 4: 1}]


def test_an_executor_that_died_is_no_member() -> None:
    few, books = application(1, 1)
    books.there["1"] = executor("1", active=False)
    assert len(few.members(books.executors())) == 1
