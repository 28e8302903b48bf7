"""The keyed operator as the driver sees it: routes, lets replicas work, makes a step count.

Give `take` to `foreachBatch`, and `reroute` it whenever you like: the next batch goes by the new
table.
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
from penstock.query.keyed.backing import Backing, Entry, Piece, files_of
from penstock.query.keyed.splitter import ARRIVAL, REPLICA, named, route
from penstock.query.keyed.task import DONE, PROTOCOLS, TOLD, ReplicaTask, Setting, Told
from penstock.query.keyed.work import KeyedWork

# Where replicas work: on Spark's executors, or one after the other in this process.
#
# Both route rows to replicas and collect what these put out; nothing else differs.


class Engine(Protocol):
    """Runs the task of every replica on the rows that are meant for it."""

    def run(self, rows: Any, task: ReplicaTask, /) -> pa.Table:
        """What all replicas put out."""
        ...

    def part(self, rows: Any, keys: Collection[str], column: str, /) -> tuple[Any, Any]:
        """Rows of these keys, and all others."""
        ...


class OnSpark:
    """Rows are a DataFrame; every replica is a task."""

    def run(self, rows: DataFrame, task: ReplicaTask) -> pa.Table:
        """Splitter, exchange, replicas."""
        put_out = from_arrow_schema(task.columns)
        if task.settling:  # nobody's rows, but a task for everyone
            turns = rows.sparkSession.range(0, task.table.replicas, 1, task.table.replicas)
            return turns.mapInArrow(task, put_out).toArrow()
        added = [StructField(REPLICA, IntegerType()), StructField(ARRIVAL, LongType())]
        return (
            rows.mapInArrow(
                splitter(task.work.key, task.table), StructType([*rows.schema.fields, *added])
            )
            .repartitionById(task.table.replicas, REPLICA)
            .mapInArrow(task, put_out)
            .toArrow()
        )

    def part(
        self, rows: DataFrame, keys: Collection[str], column: str
    ) -> tuple[DataFrame, DataFrame]:
        """By Spark's own comparison; a row without a key has the empty one."""
        among = sql.coalesce(sql.col(column).cast("string"), sql.lit("")).isin(*keys)
        return rows.where(among), rows.where(~among)


def splitter(key: str, table: Routing) -> Callable[..., Iterator[pa.RecordBatch]]:
    """What routes rows by a column, to be given to `mapInArrow`."""
    return partial(route, key=key, table=table)


class InProcess:
    """Rows are an Arrow table; replicas work in turn. For tests, and to try work out."""

    def run(self, rows: pa.Table, task: ReplicaTask) -> pa.Table:
        """The same, without Spark."""
        routed = list(route(rows.to_batches(), key=task.work.key, table=task.table))
        put_out: list[pa.RecordBatch] = []
        for replica in range(task.table.replicas):
            own = iter(_of(replica, routed))
            put_out += replace(task, replica=replica)(own)
        return pa.Table.from_batches(put_out, task.columns)

    def part(self, rows: pa.Table, keys: Collection[str], column: str) -> tuple[pa.Table, pa.Table]:
        """By Arrow's comparison."""
        own = named(rows[column].combine_chunks())
        among = pc.is_in(own, value_set=pa.array(list(keys), pa.string()))
        return rows.filter(among), rows.filter(pc.invert(among))


