"""The task of one replica in one step: its rows, in order, with the state of their keys.

Keys whose state is cached go first, while the state of others is fetched. Under the protocol of the
mpc paper (`mp`) a key that has just moved to this replica, and whose state has not arrived soon
after the rest is done, is left for the next step: its rows are stored as pending, in order, and
delay no other key. Under `r-blk` a replica processes nothing before it has all state.

`StateCache` holds the state of keys that this process has seen. A replica's task may run in any
executor of the module: cached state is brought up to date with the slices written since, and read
in full only where the process has none.
"""

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.core.routing import Routing
from penstock.query.keyed.store import LONGEST_CHAIN, FileSlice, KeyState, StateStore
from penstock.query.keyed.work import (
    ARRIVAL,
    Groups,
    KeyedWork,
    Rows,
    as_text,
    joined,
    partition,
    recent,
    structured,
)
from penstock.spark.serve import spend

MOST_BYTES: Final = 256 * 2**20
"""Memory for the state of keys in one process; the least recently used go first."""


class StateCache:
    """The state of keys: their rows, with the count of rows accepted up to then."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._known: OrderedDict[tuple[str, str], tuple[int, Rows]] = OrderedDict()
        self._bytes, self._most = 0, most_bytes
        self._lock = threading.Lock()

    def clear(self) -> None:
        """Forget everything, as a new process would."""
        with self._lock:
            self._known.clear()
            self._bytes = 0

    def get(self, store: str, key: str, entry: KeyState) -> Rows | None:
        """The rows of a key if they are cached and up to date."""
        count, rows = self._known.get((store, key), (-1, None))
        return rows if count == entry.count else None

    def acquire(
        self, store: str, files: StateStore, key: str, entry: KeyState, work: KeyedWork
    ) -> Rows:
        """The rows of a key, from the cache and from the store."""
        keep, dtype = work.keep, work.dtype
        count, known = self._known.get((store, key), (0, np.empty(0, dtype)))
        if not 0 <= count <= entry.count:  # a failed batch had gone further
            count, known = 0, np.empty(0, dtype)
        missing = min(entry.count - count, keep)
        newer = files.read(tail(entry.pieces, missing), dtype)
        rows = recent(joined([known, newer], dtype), keep)
        self.put(store, key, entry.count, rows)
        return rows

    def put(self, store: str, key: str, count: int, rows: Rows) -> None:
        """Remember the rows of a key."""
        with self._lock:
            before = self._known.pop((store, key), None)
            self._bytes += rows.nbytes - (before[1].nbytes if before else 0)
            self._known[store, key] = (count, rows)
            while self._bytes > self._most and len(self._known) > 1:
                _, (_, dropped) = self._known.popitem(last=False)
                self._bytes -= dropped.nbytes


def tail(pieces: tuple[FileSlice, ...], rows: int) -> tuple[FileSlice, ...]:
    """The last rows of some slices.

    >>> tail((FileSlice("a", 0, 10), FileSlice("b", 5, 8)), 5)
    (FileSlice(file='a', begin=8, end=10), FileSlice(file='b', begin=5, end=8))
    """
    slices: list[FileSlice] = []
    for piece in reversed(pieces):
        if rows <= 0:
            break
        taken = piece._replace(begin=max(piece.begin, piece.end - rows))
        slices.append(taken)
        rows -= taken.rows
    return tuple(reversed(slices))


CACHE: Final = StateCache()
"""Of this process."""


@dataclass(slots=True)
class TaskReport:
    """What a task reports to the driver."""

    replica: int
    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By key: how many rows were accepted, the slice that holds them, and whether it is the whole
    state; with -1 for accepted the slice holds pending rows."""
    files: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    """By key, rows processed, refused ones included."""
    service: float = 0.0
    """Seconds of work."""
    took: float = 0.0
    """Seconds of the whole task, from the first row."""
    waited: float = 0.0
    """Summed over the rows, seconds from creation until their processing started."""
    refused: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> str:
        """As a text, to be read by `TaskReport(**json.loads(text))`."""
        return json.dumps({f.name: getattr(self, f.name) for f in fields(self)})


