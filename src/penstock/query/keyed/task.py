"""What one replica does in one step: its rows, in order, with the state of their keys.

Keys whose state is at hand go first. The state of others is fetched meanwhile. Under the protocol
of the mpc paper (`mp`) a key that has just been given to this replica, and whose state has not come
soon after the rest is done, is left for the next step: its rows are kept beside its state, in
order, and nobody waits for it. Under `r-blk` a replica works on nothing before it has all state.

`Histories` keep the rows of keys that this process has seen before. A replica's task may run in any
executor of the module. What a process has of a key is brought up to date with the pieces that were
written since, and read from the start only where it has none.
"""

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.core.routing import Routing
from penstock.query.keyed.backing import LONGEST_CHAIN, Backing, Entry, Piece
from penstock.query.keyed.splitter import ARRIVAL, named, partition
from penstock.query.keyed.work import Groups, KeyedWork, Rows, joined, recent, structured
from penstock.spark.serve import spend

MOST_BYTES: Final = 256 * 2**20
"""Memory for rows of keys in one process; those not used for longest go first."""


class Histories:
    """Rows of keys, with the count of accepted rows at which they stand."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._known: OrderedDict[tuple[str, str], tuple[int, Rows]] = OrderedDict()
        self._bytes, self._most = 0, most_bytes
        self._lock = threading.Lock()

    def clear(self) -> None:
        """Forget everything, as a new process would."""
        with self._lock:
            self._known.clear()
            self._bytes = 0

    def get(self, store: str, key: str, entry: Entry) -> Rows | None:
        """The rows of a key if they are at hand and up to date."""
        count, rows = self._known.get((store, key), (-1, None))
        return rows if count == entry.count else None

    def acquire(
        self, store: str, backing: Backing, key: str, entry: Entry, work: KeyedWork
    ) -> Rows:
        """The rows of a key, from this process and from the store."""
        keep, dtype = work.keep, work.dtype
        count, known = self._known.get((store, key), (0, np.empty(0, dtype)))
        if not 0 <= count <= entry.count:  # a batch that failed had gone further
            count, known = 0, np.empty(0, dtype)
        missing = min(entry.count - count, keep)
        newer = backing.read(tail(entry.pieces, missing), dtype)
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


def tail(pieces: tuple[Piece, ...], rows: int) -> tuple[Piece, ...]:
    """The last rows of some pieces.

    >>> tail((Piece("a", 0, 10), Piece("b", 5, 8)), 5)
    (Piece(file='a', begin=8, end=10), Piece(file='b', begin=5, end=8))
    """
    found: list[Piece] = []
    for piece in reversed(pieces):
        if rows <= 0:
            break
        taken = piece._replace(begin=max(piece.begin, piece.end - rows))
        found.append(taken)
        rows -= taken.rows
    return tuple(reversed(found))


HERE: Final = Histories()
"""Of this process."""


# Fetching the state of keys in the background, while the replica works on keys that it has.


@dataclass(slots=True)
class Acquisition:
    """The rows of keys, as they come."""

    store: str
    """Its name, by which this process knows what it has of it."""
    backing: Backing
    work: KeyedWork
    wanted: Mapping[str, Entry]
    moved: Collection[str] = ()
    """Those that have just changed hands."""
    delay: float = 0.0
    """Further seconds that each of these takes, as from far away."""
    _arrived: dict[str, Rows] = field(default_factory=dict)
    _failure: BaseException | None = None
    _news: threading.Condition = field(default_factory=threading.Condition, repr=False)

    def begin(self) -> "Acquisition":
        """Start fetching, in the order in which the keys were given."""
        if self.wanted:
            threading.Thread(target=self._fetch, daemon=True).start()
        return self

    def after(self, needed: Collection[str], *, grace: float = 0.0) -> dict[str, Rows]:
        """What has come when these keys have, and at most so many seconds later."""
        with self._news:
            self._news.wait_for(lambda: self._failure or self._arrived.keys() >= set(needed))
            self._news.wait_for(
                lambda: self._failure or len(self._arrived) == len(self.wanted), grace
            )
            if self._failure is not None:
                raise self._failure
            return dict(self._arrived)

    def _fetch(self) -> None:
        try:
            for key, entry in self.wanted.items():
                if self.delay and key in self.moved:
                    time.sleep(self.delay)
                self._tell(key, self._read(key, entry))
        except BaseException as error:  # for the one who waits; a thread has nobody to tell
            with self._news:
                self._failure = error
                self._news.notify()

    def _read(self, key: str, entry: Entry) -> Rows:
        return HERE.acquire(self.store, self.backing, key, entry, self.work)

    def _tell(self, key: str, rows: Rows) -> None:
        with self._news:
            self._arrived[key] = rows
            self._news.notify()


# What a replica tells the driver of a step.


@dataclass(slots=True)
class Told:
    """What a task tells the driver."""

    replica: int
    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By key: how many rows were accepted, the piece that holds them, whether it is the whole
    state; with -1 for accepted the piece holds rows that wait."""
    files: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    """By key, rows worked on, refused ones included."""
    service: float = 0.0
    """Seconds that work took."""
    took: float = 0.0
    """Seconds of the whole task, from the first row on."""
    waited: float = 0.0
    """Seconds that all rows waited, from their moment of creation until work on them began."""
    refused: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> str:
        """As a text, to be read by `Told(**json.loads(text))`."""
        return json.dumps({f.name: getattr(self, f.name) for f in fields(self)})


