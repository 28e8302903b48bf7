"""The pane stage (PLQ): each task finds the best tuples of its rows in every pane."""

import time
from collections.abc import Iterator
from dataclasses import astuple, dataclass, field
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as sql

from penstock.core.panes import Panes
from penstock.query.preference import splitting
from penstock.query.preference.criterion import Criterion
from penstock.query.preference.parts import Columns, encode, reduce, where
from penstock.query.preference.punctuation import Arrivals
from penstock.query.preference.tuples import Groups, Ints, in_utc, times, usable

SCHEMA: Final = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("batch", pa.int64()),
        ("task", pa.int32()),
        ("pane", pa.int64()),
        ("rows", pa.int64()),
        ("best", pa.int64()),
        ("payload", pa.binary()),
        ("arrivals", pa.list_(pa.int64())),
        ("set_aside", pa.int64()),
        ("busy", pa.float64()),
    ]
)
"""A row for each part of a pane, and rows without payload that hold a task's arrivals and busy
time."""
_BUFFER: Final = 65536
"""Rows buffered before they are reduced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaneStage:
    """For `mapInArrow`: from rows to parts of panes."""

    columns: Columns
    panes: Panes
    criterion: Criterion
    routed: bool = False
    """Whether rows come from `RoutePanes`, which has checked them."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One task."""
        buffer = _PaneBuffer(self)
        for batch in batches:
            began = time.perf_counter()
            table = in_utc(pa.Table.from_batches([batch]))
            self._take_routed(buffer, table) if self.routed else self._take(buffer, table)
            buffer.busy += time.perf_counter() - began
        began = time.perf_counter()
        rows = list(self._parts(buffer))
        buffer.busy += time.perf_counter() - began
        rows += self._measures(buffer)
        if rows:
            here = {**where()._asdict(), "pane": 0}  # null would become a double in pandas
            yield pa.RecordBatch.from_pylist([{**here, **row} for row in rows], SCHEMA)

    def panes_of(self, table: pa.Table) -> Ints:
        """The pane of each row."""
        return self.panes.of(times(table, self.columns.time))

    def _take(self, buffer: "_PaneBuffer", table: pa.Table) -> None:
        """Rows straight from the source."""
        good = table.filter(usable(table, self.columns.on, self.columns.time))
        buffer.set_aside += table.num_rows - good.num_rows
        buffer.arrivals = buffer.arrivals.also(Arrivals.of(times(good, self.columns.time)))
        buffer.add(good)

    def _take_routed(self, buffer: "_PaneBuffer", table: pa.Table) -> None:
        """Rows of `RoutePanes`, and its reports on them."""
        is_report = pc.is_valid(table[splitting.ARRIVALS])
        buffer.reports += table.filter(is_report).select(splitting.COLUMNS).to_pylist()
        buffer.add(table.filter(pc.invert(is_report)).drop_columns(list(splitting.COLUMNS)))

    def _parts(self, buffer: "_PaneBuffer") -> Iterator[dict[str, Any]]:
        table = buffer.reduce()
        if table is None:
            return
        groups = Groups.of(self.panes_of(table))
        table = table.take(groups.order)
        panes, moments = self.panes_of(table), times(table, self.columns.time)
        for begin, end in pairwise(groups.starts.tolist()):
            part, pane = table.slice(begin, end - begin), int(panes[begin])
            yield {
                "ts": int(moments[begin:end].max()),
                "pane": pane,
                "rows": buffer.rows[pane],
                "best": part.num_rows,
                "payload": encode(part),
            }

    def _measures(self, buffer: "_PaneBuffer") -> list[dict[str, Any]]:
        """The work of this task, and the arrivals."""
        rows = sum(buffer.rows.values())
        done: dict[str, Any] = {"rows": rows, "busy": buffer.busy} if rows else {}
        if buffer.arrivals.count or buffer.set_aside:
            own = {"arrivals": list(astuple(buffer.arrivals)), "set_aside": buffer.set_aside}
            return [done | own]
        names = {
            "task": splitting.TASK,
            "arrivals": splitting.ARRIVALS,
            "set_aside": splitting.SET_ASIDE,
        }
        reports = [{ours: report[its] for ours, its in names.items()} for report in buffer.reports]
        return [*([done] if done else []), *reports]


@dataclass(slots=True)
class _PaneBuffer:
    """Rows that may be among the best of their panes, reduced whenever they have doubled."""

    stage: PaneStage
    busy: float = 0.0
    set_aside: int = 0
    arrivals: Arrivals = field(default_factory=Arrivals)
    reports: list[dict[str, Any]] = field(default_factory=list)
    rows: dict[int, int] = field(default_factory=dict)
    """By pane, rows that arrived."""
    _tables: list[pa.Table] = field(default_factory=list)
    _waiting: int = 0
    _limit: int = _BUFFER

    def add(self, table: pa.Table) -> None:
        """Add comparable rows."""
        if not table.num_rows:
            return
        panes, counts = np.unique(self.stage.panes_of(table), return_counts=True)
        for pane, count in zip(panes.tolist(), counts.tolist(), strict=True):
            self.rows[pane] = self.rows.get(pane, 0) + count
        self._tables.append(table)
        self._waiting += table.num_rows
        if self._waiting >= self._limit:
            self.reduce()

    def reduce(self) -> pa.Table | None:
        """Keep only the best of each pane."""
        if not self._tables:
            return None
        table = pa.concat_tables(self._tables).combine_chunks()
        stage = self.stage
        kept = reduce(table, stage.panes_of(table), stage.columns, stage.criterion)
        table = table.take(kept)
        self._tables, self._waiting = [table], table.num_rows
        self._limit = max(_BUFFER, 2 * table.num_rows)
        return table


def measures() -> list[Column]:
    """Spark's aggregates of the stage in a batch, the fields of `PaneLoad`."""
    rows = sql.when(sql.col("busy").isNotNull(), sql.col("rows"))
    size = sql.when(sql.col("payload").isNotNull(), sql.col("rows"))
    pane = sql.when(sql.col("payload").isNotNull(), sql.col("pane"))
    return [
        sql.sum(rows).alias("rows"),
        sql.sum("set_aside").alias("set_aside"),
        sql.sum("busy").alias("busy"),
        sql.count("busy").alias("tasks"),
        sql.sum(rows.cast("double") * rows).alias("rows_squared"),
        sql.count("payload").alias("parts"),
        sql.sum(size.cast("double") * size).alias("parts_squared"),
        sql.approx_count_distinct(pane, 0.01).alias("panes"),
    ]