PROTOCOLS: Final = ("mp", "r-blk", "s-blk")
"""How the state of keys is migrated."""
DONE: Final = "done"
"""The column with the time at which each result was made."""
REPORT: Final = "report"
"""The column with the report of a task, as JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How a replica works."""

    protocol: str = "mp"
    service_time: float = 0.0
    """Extra seconds per row, beyond the work itself."""
    spend: str = "none"
    """How they are spent: `wait`, `cpu` or `none`."""
    grace: float = 0.05
    """Seconds that a replica waits at the end for the state of keys that have just moved, before it
    leaves their rows for the next step."""
    fetch_delay: float = 0.0
    """Extra seconds to fetch the state of a key that moves, as over a slow network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaTask:
    """The work of all replicas in one step, for `mapInArrow` after `repartitionById`."""

    store: str
    identity: str
    """The name of the store."""
    step: int
    before: int | None
    """The step whose state it continues from."""
    table: Routing
    moved: frozenset[str]
    """Keys that move with this step."""
    work: KeyedWork
    setting: Setting
    replica: int | None = None
    """Its number; on Spark, that of the partition."""
    pending_only: bool = False
    """Whether only pending rows are processed, and there are no new ones."""
    columns: pa.Schema
    """Of its output: results, the time of each, and the report."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The results of this replica, and its report."""
        replica = partition() if self.replica is None else self.replica
        first = next(batches, None)  # until then it waits for the exchange
        began = time.perf_counter()
        rows = batches if first is None else chain([first], batches)
        fresh = {} if self.pending_only else _grouped(rows, self.work)
        yield from _ReplicaStep(self, replica, fresh, began).results()


