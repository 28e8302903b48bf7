"""The keyed operator on the driver: routes rows, runs the replicas' tasks, commits each step.

Pass `take` to `foreachBatch`. `reroute` may be called at any time: the new table is used from the
next batch on.
"""

import json
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from penstock.core.errors import SettingError, UserError
from penstock.core.routing import Routing
from penstock.query.keyed.store import FileSlice, KeyState, StateStore, files_of
from penstock.query.keyed.task import DONE, PROTOCOLS, REPORT, ReplicaTask, Setting, TaskReport
from penstock.query.keyed.work import ARRIVAL, REPLICA, KeyedWork, as_text, route


class Engine(Protocol):
    """Runs the task of every replica on its rows: on Spark, or one after the other in-process."""

    def run(self, rows: Any, task: ReplicaTask, /) -> pa.Table:
        """The output of all replicas."""
        ...

    def part(self, rows: Any, keys: Collection[str], column: str, /) -> tuple[Any, Any]:
        """Rows of these keys, and all others."""
        ...


class OnSpark:
    """Rows are a DataFrame; every replica is a task."""

    def run(self, rows: DataFrame, task: ReplicaTask) -> pa.Table:
        """Splitter, exchange, replicas."""
        output = from_arrow_schema(task.columns)
        if task.pending_only:  # no rows, but a task for each replica
            tasks = rows.sparkSession.range(0, task.table.replicas, 1, task.table.replicas)
            return tasks.mapInArrow(task, output).toArrow()
        added = [StructField(REPLICA, IntegerType()), StructField(ARRIVAL, LongType())]
        splitter = partial(route, key=task.work.key, table=task.table)
        return (
            rows.mapInArrow(splitter, StructType([*rows.schema.fields, *added]))
            .repartitionById(task.table.replicas, REPLICA)
            .mapInArrow(task, output)
            .toArrow()
        )

    def part(
        self, rows: DataFrame, keys: Collection[str], column: str
    ) -> tuple[DataFrame, DataFrame]:
        """By Spark's own comparison; a row without a key has the empty one."""
        among = sql.coalesce(sql.col(column).cast("string"), sql.lit("")).isin(*keys)
        return rows.where(among), rows.where(~among)


class InProcess:
    """Rows are an Arrow table; replicas run one after the other. For tests and experiments."""

    def run(self, rows: pa.Table, task: ReplicaTask) -> pa.Table:
        """The same, without Spark."""
        routed = list(route(rows.to_batches(), key=task.work.key, table=task.table))
        output: list[pa.RecordBatch] = []
        for replica in range(task.table.replicas):
            own = [batch.filter(pc.equal(batch.column(REPLICA), replica)) for batch in routed]
            output += replace(task, replica=replica)(iter(own))
        return pa.Table.from_batches(output, task.columns)

    def part(self, rows: pa.Table, keys: Collection[str], column: str) -> tuple[pa.Table, pa.Table]:
        """By Arrow's comparison."""
        own = as_text(rows[column].combine_chunks())
        among = pc.is_in(own, value_set=pa.array(list(keys), pa.string()))
        return rows.filter(among), rows.filter(pc.invert(among))


Sink = Callable[[pa.Table, int], None]
"""Takes the results of a step and its number; a step may be repeated after a failure."""

_SWEEP_EVERY: Final = 64
"""Steps between two removals of files that failed tasks have left."""
_MOST_FAILURES: Final = 5
_SETTLE_AFTER: Final = 2.0
"""Seconds without a batch after which pending rows are processed."""