def _of(replica: int, batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.filter(pc.equal(batch.column(REPLICA), replica))


Sink = Callable[[pa.Table, int], None]
"""Takes the results of a step, with its number; the same step may come again after a failure."""

_SWEEP_EVERY: Final = 64
"""Steps between two looks for files that failed tasks have left."""
_MOST_FAILURES: Final = 5
_SETTLE_AFTER: Final = 2.0
"""Seconds without a batch after which rows that wait for the state of their key are worked on."""


@dataclass(slots=True, kw_only=True)
class KeyedOperator:
    """Work by key, with a routing table that may change between two batches."""

    work: KeyedWork
    store: str
    """A folder that every executor sees, for the state of the keys."""
    sink: Sink
    table: Routing
    setting: Setting = field(default_factory=Setting)
    engine: Engine = field(default_factory=OnSpark)
    room: Callable[[], int] | None = None
    """Executors that can take tasks now; a table for more replicas waits for them."""
    on_told: Callable[[list[Told]], None] = lambda told: None  # noqa: ARG005
    """Told after each step what the replicas did."""
    _wanted: Routing | None = None
    _index: dict[str, Entry] = field(default_factory=dict)
    _step: int | None = None
    _settling: threading.Timer | None = None
    _failures: int = 0
    _rows: Any = None
    """Of the last batch, by which an engine knows its session."""
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def __post_init__(self) -> None:
        """Take up where an earlier life left off."""
        if self.setting.protocol not in PROTOCOLS:
            raise SettingError(
                f"protocol must be one of {', '.join(PROTOCOLS)}, got {self.setting.protocol!r}"
            )
        if self.work.keep < 1:
            raise SettingError(f"keep of the work must be at least 1 row, got {self.work.keep}")
        self._backing.create()
        self._step = self._backing.newest()
        if self._step is not None:
            self._index = self._backing.index(self._step)
        self._backing.sweep(self._index)

    @property
    def _backing(self) -> Backing:
        return Backing(self.store)

    @property
    def keys(self) -> tuple[str, ...]:
        """Every key that has come."""
        return tuple(self._index)

    @property
    def pending(self) -> tuple[str, ...]:
        """Keys whose rows wait for their state."""
        return tuple(key for key, entry in self._index.items() if entry.pending)

    def reroute(self, table: Routing) -> None:
        """Go by another table from the next batch on, or from when there is room for it."""
        self._wanted = table

    def take(self, batch: Any, number: int) -> None:
        """One micro-batch; one that comes again is handed on again, and not worked on again."""
        with self._lock:
            self._stop_timer()
            self._hand_on()
            self._rows, step = batch, 2 * number
            if self._step is not None and step <= self._step:
                self._hand_on_again(number)
            else:
                self._take_new(batch, step)
            self._settle_later()

    def settle(self) -> None:
        """Work on the rows that wait for the state of their key, if there are any."""
        with self._lock:
            self._stop_timer()
            self._hand_on()
            if self.pending and self._rows is not None and self._step is not None:
                step = self._step | 1
                task = self._task(step, frozenset(), settling=True)
                self._commit(step, *_parted(self.engine.run(self._rows, task)))

    def _take_new(self, batch: Any, step: int) -> None:
        if self.pending and self.setting.protocol == "s-blk":
            self.settle()  # which another protocol has left
        before, self.table = self.table, self._next_table()
        moved = frozenset(before.moved(self.table, self._index))
        if moved and self.setting.protocol == "s-blk":
            self._hold_at_the_splitter(batch, step, moved)
        else:
            self._commit(step, *self._run(batch, step, moved))
        if step % _SWEEP_EVERY == 0:
            self._backing.sweep(self._index)

    def _next_table(self) -> Routing:
        wanted = self._wanted
        if wanted is None or (self.room and wanted.replicas > max(self.room(), 1)):
            return self.table
        self._wanted = None
        return wanted

    def _hold_at_the_splitter(self, batch: Any, step: int, moved: frozenset[str]) -> None:
        """S-BLK: rows of keys that change hands are held back until the rest is done, and nothing
        else is taken in before they are handed out, too."""
        held, rest = self.engine.part(batch, moved, self.work.key)
        first, told_first = self._run(rest, step, frozenset())
        second, told_second = self._run(held, step, moved)
        self._commit(step, pa.concat_tables([first, second]), told_first + told_second)

    def _run(self, batch: Any, step: int, moved: frozenset[str]) -> tuple[pa.Table, list[Told]]:
        """Let the replicas work; nothing counts before it is committed."""
        return _parted(self.engine.run(batch, self._task(step, moved)))

    def _task(self, step: int, moved: frozenset[str], *, settling: bool = False) -> ReplicaTask:
        return ReplicaTask(
            store=self.store,
            identity=self._backing.identity(),
            step=step,
            before=self._step,
            table=self.table,
            moved=moved,
            work=self.work,
            setting=self.setting,
            columns=pa.schema([*self.work.results, (DONE, pa.int64()), (TOLD, pa.string())]),
            settling=settling,
        )

    def _commit(self, step: int, results: pa.Table, told: list[Told]) -> None:
        before = files_of(self._index)
        index = self._index | dict(_updates(self._index, told))
        self._backing.commit(step, index, results)
        self._index, self._step = index, step
        self._backing.forget(before - files_of(index))
        self._hand_on()
        self.on_told(told)

    def _hand_on(self) -> None:
        """Give the sink what it has not taken yet, be it of an earlier life."""
        for step in self._backing.waiting():
            self.sink(self._backing.results(step), step)
            self._backing.hand_on(step)

    def _hand_on_again(self, number: int) -> None:
        """After a failure between the end of a step and Spark's own note of it."""
        if not self._backing.done(2 * number):
            raise UserError(
                f"batch {number} comes, and the store {self.store} is long past it, so they do not "
                "belong together; begin with a new checkpoint and a new store"
            )
        for done in (2 * number, 2 * number + 1):
            if self._backing.done(done):
                self.sink(self._backing.results(done), done)

    def _settle_later(self) -> None:
        if self.pending or self._backing.waiting():
            self._settling = threading.Timer(_SETTLE_AFTER, self._settle_or_retry)
            self._settling.daemon = True
            self._settling.start()

    def _settle_or_retry(self) -> None:
        """What a timer calls: a failure is no reason to let rows wait for ever, unless it stays."""
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


def _parted(table: pa.Table) -> tuple[pa.Table, list[Told]]:
    """Results, and what was told."""
    told = [Told(**json.loads(text)) for text in table[TOLD].drop_null().to_pylist()]
    return table.filter(table[DONE].is_valid()).drop_columns([TOLD]), told


def _updates(index: Mapping[str, Entry], told: list[Told]) -> Iterator[tuple[str, Entry]]:
    """What the replicas say, key by key."""
    for replica in told:
        for key, filed in replica.entries.items():
            entry = index.get(key, Entry())
            piece = None if filed["piece"] is None else Piece(*filed["piece"])
            if filed["accepted"] >= 0:
                yield key, entry.after(filed["accepted"], piece, whole=filed["whole"])
            elif piece is not None:
                yield key, entry.waiting(piece)
