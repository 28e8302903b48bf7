"""Work by key while keys change hands: what must hold whatever happens, without Spark."""

import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from penstock.core.errors import SettingError, UserError
from penstock.core.routing import Routing
from penstock.query.keyed import PROTOCOLS, Groups, KeyedOperator, Setting, Worked
from penstock.query.keyed.operator import InProcess
from penstock.query.keyed.task import CACHE, TaskReport
from penstock.query.keyed.work import recent
from tests.support.processes import wait_until

Row = tuple[str, int, int]
"""Key, number, value."""

RESULT = ("key", "number", "sum", "count")
RESULTS = pa.schema([(name, pa.string() if name == "key" else pa.int64()) for name in RESULT])
DTYPE = np.dtype([("number", "i8"), ("ts", "i8"), ("value", "i8")])
COLUMNS = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("key", pa.string()),
        ("number", pa.int64()),
        ("value", pa.int64()),
    ]
)


@dataclass(frozen=True)
class Sums:
    """For every row the sum of the last three of its key, and how many there were; values below
    zero are refused."""

    key: str = "key"
    dtype: np.dtype[Any] = DTYPE
    keep: int = 2
    results: pa.Schema = RESULTS

    def __call__(self, past: Groups, counts: NDArray[np.int64], fresh: Groups) -> Worked:
        results: list[tuple[str, int, int, int]] = []
        triggers: list[int] = []
        kept = fresh.rows["value"] >= 0
        for place, (key, rows) in enumerate(fresh):
            _, old = list(past)[place]
            recent, count = old["value"].tolist(), int(counts[place])
            for at, row in enumerate(rows):
                if row["value"] >= 0:
                    recent, count = [*recent, int(row["value"])][-3:], count + 1
                    results.append((key, int(row["number"]), sum(recent), count))
                    triggers.append(int(fresh.offsets[place]) + at)
        return Worked(
            results=pa.RecordBatch.from_pylist(
                [dict(zip(RESULT, result, strict=True)) for result in results], self.results
            ),
            triggers=np.array(triggers, np.int64),
            kept=kept,
            refused={"negative": int((~kept).sum())},
        )


def table(rows: Iterable[Row]) -> pa.Table:
    """Rows as they reach the splitter."""
    return pa.Table.from_pylist(
        [{"ts": n, "key": key, "number": n, "value": value} for key, n, value in rows], COLUMNS
    )


def reference(rows: Iterable[Row]) -> list[tuple[str, int, int, int]]:
    """What must come out, by number."""
    recent: dict[str, list[int]] = defaultdict(list)
    results = []
    for key, number, value in sorted(rows, key=lambda row: row[1]):
        if value >= 0:
            recent[key].append(value)
            results.append((key, number, sum(recent[key][-3:]), len(recent[key])))
    return results


KEYS = "ABCDE"


@dataclass(frozen=True)
class Witness(Sums):
    """Notes which keys are worked on together."""

    calls: list[tuple[str, ...]] = field(default_factory=list)

    def __call__(self, past: Groups, counts: NDArray[np.int64], fresh: Groups) -> Worked:
        self.calls.append(fresh.keys)
        return super().__call__(past, counts, fresh)


class Bench:
    """An operator in this process, and everything that came out of it."""

    def __init__(self, store: Path, *, protocol: str = "mp", fetch_delay: float = 0.0) -> None:
        self.results: dict[int, list[tuple[str, int, int, int]]] = {}
        self.reports: list[TaskReport] = []
        self.store = store
        self.setting = Setting(protocol=protocol, fetch_delay=fetch_delay, grace=0.0)
        self.operator = self.start()

    def start(self) -> KeyedOperator:
        return KeyedOperator(
            work=Sums(),
            store=str(self.store),
            sink=self.sink,
            table=Routing(replicas=1),
            setting=self.setting,
            engine=InProcess(),
            on_report=self.reports.extend,
        )

    def sink(self, results: pa.Table, step: int) -> None:
        rows = results.to_pylist()
        self.results[step] = [(r["key"], r["number"], r["sum"], r["count"]) for r in rows]

    def step(self, number: int, rows: list[Row], routing: Routing | None = None) -> None:
        CACHE.clear()  # as where every task meets a new process
        if routing is not None:
            self.operator.reroute(routing)
        self.operator.take(table(rows), number)

    def finish(self) -> list[tuple[str, int, int, int]]:
        self.operator.settle()
        return [result for step in sorted(self.results) for result in self.results[step]]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.operator.settle()


