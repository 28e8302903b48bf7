"""Executors that modules share, on a scheduler that only records its calls."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from penstock.spark.actuator import ALL_MODULES, PARTS, ExecutorPool, ModuleExecutors
from penstock.spark.backend import DEFAULT_PROFILE, Executor
from tests.spark.test_progress import executor


@dataclass
class Ledger:
    """A scheduler that grants every request at once."""

    granted: list[Executor] = field(default_factory=list)
    requests: list[dict[int, int]] = field(default_factory=list)
    shares: list[tuple[str, int]] = field(default_factory=list)

    def request(self, targets: Mapping[int, int]) -> None:
        self.requests.append(dict(targets))
        names = [str(number) for number in range(targets[DEFAULT_PROFILE])]
        self.granted = [replace(executor(name), completed_tasks=1) for name in names]

    def executors(self) -> tuple[Executor, ...]:
        return tuple(self.granted)

    def set_share(self, pool: str, cores: int) -> None:
        self.shares.append((pool, cores))


def make(folder: Path, *, divided: bool) -> tuple[ExecutorPool, Ledger]:
    names = ("fraud.lookup", "reports.lookup")
    modules = {n: ModuleExecutors(profile=DEFAULT_PROFILE, hint=folder / n) for n in names}
    ledger = Ledger()
    pool = ExecutorPool(ledger, modules, 8, divided=divided)  # type: ignore[arg-type]
    pool.open()
    return pool, ledger


def hints(folder: Path) -> dict[str, int]:
    return {file.name: int(file.read_text()) for file in folder.iterdir()}


def test_all_executors_are_asked_for_once_and_for_all(tmp_path: Path) -> None:
    pool, ledger = make(tmp_path, divided=True)
    pool.want({"fraud.lookup": 6, "reports.lookup": 2})
    assert ledger.requests == [{DEFAULT_PROFILE: 8}]
    assert pool.expected() == {ALL_MODULES: 8}
    assert len(pool.running(ledger.executors())[ALL_MODULES]) == 8


def test_only_shares_that_change_are_set(tmp_path: Path) -> None:
    pool, ledger = make(tmp_path, divided=True)
    pool.want({"fraud.lookup": 6, "reports.lookup": 2})
    pool.want({"fraud.lookup": 6, "reports.lookup": 1})
    assert ledger.shares == [("fraud.lookup", 6), ("reports.lookup", 2), ("reports.lookup", 1)]
    assert pool.wanted == pool.requested == {"fraud.lookup": 6, "reports.lookup": 1}


def test_sparks_own_scheduler_gets_no_shares(tmp_path: Path) -> None:
    pool, ledger = make(tmp_path, divided=False)
    pool.want({"fraud.lookup": 6, "reports.lookup": 2})
    assert (ledger.shares, pool.wanted) == ([], {})


def test_a_batch_has_parts_for_the_cores_of_its_module(tmp_path: Path) -> None:
    pool, ledger = make(tmp_path, divided=True)
    pool.want({"fraud.lookup": 6, "reports.lookup": 2})
    pool.reconcile(ledger.executors())
    assert hints(tmp_path) == {"fraud.lookup": 6 * PARTS, "reports.lookup": 2 * PARTS}
    pool.reconcile(ledger.executors()[:4])  # the others have died
    assert hints(tmp_path) == {"fraud.lookup": 3 * PARTS, "reports.lookup": PARTS}


def test_a_batch_has_parts_for_an_equal_share_where_nothing_is_decided(tmp_path: Path) -> None:
    pool, ledger = make(tmp_path, divided=False)
    pool.reconcile(ledger.executors())
    assert hints(tmp_path) == {"fraud.lookup": 4 * PARTS, "reports.lookup": 4 * PARTS}


@pytest.mark.parametrize("change", [{"active": False}, {"completed_tasks": 0}])
def test_executors_that_died_or_are_not_yet_awake_do_not_run(
    tmp_path: Path, change: dict[str, int]
) -> None:
    pool, ledger = make(tmp_path, divided=True)
    first, *others = ledger.executors()
    some = [replace(first, **change), *others]  # type: ignore[arg-type]
    assert len(pool.running(some)[ALL_MODULES]) == 7
