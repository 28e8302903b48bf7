"""What an operator does with the rows of a key, given the earlier rows of that key.

The state of a key is its most recent rows, as many as the operator keeps, and the number of rows
ever accepted. So state can be saved, moved and replayed without knowing its meaning.

The splitter, `route`, says which replica a row goes to, and its place in the stream:

>>> rows = pa.RecordBatch.from_pydict({"key": ["A", "B"]})
>>> [routed] = route([rows], key="key", table=Routing(replicas=3, owners={"A": 2, "B": 0}))
>>> routed[REPLICA].to_pylist(), routed[ARRIVAL].to_pylist()
([2, 0], [0, 1])
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark import TaskContext

from penstock.core.routing import Routing

Rows = NDArray[Any]
"""Rows as a structured array, a field for each column of the state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """Rows by key: those of `keys[k]` lie from `offsets[k]` up to `offsets[k + 1]`, in order.

    >>> rows = np.array([(1,), (2,), (3,)], [("number", "i8")])
    >>> groups = Groups(keys=("A", "B"), offsets=np.array([0, 2, 3]), rows=rows)
    >>> [(key, of["number"].tolist()) for key, of in groups]
    [('A', [1, 2]), ('B', [3])]
    """

    keys: tuple[str, ...]
    offsets: NDArray[np.int64]
    rows: Rows

    def __iter__(self) -> Iterator[tuple[str, Rows]]:
        """Each key with its rows."""
        for place, key in enumerate(self.keys):
            yield key, self.rows[self.offsets[place] : self.offsets[place + 1]]

    @classmethod
    def of(cls, parts: Mapping[str, Rows], dtype: np.dtype[Any]) -> "Groups":
        """Groups from the rows of each key."""
        sizes = [len(rows) for rows in parts.values()]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(keys=tuple(parts), offsets=offsets, rows=joined(list(parts.values()), dtype))


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """The outcome of fresh rows."""

    results: pa.RecordBatch
    """In the columns of `KeyedWork.results`."""
    triggers: NDArray[np.int64]
    """For each result, the fresh row that triggered it."""
    kept: NDArray[np.bool_]
    """For each fresh row, whether it was accepted; only accepted rows become state."""
    refused: Mapping[str, int]
    """Rows that were not accepted, by reason."""


class KeyedWork(Protocol):
    """An operator on keyed rows; importable by name, so that executors can load it."""

    @property
    def key(self) -> str:
        """The column that holds the key, a text."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """The columns that it needs of a row and keeps as state; among them `ts`, the creation
        time in microseconds since the epoch."""
        ...

    @property
    def keep(self) -> int:
        """Rows of a key that are kept, at most."""
        ...

    @property
    def results(self) -> pa.Schema:
        """The columns of its results."""
        ...

    def __call__(self, past: Groups, counts: NDArray[np.int64], fresh: Groups, /) -> Worked:
        """Process fresh rows of some keys, given the kept rows of the same keys in the same order,
        and how many rows of each had been accepted before.

        Must depend on nothing else: a batch may be repeated after a failure.
        """
        ...


def joined(parts: Sequence[Rows], dtype: np.dtype[Any]) -> Rows:
    """Rows concatenated as bytes: numpy would copy them column by column.

    >>> row = np.array([(7,)], [("number", "i8")])
    >>> joined([row, row], row.dtype)["number"].tolist()
    [7, 7]
    """
    plain = np.dtype((np.void, dtype.itemsize))
    return np.concatenate([np.empty(0, plain), *(part.view(plain) for part in parts)]).view(dtype)


def recent(rows: Rows, most: int) -> Rows:
    """The last rows, without keeping the memory of the others.

    >>> recent(np.arange(5), 2).tolist()
    [3, 4]
    """
    return rows if len(rows) <= most else rows[-most:].copy()


def structured(table: pa.Table, dtype: np.dtype[Any]) -> Rows:
    """The columns of a table as a structured array; null becomes NaN, or the smallest integer.

    >>> table = pa.table({"size": pa.array([7, None], pa.int32()), "bid": [None, 1.5]})
    >>> structured(table, np.dtype([("size", "i4"), ("bid", "f8")])).tolist()
    [(7, nan), (-2147483648, 1.5)]
    """
    rows = np.zeros(len(table), dtype)
    for name in _names(dtype):
        rows[name] = _plain(table[name].combine_chunks(), dtype[name])
    return rows


def _plain(column: pa.Array, kind: np.dtype[Any]) -> NDArray[Any]:
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    if column.null_count and kind.kind != "f":
        column = column.fill_null(int(np.iinfo(kind).min))
    plain: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return plain


def _names(dtype: np.dtype[Any]) -> Sequence[str]:
    assert dtype.names is not None  # noqa: S101  # the state of a key has columns
    return dtype.names


REPLICA: Final = "_replica"
ARRIVAL: Final = "_arrival"
"""The columns that the splitter adds."""
_PART_BITS: Final = 40
"""Rows that a part of a batch may have, as a power of two."""


def route(
    batches: Iterable[pa.RecordBatch], *, key: str, table: Routing
) -> Iterator[pa.RecordBatch]:
    """Rows with the replica that owns their key, and their place in the stream.

    The parts of a batch are in the order of the stream, and so are the rows of a part; on their way
    to a replica they are not.
    """
    known = pa.array(list(table.owners), pa.string())
    owners = pa.array(list(table.owners.values()), pa.int32())
    place = partition() << _PART_BITS
    for batch in batches:
        keys = as_text(batch.column(key))
        index = pc.index_in(keys, value_set=known)
        owner = owners.take(index) if len(owners) else pa.nulls(len(keys), pa.int32())
        if owner.null_count:
            owner = pc.coalesce(owner, _by_checksum(keys, table))
        arrival = pa.array(np.arange(place, place + len(keys)))
        place += len(keys)
        yield batch.append_column(REPLICA, owner).append_column(ARRIVAL, arrival)


def as_text(keys: pa.Array) -> pa.Array:
    """Keys as strings; null is the empty string."""
    texts = keys if pa.types.is_string(keys.type) else keys.cast(pa.string())
    return texts.fill_null("")


def partition() -> int:
    """The number of this task's partition; 0 outside of Spark."""
    context = TaskContext.get()
    return context.partitionId() if context is not None else 0


def _by_checksum(keys: pa.Array, table: Routing) -> pa.Array:
    distinct = keys.unique()
    owners = pa.array([table.owner(key) for key in distinct.to_pylist()], pa.int32())
    return owners.take(pc.index_in(keys, value_set=distinct))