routings = st.integers(1, 4).flatmap(
    lambda n: st.builds(
        Routing,
        replicas=st.just(n),
        owners=st.dictionaries(st.sampled_from(KEYS), st.integers(0, n - 1)),
    )
)
rows_of_keys = st.lists(st.tuples(st.sampled_from(KEYS), st.integers(-1, 9)), max_size=60)
steps = st.lists(st.tuples(rows_of_keys, routings | st.none()), max_size=8)


@given(steps, st.sampled_from(PROTOCOLS), st.sampled_from([0.0, 1e-4, 2e-3]))
def test_results_are_those_of_a_single_thread_whatever_moves(
    steps: list[tuple[list[tuple[str, int]], Routing | None]], protocol: str, delay: float
) -> None:
    with TemporaryDirectory() as folder:
        bench = Bench(Path(folder), protocol=protocol, fetch_delay=delay)
        fed: list[Row] = []
        for number, (drawn, routing) in enumerate(steps):
            rows = [(key, len(fed) + place, value) for place, (key, value) in enumerate(drawn)]
            fed += rows
            bench.step(number, rows, routing)
        came = bench.finish()
    assert sorted(came, key=lambda result: result[1]) == reference(fed)
    for key in KEYS:  # nothing overtakes another row of its key
        numbers = [number for k, number, _, _ in came if k == key]
        assert all(a < b for a, b in pairwise(numbers))


def moving(bench: Bench) -> list[Row]:
    """Two keys on two replicas, then one of them moves, and both have a row more."""
    first = [("A", 0, 1), ("B", 1, 2)]
    bench.step(0, first, Routing(replicas=2, owners={"A": 0, "B": 1}))
    second = [("A", 2, 3), ("B", 3, 4)]
    bench.step(1, second, Routing(replicas=2, owners={"A": 0, "B": 0}))
    return first + second


def test_a_key_whose_state_is_late_waits_and_no_other_does(tmp_path: Path) -> None:
    bench = Bench(tmp_path, fetch_delay=0.2)
    fed = moving(bench)
    assert [result[:2] for result in bench.results[2]] == [("A", 2)]
    assert list(bench.operator.pending) == ["B"]
    assert sorted(bench.finish(), key=lambda result: result[1]) == reference(fed)
    assert list(bench.operator.pending) == []


def test_rows_that_waited_come_before_those_that_follow(tmp_path: Path) -> None:
    bench = Bench(tmp_path, fetch_delay=0.2)
    fed = [*moving(bench), ("B", 4, 5)]
    bench.step(2, [("B", 4, 5)])
    assert [result[:2] for result in bench.results[4]] == [("B", 3), ("B", 4)]
    assert sorted(bench.finish(), key=lambda result: result[1]) == reference(fed)


def test_a_key_that_moves_again_takes_its_waiting_rows_along(tmp_path: Path) -> None:
    bench = Bench(tmp_path, fetch_delay=0.2)
    fed = [*moving(bench), ("A", 4, 5)]
    bench.step(2, [("A", 4, 5)], Routing(replicas=3, owners={"A": 0, "B": 2}))
    assert sorted(bench.finish(), key=lambda result: result[1]) == reference(fed)


@pytest.mark.parametrize("protocol", ["r-blk", "s-blk"])
def test_blocking_protocols_leave_nothing_for_the_next_step(tmp_path: Path, protocol: str) -> None:
    bench = Bench(tmp_path, protocol=protocol, fetch_delay=0.05)
    fed = moving(bench)
    assert bench.operator.pending == ()
    assert sorted(bench.finish(), key=lambda result: result[1]) == reference(fed)


