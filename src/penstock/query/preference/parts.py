"""The best tuples of a part of a pane: how they are chosen and merged, and how a part travels.

`Work` is what every task of a preference query knows: the columns, the panes and the criterion.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from penstock.core.errors import SettingError
from penstock.core.panes import Panes
from penstock.query.preference.criterion import Criterion, Merge
from penstock.query.preference.tuples import Floats, Groups, Ints, codes_of, combine, points

_TEXTS: Final = "pane_texts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Which columns are compared, and which rows with which."""

    on: tuple[str, ...]
    maximise: frozenset[str] = frozenset()
    by: tuple[str, ...] = ()
    time: str = "ts"
    ranked: bool = True
    """Whether ranks may replace values that are not exact as doubles."""

    def points(self, table: pa.Table) -> Floats:
        """The rows as points."""
        return points(table, self.on, self.maximise, ranked=self.ranked)

    def order(self, schema: pa.Schema) -> list[tuple[str, str]]:
        """The order of rows in an answer: by key, best values first, then by all other columns, so
        that it is deterministic."""
        own = [(name, "descending" if name in self.maximise else "ascending") for name in self.on]
        named = {*self.by, *self.on}
        rest = [f.name for f in schema if f.name not in named and not pa.types.is_nested(f.type)]
        rest.sort(key=lambda name: name != self.time)
        return [*((n, "ascending") for n in self.by), *own, *((n, "ascending") for n in rest)]


def reduce(table: pa.Table, panes: Ints, columns: Columns, criterion: Criterion) -> Ints:
    """Places of the rows that are among the best of their pane and key, in their order."""
    codes = panes if not columns.by else combine(panes, codes_of(table, columns.by))
    groups = Groups.of(codes)
    kept = criterion.keep(columns.points(table)[groups.order], groups.starts)
    return np.sort(groups.order[kept])


def merge(tables: Sequence[pa.Table], columns: Columns, criterion: Criterion) -> pa.Table:
    """The best of several parts of a pane, or of several panes."""
    if len(tables) == 1:
        return tables[0]
    if criterion.merge is not None:
        two_at_a_time = partial(_merged, columns=columns, function=criterion.merge)
        return functools.reduce(two_at_a_time, tables)
    table = pa.concat_tables(tables).combine_chunks()
    return table.take(reduce(table, np.zeros(table.num_rows, np.int64), columns, criterion))


def _merged(left: pa.Table, right: pa.Table, columns: Columns, function: Merge) -> pa.Table:
    """Both merged by a user's function, key by key."""
    table = pa.concat_tables([left, right]).combine_chunks()
    values, groups = columns.points(table), Groups.of(codes_of(table, columns.by))
    kept = []
    for begin, end in pairwise(groups.starts):
        rows = groups.order[begin:end]
        cut = int((rows < left.num_rows).sum())
        chosen = _places(function(values[rows[:cut]], values[rows[cut:]]), len(rows))
        kept.append(rows[chosen])
    return table.take(np.sort(np.concatenate([np.empty(0, np.int64), *kept])))


def _places(returned: Any, rows: int) -> Ints:
    """Check what a user's function returned: places of so many rows."""
    places = np.asarray(returned)
    if places.size == 0:
        return np.empty(0, np.int64)
    if places.ndim != 1 or places.dtype.kind not in "iu" or len(set(places.tolist())) < len(places):
        raise SettingError(f"merge must return different whole numbers, got {returned!r}")
    if places.min() < 0 or places.max() >= rows:
        raise SettingError(f"merge must return places of the {rows} rows it got, got {returned!r}")
    return places.astype(np.int64)


def answer(tables: Sequence[pa.Table], columns: Columns, criterion: Criterion) -> pa.Table:
    """The result of a window, given the best of its panes: rows in a fixed order."""
    made, scores = _best(tables, columns, criterion)
    order = columns.order(made.schema)
    if criterion.score is not None:
        made = made.append_column(criterion.score, pa.array(scores, pa.int32()))
        order.insert(len(columns.by), (criterion.score, "ascending"))
    made = _sorted(made, order)
    return made if criterion.limit is None else _limited(made, columns.by, criterion.limit)