PROTOCOLS: Final = ("mp", "r-blk", "s-blk")
"""How the state of keys changes hands."""
DONE: Final = "done"
"""The column of results that holds the moment at which a replica had each."""
TOLD: Final = "told"
"""The column by which a task tells the driver what it did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How a replica works."""

    protocol: str = "mp"
    service_time: float = 0.0
    """Further seconds that a row takes, beyond the work itself."""
    spend: str = "none"
    """How they are spent: `wait`, `cpu` or `none`."""
    grace: float = 0.05
    """Seconds that a replica which is done with the rest still gives to the state of keys that
    have just changed hands, before it leaves their rows for the next step."""
    fetch_delay: float = 0.0
    """Further seconds that the state of a key that changes hands takes, as from far away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaTask:
    """Work of all replicas in one step; give it to `mapInArrow` behind `repartitionById`."""

    store: str
    identity: str
    """The name of the store."""
    step: int
    """The step before it is the one whose state is taken up."""
    before: int | None
    table: Routing
    moved: frozenset[str]
    """Keys that changed hands with this step."""
    work: KeyedWork
    setting: Setting
    replica: int | None = None
    """Which one this is; on Spark the number of the partition tells."""
    settling: bool = False
    """Whether only rows that wait are worked on, and none come."""
    columns: pa.Schema
    """Of what it puts out: results, the moment of each, and what is told."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The results of this replica, and what it has to tell."""
        replica = partition() if self.replica is None else self.replica
        first = next(batches, None)  # until then it waits for the splitter
        began = time.perf_counter()
        rows = batches if first is None else chain([first], batches)
        fresh = {} if self.settling else _grouped(rows, self.work)
        yield from _Run(self, replica, fresh, began).results()