def test_a_blocked_replica_works_on_nothing_before_it_has_all_keys(tmp_path: Path) -> None:
    """R-BLK lacks what MP has: A stays where it is and its state is at hand, and it waits for B."""
    calls: dict[str, list[tuple[str, ...]]] = {}
    for protocol in ("mp", "r-blk"):
        bench = Bench(tmp_path / protocol, protocol=protocol, fetch_delay=0.2)
        operator, calls[protocol] = bench.operator, []
        bench.step(0, [("A", 0, 1), ("B", 1, 2)], Routing(replicas=2, owners={"A": 0, "B": 1}))
        CACHE.clear()
        store = operator._state_store
        CACHE.acquire(store.identity(), store, "A", operator._index["A"], operator.work)
        operator.work = Witness(calls=calls[protocol])
        operator.reroute(Routing(replicas=2, owners={"A": 0, "B": 0}))
        operator.take(table([("A", 2, 3), ("B", 3, 4)]), 1)
    assert calls == {"mp": [("A",)], "r-blk": [("A", "B")]}


def test_a_table_for_more_replicas_waits_until_there_is_room(bench: Bench) -> None:
    room = 1
    bench.operator.room = lambda: room
    bench.step(0, [("A", 0, 1)], Routing(replicas=3))
    assert bench.operator.table.replicas == 1
    room = 3
    bench.step(1, [("A", 1, 1)])
    assert bench.operator.table.replicas == 3


def test_a_batch_that_comes_again_is_handed_on_again_and_counted_once(bench: Bench) -> None:
    bench.step(0, [("A", 0, 1)])
    bench.step(1, [("A", 1, 2)])
    before = bench.results.pop(2)
    bench.step(1, [("A", 1, 2)])
    assert bench.results[2] == before
    bench.step(2, [("A", 2, 3)])
    assert bench.results[4] == [("A", 2, 6, 3)]


def test_a_new_life_takes_up_where_the_old_one_left_off(bench: Bench) -> None:
    bench.step(0, [("A", 0, 1), ("B", 1, 5)])
    bench.operator = bench.start()
    bench.step(1, [("A", 2, 2)])
    assert bench.results[2] == [("A", 2, 3, 2)]


def test_what_a_failed_step_left_in_memory_is_not_believed(bench: Bench) -> None:
    """A task may have gone further than the step that counts."""
    bench.step(0, [("A", 0, 1)])
    rows = table([("A", 1, 100), ("A", 2, 100)])
    bench.operator._run(rows, 2, frozenset())  # and it is not committed
    bench.operator.take(table([("A", 1, 2)]), 1)
    assert bench.results[2] == [("A", 1, 3, 2)]


def test_what_is_remembered_of_another_store_in_the_same_place_is_not_believed(
    tmp_path: Path,
) -> None:
    for value in (1, 100):
        bench = Bench(tmp_path / "store")
        bench.operator.take(table([("A", 0, value)]), 0)
        bench.operator.take(table([("A", 1, 0)]), 1)
        assert bench.results[2] == [("A", 1, value, 2)]
        shutil.rmtree(tmp_path / "store")


def test_files_do_not_pile_up(bench: Bench) -> None:
    for number in range(40):
        bench.step(number, [(key, 5 * number + place, 1) for place, key in enumerate(KEYS)])
    assert len(list((bench.store / "files").iterdir())) <= 8 + 1
    assert len(list((bench.store / "index").iterdir())) <= 4


def failing(times: int, bench: Bench) -> None:
    """Let the sink fail so many times, as where a disk is full."""
    left = iter(range(times))

    def sink(results: pa.Table, step: int) -> None:
        if next(left, None) is not None:
            raise OSError("no space")
        bench.sink(results, step)

    bench.operator.sink = sink


