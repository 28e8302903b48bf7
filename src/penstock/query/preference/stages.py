"""Both stages of a preference query as steps of a Spark plan: `find_windows(find_panes(rows))`.

The tasks of the window stage (WLQ) come first: merging parts and answering windows, without state.
"""

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.resource import ResourceProfile
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.streaming.state import GroupStateTimeout
from pyspark.sql.types import (
    ArrayType,
    DataType,
    IntegerType,
    MapType,
    StructField,
    StructType,
    TimestampNTZType,
)

from penstock.query.preference import emitter, measures, pane_stage, splitting
from penstock.query.preference.emitter import Emit, Slack
from penstock.query.preference.measures import measures_row
from penstock.query.preference.pane_stage import PaneStage
from penstock.query.preference.parts import Work
from penstock.query.preference.splitting import RoutePanes, Splitting

Batches = Iterator[pa.RecordBatch]
Row = dict[str, Any]

MERGED: Final = pa.schema(
    [
        ("slot", pa.int64()),
        ("windows", pa.list_(pa.int64())),
        ("payload", pa.binary()),
        measures.FIELD,
    ]
)
"""A row for each merged part, with the windows of the slot that need it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeParts:
    """For `mapInArrow`: the merge tasks of a slot."""

    work: Work

    def __call__(self, batches: Batches) -> Batches:
        """The merged parts of each task, for every slot with windows that need them."""
        rows, reported = _split_reports(batches)
        began, merges, made = time.perf_counter(), 0, []
        for task in _tasks(rows):
            merges += len(task) > 1
            payload = self.work.merge([row["payload"] for row in task])
            made += [{**place, "payload": payload} for place in _places(task[0])]
        if merges:
            busy = time.perf_counter() - began
            reported.append(measures_row(merges=merges, busy=busy, tasks=merges))
        if made or reported:
            passed_on = [
                {"slot": 0, "windows": [], "payload": b"", **values} for values in reported
            ]
            yield pa.RecordBatch.from_pylist([*made, *passed_on], MERGED)


def _tasks(rows: Sequence[Row]) -> list[list[Row]]:
    tasks: dict[int, list[Row]] = {}
    for row in rows:
        tasks.setdefault(row["task"], []).append(row)
    return list(tasks.values())


def _places(row: Row) -> list[Row]:
    """The slots that need the result of a task, each with its windows."""
    windows: dict[int, list[int]] = {}
    for window, slot in zip(row["windows"], row["slots"], strict=True):
        windows.setdefault(slot, []).append(window)
    return [{"slot": slot, "windows": those} for slot, those in windows.items()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """For `mapInArrow`: the results of a slot's windows, in their order."""

    work: Work
    results: pa.Schema
    """The columns of a result, the window first."""

    def __call__(self, batches: Batches) -> Batches:
        """The best of each window."""
        rows, reported = _split_reports(batches)
        schema = pa.schema([*self.results, measures.FIELD])
        windows: dict[int, list[bytes]] = {}
        for row in rows:
            for number in row["windows"]:
                windows.setdefault(number, []).append(row["payload"])
        busy = 0.0
        for number in sorted(windows):
            began = time.perf_counter()
            made = self.work.answer(number, windows[number], self.results.field(0))
            busy += time.perf_counter() - began
            yield from _padded(made, schema)
        reported.append(measures_row(windows=len(windows), busy=busy, tasks=len(windows)))
        yield pa.RecordBatch.from_pylist(reported, schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneSlot:
    """For `mapInArrow`: both kinds of tasks, where there is one slot."""

    merge: MergeParts
    answer: Answer

    def __call__(self, batches: Batches) -> Batches:
        """Merge and answer in one process."""
        return self.answer(self.merge(batches))


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePanes:
    """For `mapInArrow` on a table: the merged parts of each pane, for the windows that contain it.

    A slot has as many consecutive windows as contain a pane, so a pane goes to two slots at most.
    """

    work: Work

    def __call__(self, batches: Batches) -> Batches:
        """All panes of a partition, each with all its parts."""
        payloads: dict[int, list[bytes]] = {}
        for batch in batches:
            for row in batch.to_pylist():
                payloads.setdefault(row["pane"], []).append(row["payload"])
        for pane in sorted(payloads):
            windows = self.work.panes.windows_of(pane)
            payload, size = self.work.merge(payloads[pane]), len(windows)
            waiting = {"windows": list(windows), "slots": [w // size for w in windows]}
            made = [{**place, "payload": payload} for place in _places(waiting)]
            yield pa.RecordBatch.from_pylist(made, MERGED)


def _split_reports(batches: Batches) -> tuple[list[Row], list[dict[str, list[float | None]]]]:
    """The rows with parts, and the measures of the others."""
    rows = [row for batch in batches for row in batch.to_pylist()]
    reported = [{measures.COLUMN: row[measures.COLUMN]} for row in rows if not row["payload"]]
    return [row for row in rows if row["payload"]], reported


def _padded(table: pa.Table, schema: pa.Schema) -> Batches:
    """A table of results, without measures."""
    nothing = pa.nulls(table.num_rows, measures.FIELD.type)
    yield from table.append_column(measures.FIELD, nothing).cast(schema).to_batches()


WINDOW: Final = "window"
_ALL: Final = "emitter"
_MANY_PARTITIONS: Final = 16
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A preference query, checked against the columns of its rows."""

    work: Work
    rows: StructType
    """The columns of the rows."""
    slack: Slack
    max_ahead: int | None
    """Microseconds by which a row may be ahead of the clock; None for any."""
    splitting: Splitting | None
    """How heavy panes are split; None if each partition of the source is a part."""
    slots: int
    """Tasks that the window stage is spread over."""
    name: str
    """The name of its measures in the progress of a streaming query."""

    @property
    def results(self) -> StructType:
        """The columns of a result: the window, those of the rows, and the score if there is one."""
        time = self.rows[self.work.columns.time].dataType
        edges = StructType([StructField("start", time), StructField("end", time)])
        score = self.work.criterion.score
        scored = [] if score is None else [StructField(score, IntegerType())]
        return StructType([StructField(WINDOW, edges), *_nullable(self.rows), *scored])

    @property
    def answers(self) -> StructType:
        """The columns of a result and of the measures beside it."""
        return StructType([*self.results, *from_arrow_schema(pa.schema([measures.FIELD]))])

    @property
    def arrow_results(self) -> pa.Schema:
        """The columns of a result as an Arrow schema."""
        return to_arrow_schema(self.results, timezone="UTC")


def find_panes(rows: DataFrame, query: Query, profile: ResourceProfile | None = None) -> DataFrame:
    """The pane stage: the best tuples of each pane in each partition, and the arrivals."""
    work, split = query.work, query.splitting
    if query.max_ahead is not None:
        rows = _dated(rows, work.columns.time, query.max_ahead)
    if split is not None:
        router = RoutePanes(columns=work.columns, panes=work.panes, splitting=split)
        added = from_arrow_schema(pa.schema(splitting.FIELDS))
        routed = rows.mapInArrow(
            router, StructType([*_nullable(query.rows), *added]), profile=profile
        )
        rows = routed.repartitionById(split.workers, sql.col(splitting.WORKER))
    stage = PaneStage(
        columns=work.columns,
        panes=work.panes,
        criterion=work.criterion,
        routed=split is not None,
    )
    parts = rows.mapInArrow(stage, from_arrow_schema(pane_stage.SCHEMA), profile=profile)
    if not rows.isStreaming:
        return parts
    return parts.observe(f"{query.name}_panes", *pane_stage.measures())


def _dated(rows: DataFrame, time: str, ahead: int) -> DataFrame:
    """Rows from too far in the future lose their time, and are set aside like others without one.

    The clock is that of the batch, which is the same when a batch is repeated.
    """
    now = sql.current_timestamp()
    if isinstance(rows.schema[time].dataType, TimestampNTZType):
        now = sql.localtimestamp()
    latest = now + sql.expr(f"INTERVAL '{ahead / 1e6:.6f}' SECOND")
    return rows.withColumn(time, sql.when(sql.col(time) <= latest, sql.col(time)))


def find_windows(parts: DataFrame, query: Query) -> DataFrame:
    """The window stage of a streaming query: the best tuples of each window that is complete."""
    _advise(parts.sparkSession.conf.get("spark.sql.shuffle.partitions"))
    emit = Emit(work=query.work, slack=query.slack, slots=query.slots)
    # pandas has no times beyond 2262, such as the year 9999.
    together = parts.drop("ts").withColumn(_ALL, sql.lit(0)).groupBy(_ALL)
    sent = together.applyInPandasWithState(
        emit,
        emitter.SCHEMA,
        emitter.STATE,
        "append",
        GroupStateTimeout.NoTimeout,
    )
    merge = MergeParts(work=query.work)
    answer = Answer(work=query.work, results=query.arrow_results)
    if query.slots == 1:
        answers = sent.mapInArrow(OneSlot(merge=merge, answer=answer), query.answers)
    else:
        merged = _on_slots(sent, query.slots).mapInArrow(merge, from_arrow_schema(MERGED))
        answers = _on_slots(merged, query.slots).mapInArrow(answer, query.answers)
    return measures.observed(answers, f"{query.name}_windows")


def find_all_windows(parts: DataFrame, query: Query) -> DataFrame:
    """The window stage of a batch table: every window that has rows."""
    panes = parts.where(sql.col("payload").isNotNull()).select("pane", "payload")
    schema = from_arrow_schema(MERGED)
    merged = panes.repartition("pane").mapInArrow(MergePanes(work=query.work), schema)
    answer = Answer(work=query.work, results=query.arrow_results)
    return measures.dropped(merged.repartition("slot").mapInArrow(answer, query.answers))


def _advise(partitions: str | None) -> None:
    """Warn if most tasks of the stateful stage would be empty, as with Spark's default."""
    if partitions is not None and partitions.isdigit() and int(partitions) > _MANY_PARTITIONS:
        _LOG.warning(
            "spark.sql.shuffle.partitions is %s, and the state of a preference query is one part; "
            "set it to 1 before the query starts, or every batch has %d tasks with nothing to do",
            partitions,
            int(partitions) - 1,
        )


def _on_slots(rows: DataFrame, slots: int) -> DataFrame:
    """Rows on the slots that they name."""
    # A shuffle does not accept rows of the stateful stage as they are; a new column does it.
    placed = rows.withColumn("slot", sql.pmod("slot", sql.lit(slots)).cast("int"))
    return placed.repartitionById(slots, sql.col("slot"))


def _nullable(rows: StructType) -> list[StructField]:
    """The columns, nested fields included, as nullable ones: Arrow cannot express that a field is
    never null within a struct that may be."""
    return [StructField(field.name, _loose(field.dataType)) for field in rows.fields]


def _loose(kind: DataType) -> DataType:
    if isinstance(kind, StructType):
        return StructType(_nullable(kind))
    if isinstance(kind, ArrayType):
        return ArrayType(_loose(kind.elementType))
    if isinstance(kind, MapType):
        return MapType(_loose(kind.keyType), _loose(kind.valueType))
    return kind