def _grouped(batches: Iterator[pa.RecordBatch], work: KeyedWork) -> dict[str, Rows]:
    """The rows of each key, in order."""
    parts = [batch for batch in batches if batch.num_rows]
    if not parts:
        return {}
    table = pa.Table.from_batches(parts)
    names = named(table[work.key].combine_chunks()).dictionary_encode()
    codes = names.indices.to_numpy(zero_copy_only=False)
    rows = structured(table, work.dtype)
    order = np.lexsort((table[ARRIVAL].to_numpy(), codes))
    rows, codes = rows[order], codes[order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    keys = [names.dictionary[int(codes[start])].as_py() for start in starts]
    return dict(zip(keys, np.split(rows, starts[1:]), strict=True))


class _Run:
    """One replica in one step."""

    def __init__(
        self, task: ReplicaTask, replica: int, fresh: dict[str, Rows], began: float
    ) -> None:
        self._task, self._work, self._began = task, task.work, began
        self._backing = Backing(task.store)
        self._told = Told(replica=replica)
        self._entries = self._find(fresh)
        self._fresh = self._with_pending(fresh)
        self._pieces: list[Rows] = []
        self._length = 0
        self._filed: dict[str, tuple[int, int, bool, int]] = {}

    def results(self) -> Iterator[pa.RecordBatch]:
        """Work, write, tell."""
        at_hand = {k: HERE.get(self._task.identity, k, self._entry(k)) for k in self._fresh}
        ready = {key: rows for key, rows in at_hand.items() if rows is not None}
        missing = sorted(self._fresh.keys() - ready.keys(), key=lambda k: (self._may_wait(k), k))
        fetching = Acquisition(
            self._task.identity,
            self._backing,
            self._work,
            {key: self._entry(key) for key in missing},
            self._task.moved,
            self._task.setting.fetch_delay,
        ).begin()
        if self._task.setting.protocol == "r-blk" and self._gets_keys():
            ready |= fetching.after(missing)
        yield from self._advance(ready)
        needed = [key for key in missing if key in self._fresh and not self._may_wait(key)]
        arrived = fetching.after(needed, grace=self._task.setting.grace)
        yield from self._advance({key: arrived[key] for key in self._fresh if key in arrived})
        self._leave_pending()
        self._file()
        yield self._tell()

    def _may_wait(self, key: str) -> bool:
        """Whether its rows may be left for the next step: once, where it has just changed hands."""
        entry, task = self._entry(key), self._task
        moving = task.setting.protocol == "mp" and key in task.moved
        return moving and entry.count > 0 and not entry.pending

    def _gets_keys(self) -> bool:
        return any(key in self._task.moved for key in self._fresh)

    def _find(self, fresh: Mapping[str, Rows]) -> dict[str, Entry]:
        if self._task.before is None:
            return {}
        return self._backing.entries(self._task.before, fresh)

    def _entry(self, key: str) -> Entry:
        return self._entries.get(key, Entry())

    def _with_pending(self, fresh: dict[str, Rows]) -> dict[str, Rows]:
        """Fresh rows behind those of the same key that wait already."""
        table, replica = self._task.table, self._told.replica
        for key, entry in self._entries.items():
            if entry.pending and table.owner(key) == replica:
                waiting = self._backing.read(entry.pending, self._work.dtype)
                behind = fresh.get(key, waiting[:0])
                fresh[key] = joined([waiting, behind], self._work.dtype)
        return fresh

    def _advance(self, histories: dict[str, Rows]) -> Iterator[pa.RecordBatch]:
        """Work on the fresh rows of keys whose state is here."""
        if not histories:
            return
        began, clock = time.time(), time.perf_counter()
        keys = sorted(histories)  # so that results come in the same order every time
        fresh = Groups.of({key: self._fresh.pop(key) for key in keys}, self._work.dtype)
        past = Groups.of({key: histories[key] for key in keys}, self._work.dtype)
        counts = np.array([self._entry(key).count for key in fresh.keys], np.int64)
        worked = self._work(past, counts, fresh)
        spend(self._task.setting.spend, self._task.setting.service_time * len(fresh.rows))
        took = time.perf_counter() - clock
        self._note(fresh, began, took, worked.refused)
        self._keep(past, fresh, worked.kept)
        if worked.results.num_rows:
            yield self._dated(worked.results, began + took * self._progress(fresh, worked.triggers))

    def _progress(self, fresh: Groups, triggers: NDArray[np.int64]) -> NDArray[np.float64]:
        """How much of the work was done when each result was: rows count in the order in which
        they were created, whatever their key."""
        rank = np.empty(len(fresh.rows))
        rank[np.argsort(fresh.rows["ts"], kind="stable")] = np.arange(len(fresh.rows))
        done: NDArray[np.float64] = (rank[triggers] + 1) / len(fresh.rows)
        return done

    def _note(self, fresh: Groups, began: float, took: float, refused: Mapping[str, int]) -> None:
        told = self._told
        told.rows |= {key: len(of) for key, of in fresh}
        told.service += took
        created = fresh.rows["ts"].astype(np.float64) / 1e6
        dated = created > 0  # a row may come without
        told.waited += float((began + took / 2 - created[dated]).sum())
        for reason, number in refused.items():
            told.refused[reason] = told.refused.get(reason, 0) + number

    def _keep(self, past: Groups, fresh: Groups, kept: NDArray[np.bool_]) -> None:
        """Note the rows that become state, and remember the state for the next step."""
        work, accepted = self._work, np.split(kept, fresh.offsets[1:-1])
        for (key, old), (_, new), mask in zip(past, fresh, accepted, strict=True):
            entry, rows = self._entry(key), new[mask]
            state = recent(joined([old, rows], work.dtype), work.keep)
            whole = len(entry.pieces) + 1 > LONGEST_CHAIN or len(rows) >= work.keep
            self._set(key, state if whole else rows, whole=whole, accepted=len(rows))
            HERE.put(self._task.identity, key, entry.count + len(rows), state)

    def _leave_pending(self) -> None:
        for key, rows in self._fresh.items():
            self._set(key, rows, whole=False, accepted=-1)

    def _set(self, key: str, rows: Rows, *, whole: bool, accepted: int) -> None:
        begin, self._length = self._length, self._length + len(rows)
        self._pieces.append(rows)
        self._filed[key] = (begin, self._length, whole, accepted)

    def _file(self) -> None:
        """Write what becomes state, and what waits, to one file."""
        rows = joined(self._pieces, self._work.dtype)
        name = self._backing.write(rows) if self._length else ""
        self._told.files = [name] if name else []
        for key, (begin, end, whole, accepted) in self._filed.items():
            piece = Piece(name, begin, end) if end > begin else None
            self._told.entries[key] = {"piece": piece, "whole": whole, "accepted": accepted}

    def _tell(self) -> pa.RecordBatch:
        """One row that holds nothing else."""
        self._told.took = time.perf_counter() - self._began
        *others, last = self._task.columns
        text = pa.array([self._told.to_json()], last.type)
        blank = [pa.nulls(1, column.type) for column in others]
        return pa.RecordBatch.from_arrays([*blank, text], schema=self._task.columns)

    def _dated(self, results: pa.RecordBatch, moments: NDArray[np.float64]) -> pa.RecordBatch:
        """Results, each with the moment at which it was there."""
        stamps = pa.array((moments * 1e6).astype(np.int64), pa.int64())
        told = pa.nulls(results.num_rows, pa.string())
        return pa.RecordBatch.from_arrays(
            [*results.columns, stamps, told], schema=self._task.columns
        )