def test_what_the_sink_could_not_take_is_given_to_it_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, fetch_delay=0.2)
    fed = [*moving(bench), ("A", 4, 5)]
    failing(1, bench)
    with pytest.raises(OSError, match="no space"):
        bench.operator.settle()
    bench.step(2, [("A", 4, 5)])
    assert sorted(bench.finish(), key=lambda result: result[1]) == reference(fed)


def test_a_new_life_gives_the_sink_what_the_old_one_could_not(tmp_path: Path) -> None:
    bench = Bench(tmp_path, fetch_delay=0.2)
    fed = [*moving(bench), ("A", 4, 5)]
    failing(1, bench)
    with pytest.raises(OSError, match="no space"):
        bench.operator.settle()
    bench.operator = bench.start()
    bench.step(2, [("A", 4, 5)])
    assert sorted(bench.finish(), key=lambda result: result[1]) == reference(fed)


def test_rows_that_wait_are_worked_on_when_no_batch_comes_even_after_a_failure(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, fetch_delay=0.2)
    fed = moving(bench)
    failing(1, bench)
    wait_until(lambda: len(bench.results) >= 3)
    came = [result for step in sorted(bench.results) for result in bench.results[step]]
    assert sorted(came, key=lambda result: result[1]) == reference(fed)


def test_a_store_that_is_long_past_a_batch_is_refused(bench: Bench) -> None:
    for number in range(6):
        bench.step(number, [("A", number, 1)])
    with pytest.raises(UserError, match=r"the store .* is past batch 0"):
        bench.step(0, [("A", 0, 1)])


def test_another_protocol_takes_over_what_waits(tmp_path: Path) -> None:
    bench = Bench(tmp_path, fetch_delay=0.2)
    fed = [*moving(bench), ("A", 4, 5), ("B", 5, 6)]
    bench.setting = Setting(protocol="s-blk")
    bench.operator = bench.start()
    bench.operator.table = Routing(replicas=2, owners={"A": 0, "B": 0})
    bench.step(2, fed[-2:], Routing(replicas=2, owners={"A": 1, "B": 0}))
    assert sorted(bench.finish(), key=lambda result: result[1]) == reference(fed)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_rows_without_a_key_have_the_empty_one(tmp_path: Path, protocol: str) -> None:
    bench = Bench(tmp_path, protocol=protocol)
    bench.step(0, [("", 0, 1)], Routing(replicas=2, owners={"": 0}))
    nameless = table([("", 1, 2), ("x", 2, 3), ("", 3, 4)])
    keys = pa.array(["", None, ""], pa.string())
    bench.operator.reroute(Routing(replicas=2, owners={"": 1}))
    bench.operator.take(nameless.set_column(1, "key", keys), 1)
    assert [count for _, _, _, count in bench.finish()] == [1, 2, 3, 4]


def test_files_of_tasks_that_failed_are_swept_away(bench: Bench) -> None:
    bench.step(0, [("A", 0, 1)])
    bench.operator._run(table([("A", 1, 100)]), 2, frozenset())
    assert len(list((bench.store / "files").iterdir())) == 2
    bench.operator = bench.start()
    assert len(list((bench.store / "files").iterdir())) == 1


def test_memory_of_rows_that_are_no_longer_needed_is_given_back() -> None:
    rows = np.zeros(300_000, Sums.dtype)
    assert recent(rows, 2).base is None


def test_work_that_keeps_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="keep of the work must be at least 1 row, got 0"):
        KeyedOperator(work=Sums(keep=0), store=str(tmp_path), sink=print, table=Routing(replicas=1))


def test_refused_rows_are_counted_and_change_nothing(bench: Bench) -> None:
    bench.step(0, [("A", 0, 1), ("A", 1, -1), ("A", 2, 2)])
    assert [reports.refused for reports in bench.reports] == [{"negative": 1}]
    assert bench.results[0] == [("A", 0, 1, 1), ("A", 2, 3, 2)]


def test_a_protocol_that_there_is_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="protocol must be one of mp, r-blk, s-blk, got 'x'"):
        Bench(tmp_path, protocol="x")