@dataclass(slots=True, kw_only=True)
class KeyedOperator:
    """Stateful work by key, with a routing table that may change between two batches."""

    work: KeyedWork
    store: str
    """A folder that every executor sees, for the state of the keys."""
    sink: Sink
    table: Routing
    setting: Setting = field(default_factory=Setting)
    engine: Engine = field(default_factory=OnSpark)
    room: Callable[[], int] | None = None
    """Executors that can take tasks now; a table with more replicas is used once it fits."""
    on_report: Callable[[list[TaskReport]], None] = lambda reports: None  # noqa: ARG005
    """Called after each step with what the replicas did."""
    _wanted: Routing | None = None
    _index: dict[str, KeyState] = field(default_factory=dict)
    _step: int | None = None
    _settling: threading.Timer | None = None
    _failures: int = 0
    _rows: Any = None
    """The last batch, from which an engine gets its session."""
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def __post_init__(self) -> None:
        """Resume from the store."""
        if self.setting.protocol not in PROTOCOLS:
            raise SettingError(
                f"protocol must be one of {', '.join(PROTOCOLS)}, got {self.setting.protocol!r}"
            )
        if self.work.keep < 1:
            raise SettingError(f"keep of the work must be at least 1 row, got {self.work.keep}")
        self._state_store.create()
        self._step = self._state_store.newest()
        self._index = self._state_store.index(self._step)
        self._state_store.sweep(self._index)

    @property
    def _state_store(self) -> StateStore:
        return StateStore(self.store)

    @property
    def keys(self) -> tuple[str, ...]:
        """Every key seen."""
        return tuple(self._index)

    @property
    def pending(self) -> tuple[str, ...]:
        """Keys with rows that wait for the state of their key."""
        return tuple(key for key, entry in self._index.items() if entry.pending)

    def reroute(self, table: Routing) -> None:
        """Use another table from the next batch on, or once there are enough executors for it."""
        self._wanted = table

    def take(self, batch: Any, number: int) -> None:
        """One micro-batch; a repeated one is delivered again, and not processed again."""
        with self._lock:
            self._stop_timer()
            self._deliver()
            self._rows, step = batch, 2 * number
            if self._step is not None and step <= self._step:
                self._deliver_again(number)
            else:
                self._take_new(batch, step)
            self._settle_later()

    def settle(self) -> None:
        """Process pending rows, if there are any."""
        with self._lock:
            self._stop_timer()
            self._deliver()
            if self.pending and self._rows is not None and self._step is not None:
                step = self._step | 1
                self._commit(step, *self._run(self._rows, step, frozenset(), pending_only=True))

    def _take_new(self, batch: Any, step: int) -> None:
        if self.pending and self.setting.protocol == "s-blk":
            self.settle()  # another protocol may have left some
        before, self.table = self.table, self._next_table()
        moved = frozenset(before.moved(self.table, self._index))
        if moved and self.setting.protocol == "s-blk":
            self._run_splitter_blocking(batch, step, moved)
        else:
            self._commit(step, *self._run(batch, step, moved))
        if step % _SWEEP_EVERY == 0:
            self._state_store.sweep(self._index)

    def _next_table(self) -> Routing:
        wanted = self._wanted
        if wanted is None or (self.room and wanted.replicas > max(self.room(), 1)):
            return self.table
        self._wanted = None
        return wanted

    def _run_splitter_blocking(self, batch: Any, step: int, moved: frozenset[str]) -> None:
        """S-BLK: rows of keys that move are held back until the rest is done, and no other batch is
        taken before they are processed, too."""
        held, rest = self.engine.part(batch, moved, self.work.key)
        first, reports_first = self._run(rest, step, frozenset())
        second, reports_second = self._run(held, step, moved)
        self._commit(step, pa.concat_tables([first, second]), reports_first + reports_second)

    def _run(
        self, batch: Any, step: int, moved: frozenset[str], *, pending_only: bool = False
    ) -> tuple[pa.Table, list[TaskReport]]:
        """Run the replicas; nothing takes effect before it is committed. Returns the results, and
        the reports of the tasks."""
        task = ReplicaTask(
            store=self.store,
            identity=self._state_store.identity(),
            step=step,
            before=self._step,
            table=self.table,
            moved=moved,
            work=self.work,
            setting=self.setting,
            columns=pa.schema([*self.work.results, (DONE, pa.int64()), (REPORT, pa.string())]),
            pending_only=pending_only,
        )
        table = self.engine.run(batch, task)
        reports = [TaskReport(**json.loads(text)) for text in table[REPORT].drop_null().to_pylist()]
        return table.filter(table[DONE].is_valid()).drop_columns([REPORT]), reports

    def _commit(self, step: int, results: pa.Table, reports: list[TaskReport]) -> None:
        before = files_of(self._index)
        index = self._index | dict(_updates(self._index, reports))
        self._state_store.commit(step, index, results)
        self._index, self._step = index, step
        self._state_store.forget(before - files_of(index))
        self._deliver()
        self.on_report(reports)

    def _deliver(self) -> None:
        """Give the sink all results that it has not taken, those before a restart included."""
        for step in self._state_store.undelivered():
            self.sink(self._state_store.results(step), step)
            self._state_store.mark_delivered(step)

    def _deliver_again(self, number: int) -> None:
        """After a failure between the end of a step and Spark's commit of it."""
        if not self._state_store.done(2 * number):
            raise UserError(
                f"the store {self.store} is past batch {number}, so it does not belong to this "
                "checkpoint; start with a new checkpoint and a new store"
            )
        for done in (2 * number, 2 * number + 1):
            if self._state_store.done(done):
                self.sink(self._state_store.results(done), done)

    def _settle_later(self) -> None:
        if self.pending or self._state_store.undelivered():
            self._settling = threading.Timer(_SETTLE_AFTER, self._settle_or_retry)
            self._settling.daemon = True
            self._settling.start()

    def _settle_or_retry(self) -> None:
        """Called by the timer; after a failure it is tried again, up to a limit."""
        try:
            self.settle()
            self._failures = 0
        except Exception:
            self._failures += 1
            if self._failures >= _MOST_FAILURES:
                raise
            self._settle_later()

    def _stop_timer(self) -> None:
        if self._settling is not None:
            self._settling.cancel()
            self._settling = None


def _updates(
    index: Mapping[str, KeyState], reports: list[TaskReport]
) -> Iterator[tuple[str, KeyState]]:
    """The new state of each key that was processed."""
    for replica in reports:
        for key, filed in replica.entries.items():
            entry = index.get(key, KeyState())
            piece = None if filed["piece"] is None else FileSlice(*filed["piece"])
            if filed["accepted"] >= 0:
                yield key, entry.after(filed["accepted"], piece, whole=filed["whole"])
            elif piece is not None:
                yield key, entry.with_pending(piece)