def _grouped(batches: Iterator[pa.RecordBatch], work: KeyedWork) -> dict[str, Rows]:
    """The rows of each key, in order."""
    parts = [batch for batch in batches if batch.num_rows]
    if not parts:
        return {}
    table = pa.Table.from_batches(parts)
    names = as_text(table[work.key].combine_chunks()).dictionary_encode()
    codes = names.indices.to_numpy(zero_copy_only=False)
    rows = structured(table, work.dtype)
    order = np.lexsort((table[ARRIVAL].to_numpy(), codes))
    rows, codes = rows[order], codes[order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    keys = [names.dictionary[int(codes[start])].as_py() for start in starts]
    return dict(zip(keys, np.split(rows, starts[1:]), strict=True))


class _ReplicaStep:
    """One replica in one step."""

    def __init__(
        self, task: ReplicaTask, replica: int, fresh: dict[str, Rows], began: float
    ) -> None:
        self._task, self._work, self._began = task, task.work, began
        self._state_store = StateStore(task.store)
        self._report = TaskReport(replica=replica)
        self._entries = self._state_store.entries(task.before, fresh)
        self._fresh = self._with_pending(fresh)
        self._pieces: list[Rows] = []
        self._length = 0
        self._slices: dict[str, tuple[int, int, bool, int]] = {}

    def results(self) -> Iterator[pa.RecordBatch]:
        """Process, write the state, report."""
        task = self._task
        at_hand = {k: CACHE.get(task.identity, k, self._entry(k)) for k in self._fresh}
        ready = {key: rows for key, rows in at_hand.items() if rows is not None}
        missing = sorted(self._fresh.keys() - ready.keys(), key=lambda k: (self._may_wait(k), k))
        fetches = self._fetch(missing)
        if task.setting.protocol == "r-blk" and not task.moved.isdisjoint(self._fresh):
            ready |= {key: fetch.result() for key, fetch in fetches.items()}
        yield from self._advance(ready)
        waiting = {key: fetch for key, fetch in fetches.items() if key in self._fresh}
        wait([fetch for key, fetch in waiting.items() if not self._may_wait(key)])
        wait(waiting.values(), timeout=task.setting.grace)
        arrived = {key: fetch.result() for key, fetch in waiting.items() if fetch.done()}
        yield from self._advance(arrived)
        for key, rows in self._fresh.items():  # they stay pending
            self._set(key, rows, whole=False, accepted=-1)
        self._write_state()
        yield self._report_row()

    def _fetch(self, keys: Collection[str]) -> dict[str, "Future[Rows]"]:
        """Fetch the state of keys in the background, in this order, while others are processed."""
        task, pool = self._task, ThreadPoolExecutor(1)

        def read(key: str) -> Rows:
            if task.setting.fetch_delay and key in task.moved:
                time.sleep(task.setting.fetch_delay)
            return CACHE.acquire(
                task.identity, self._state_store, key, self._entry(key), self._work
            )

        fetches = {key: pool.submit(read, key) for key in keys}
        pool.shutdown(wait=False)
        return fetches

    def _may_wait(self, key: str) -> bool:
        """Whether its rows may be left for the next step: once, when it has just moved."""
        entry, task = self._entry(key), self._task
        moving = task.setting.protocol == "mp" and key in task.moved
        return moving and entry.count > 0 and not entry.pending

    def _entry(self, key: str) -> KeyState:
        return self._entries.get(key, KeyState())

    def _with_pending(self, fresh: dict[str, Rows]) -> dict[str, Rows]:
        """Fresh rows after the pending ones of the same key."""
        table, replica = self._task.table, self._report.replica
        for key, entry in self._entries.items():
            if entry.pending and table.owner(key) == replica:
                waiting = self._state_store.read(entry.pending, self._work.dtype)
                behind = fresh.get(key, waiting[:0])
                fresh[key] = joined([waiting, behind], self._work.dtype)
        return fresh

    def _advance(self, histories: dict[str, Rows]) -> Iterator[pa.RecordBatch]:
        """Process the fresh rows of keys whose state has arrived."""
        if not histories:
            return
        began, clock = time.time(), time.perf_counter()
        keys = sorted(histories)  # so that the order of results is deterministic
        fresh = Groups.of({key: self._fresh.pop(key) for key in keys}, self._work.dtype)
        past = Groups.of({key: histories[key] for key in keys}, self._work.dtype)
        counts = np.array([self._entry(key).count for key in fresh.keys], np.int64)
        worked = self._work(past, counts, fresh)
        spend(self._task.setting.spend, self._task.setting.service_time * len(fresh.rows))
        took = time.perf_counter() - clock
        self._note(fresh, began, took, worked.refused)
        self._update_state(past, fresh, worked.kept)
        if worked.results.num_rows:
            yield self._with_times(
                worked.results, began + took * self._progress(fresh, worked.triggers)
            )

    def _progress(self, fresh: Groups, triggers: NDArray[np.int64]) -> NDArray[np.float64]:
        """The share of the work that was done at each result: rows count in the order of their
        creation, whatever their key."""
        rank = np.empty(len(fresh.rows))
        rank[np.argsort(fresh.rows["ts"], kind="stable")] = np.arange(len(fresh.rows))
        done: NDArray[np.float64] = (rank[triggers] + 1) / len(fresh.rows)
        return done

    def _note(self, fresh: Groups, began: float, took: float, refused: Mapping[str, int]) -> None:
        report = self._report
        report.rows |= {key: len(of) for key, of in fresh}
        report.service += took
        created = fresh.rows["ts"].astype(np.float64) / 1e6
        dated = created > 0  # a row may have no creation time
        report.waited += float((began + took / 2 - created[dated]).sum())
        for reason, number in refused.items():
            report.refused[reason] = report.refused.get(reason, 0) + number

    def _update_state(self, past: Groups, fresh: Groups, kept: NDArray[np.bool_]) -> None:
        """Record the rows that become state, and cache the state for the next step."""
        work, accepted = self._work, np.split(kept, fresh.offsets[1:-1])
        for (key, old), (_, new), mask in zip(past, fresh, accepted, strict=True):
            entry, rows = self._entry(key), new[mask]
            state = recent(joined([old, rows], work.dtype), work.keep)
            whole = len(entry.pieces) + 1 > LONGEST_CHAIN or len(rows) >= work.keep
            self._set(key, state if whole else rows, whole=whole, accepted=len(rows))
            CACHE.put(self._task.identity, key, entry.count + len(rows), state)

    def _set(self, key: str, rows: Rows, *, whole: bool, accepted: int) -> None:
        begin, self._length = self._length, self._length + len(rows)
        self._pieces.append(rows)
        self._slices[key] = (begin, self._length, whole, accepted)

    def _write_state(self) -> None:
        """Write new state and pending rows to one file."""
        rows = joined(self._pieces, self._work.dtype)
        name = self._state_store.write(rows) if self._length else ""
        self._report.files = [name] if name else []
        for key, (begin, end, whole, accepted) in self._slices.items():
            piece = FileSlice(name, begin, end) if end > begin else None
            self._report.entries[key] = {"piece": piece, "whole": whole, "accepted": accepted}

    def _report_row(self) -> pa.RecordBatch:
        """A row with the report and no result."""
        self._report.took = time.perf_counter() - self._began
        *others, last = self._task.columns
        text = pa.array([self._report.to_json()], last.type)
        blank = [pa.nulls(1, column.type) for column in others]
        return pa.RecordBatch.from_arrays([*blank, text], schema=self._task.columns)

    def _with_times(self, results: pa.RecordBatch, moments: NDArray[np.float64]) -> pa.RecordBatch:
        """Results, each with the time at which it was made."""
        stamps = pa.array((moments * 1e6).astype(np.int64), pa.int64())
        report = pa.nulls(results.num_rows, pa.string())
        return pa.RecordBatch.from_arrays(
            [*results.columns, stamps, report], schema=self._task.columns
        )