def _sorted(table: pa.Table, order: list[tuple[str, str]]) -> pa.Table:
    """The rows in this order; ties by the columns that Arrow cannot sort, as strings."""
    nested = [column.name for column in table.schema if pa.types.is_nested(column.type)]
    if not nested:
        return table.sort_by(order)
    texts = pa.array([repr(row) for row in table.select(nested).to_pylist()], pa.string())
    keyed = table.append_column(_TEXTS, texts)
    return keyed.sort_by([*order, (_TEXTS, "ascending")]).drop_columns([_TEXTS])


def _best(
    tables: Sequence[pa.Table], columns: Columns, criterion: Criterion
) -> tuple[pa.Table, Ints | None]:
    """The rows of an answer, and their scores."""
    if criterion.merge is not None:
        return merge(tables, columns, criterion), None
    table = pa.concat_tables(tables).combine_chunks()
    groups = Groups.of(codes_of(table, columns.by))
    chosen = criterion.answer(columns.points(table)[groups.order], groups.starts)
    return table.take(groups.order[chosen.rows]), chosen.scores


def _limited(table: pa.Table, by: Sequence[str], limit: int) -> pa.Table:
    """The first `limit` rows of each key of a table sorted by key."""
    groups = Groups.of(codes_of(table, by))
    first = np.repeat(groups.starts[:-1], np.diff(groups.starts))
    ranks = np.empty(table.num_rows, np.int64)
    ranks[groups.order] = np.arange(table.num_rows) - first
    return table.filter(pa.array(ranks < limit))


def encode(table: pa.Table) -> bytes:
    """A table as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    made: bytes = sink.getvalue().to_pybytes()
    return made


def decode(payload: bytes) -> pa.Table:
    """The table that `encode` wrote.

    >>> decode(encode(pa.table({"x": [1, 2]})))["x"].to_pylist()
    [1, 2]
    """
    return pa.ipc.open_stream(pa.py_buffer(payload)).read_all()


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What every task of a query knows: the columns, the panes and the criterion."""

    columns: Columns
    panes: Panes
    criterion: Criterion
    schema: str = ""
    """The columns of the rows, as Spark writes them."""

    def signature(self) -> dict[str, Any]:
        """What must be the same for a query to continue from another's checkpoint."""
        return {
            "window": f"{self.panes.window} us",
            "slide": f"{self.panes.slide} us",
            "on": list(self.columns.on),
            "maximise": sorted(self.columns.maximise),
            "by": list(self.columns.by),
            "time": self.columns.time,
            "kind": type(self.criterion).__name__,
            "delta": self.criterion.limit,
            "columns": self.schema,
        }

    def merge(self, payloads: Sequence[bytes]) -> bytes:
        """Several parts merged into one."""
        if len(payloads) == 1:
            return payloads[0]
        parts = [decode(payload) for payload in payloads]
        return encode(merge(parts, self.columns, self.criterion))

    def answer(self, window: int, payloads: Sequence[bytes], field: pa.Field) -> pa.Table:
        """The result of a window, with the window as its first column."""
        made = answer([decode(payload) for payload in payloads], self.columns, self.criterion)
        edges = (self.panes.start(window), self.panes.end(window))
        sides = [
            pa.array(np.full(made.num_rows, edge)).cast(side.type)
            for edge, side in zip(edges, field.type, strict=True)
        ]
        return made.add_column(0, field, pa.StructArray.from_arrays(sides, fields=list(field.type)))


class Place(NamedTuple):
    """The batch of a streaming query, and the partition of a task."""

    batch: int
    task: int


def where() -> Place:
    """The place of the current task.

    >>> where()  # outside of Spark
    Place(batch=0, task=0)
    """
    task = TaskContext.get()
    if task is None:
        return Place(0, 0)
    return Place(int(task.getLocalProperty("streaming.sql.batchId") or 0), task.partitionId())
