"""Both stages of a preference query as steps of a Spark plan: `find_windows(find_panes(rows))`."""

import logging
from dataclasses import dataclass
from typing import Final

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

from penstock.query.preference import emitter, measures, pane_stage, splitting, tasks
from penstock.query.preference.emitter import Emit, Slack
from penstock.query.preference.pane_stage import PaneStage
from penstock.query.preference.parts import Work
from penstock.query.preference.splitting import RoutePanes, Splitting
from penstock.query.preference.tasks import Answer, MergePanes, MergeParts, OneSlot

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
        from_arrow_schema(emitter.SCHEMA),
        emitter.STATE,
        "append",
        GroupStateTimeout.NoTimeout,
    )
    merge = MergeParts(work=query.work)
    answer = Answer(work=query.work, results=query.arrow_results)
    if query.slots == 1:
        answers = sent.mapInArrow(OneSlot(merge=merge, answer=answer), query.answers)
    else:
        merged = _on_slots(sent, query.slots).mapInArrow(merge, from_arrow_schema(tasks.SCHEMA))
        answers = _on_slots(merged, query.slots).mapInArrow(answer, query.answers)
    return measures.observed(answers, f"{query.name}_windows")


def find_all_windows(parts: DataFrame, query: Query) -> DataFrame:
    """The window stage of a batch table: every window that has rows."""
    panes = parts.where(sql.col("payload").isNotNull()).select("pane", "payload")
    schema = from_arrow_schema(tasks.SCHEMA)
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
