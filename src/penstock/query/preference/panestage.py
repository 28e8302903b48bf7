"""The pane stage (PLQ): each task finds the best tuples of its rows of every pane."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
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
from penstock.query.preference.part import Columns, encode, reduce
from penstock.query.preference.punctuation import Arrivals
from penstock.query.preference.tuples import Groups, Ints, in_utc, times, usable
from penstock.query.preference.work import where

SCHEMA: Final = (
    "ts timestamp, batch long, task int, pane long, rows long, best long, payload binary, "
    "arrivals array<long>, set_aside long, busy double"
)
"""A row for each part of a pane, and rows without payload that say how rows came to a task and what
work they made."""
_WIRE: Final = pa.schema(
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
_BUFFER: Final = 65536
"""Rows that are collected before they are reduced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaneStage:
    """For `mapInArrow`: rows come in, parts of panes go out."""

    columns: Columns
    panes: Panes
    criterion: Criterion
    spread: bool = False
    """Whether rows come from `Spread`, which has looked at them."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One task."""
        pile = _Pile(self)
        for batch in batches:
            began = time.perf_counter()
            table = in_utc(pa.Table.from_batches([batch]))
            self._take_spread(pile, table) if self.spread else self._take(pile, table)
            pile.busy += time.perf_counter() - began
        began = time.perf_counter()
        parts = list(self._parts(pile))
        pile.busy += time.perf_counter() - began
        told = self._told(pile)
        if parts or told:
            here = where()._asdict()
            first = {**here, "pane": 0}  # never null, which would make doubles of all in pandas
            yield pa.RecordBatch.from_pylist([{**first, **row} for row in (*parts, *told)], _WIRE)

    def panes_of(self, table: pa.Table) -> Ints:
        """The pane of each row."""
        return self.panes.of(times(table, self.columns.time))

    def _take(self, pile: "_Pile", table: pa.Table) -> None:
        """Rows as the source has them."""
        good = table.filter(usable(table, self.columns.on, self.columns.time))
        pile.set_aside += table.num_rows - good.num_rows
        pile.arrivals = pile.arrivals.also(Arrivals.of(times(good, self.columns.time)))
        pile.add(good)

    def _take_spread(self, pile: "_Pile", table: pa.Table) -> None:
        """Rows that an emitter sent, and what it told of them."""
        telling = pc.is_valid(table[splitting.ARRIVALS])
        pile.heard += table.filter(telling).select(splitting.COLUMNS).to_pylist()
        pile.add(table.filter(pc.invert(telling)).drop_columns(list(splitting.COLUMNS)))

    def _parts(self, pile: "_Pile") -> Iterator[dict[str, Any]]:
        table = pile.reduce()
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
                "rows": pile.rows[pane],
                "best": part.num_rows,
                "payload": encode(part),
            }

    def _told(self, pile: "_Pile") -> list[dict[str, Any]]:
        """What this task did, and how rows came."""
        rows = sum(pile.rows.values())
        done = [{"rows": rows, "busy": pile.busy}] if rows else []
        heard = [
            {
                "task": told[splitting.TASK],
                "arrivals": told[splitting.ARRIVALS],
                "set_aside": told[splitting.SET_ASIDE],
            }
            for told in pile.heard
        ]
        if not pile.arrivals.count and not pile.set_aside:
            return [*done, *heard]
        own = {"arrivals": list(pile.arrivals.plain()), "set_aside": pile.set_aside}
        return [{**(done[0] if done else {}), **own}]


@dataclass(slots=True)
class _Pile:
    """Rows that may be among the best of their panes; reduced whenever they have doubled."""

    stage: PaneStage
    busy: float = 0.0
    set_aside: int = 0
    arrivals: Arrivals = field(default_factory=Arrivals)
    heard: list[dict[str, Any]] = field(default_factory=list)
    rows: dict[int, int] = field(default_factory=dict)
    """By pane, how many came."""
    _tables: list[pa.Table] = field(default_factory=list)
    _waiting: int = 0
    _limit: int = _BUFFER

    def add(self, table: pa.Table) -> None:
        """Rows that can be compared."""
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
        """Only the best of what is there."""
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
    """What Spark tells of the stage, batch by batch: rows and those set aside, seconds of work, the
    tasks that did it and the sum of squares of their rows, parts and that of theirs, and panes."""
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
