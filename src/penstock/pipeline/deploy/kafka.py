"""Rows from a Kafka topic: read by Spark, checked one by one, dated by their records.

Results to a Kafka topic: a JSON object each, with a key. Spark's writer delivers every result at
least once: the records of a batch that failed half-way are written again. A repeated record has the
same key, value and headers `run` and `batch`, by which a reader recognises it.
"""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from math import isinf
from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.types import StringType, StructType

from penstock.core.errors import ClusterError, SettingError
from penstock.core.graph import Module
from penstock.core.settings import near
from penstock.pipeline.deploy.module import columns_of
from penstock.pipeline.format.kafka import KafkaSink, KafkaSource, Topic
from penstock.query.keyed.operator import Sink
from penstock.spark.kafka import TopicOffsets
from penstock.spark.progress import Batch

REFUSED: Final = "penstock-refused"
"""The name of the counts of refused records in Spark's progress events."""
_BROKEN: Final = "_broken"
_REASONS: Final = ("malformed", "incomplete")


@dataclass(slots=True, kw_only=True)
class KafkaFeed:
    """The rows of a run, from the offsets of the topic at its start."""

    source: KafkaSource
    schema: str
    """The columns of a row, as Spark writes them."""
    format: str
    module: Module
    """That takes the rows."""
    max_rows: int | None
    offsets: TopicOffsets
    begun: dict[int, int]
    """By partition, the offset of the first record."""
    refused: Counter[str] = field(default_factory=Counter)
    """Records that were no rows, by reason."""
    _closed: int | None = None

    @classmethod
    def at(
        cls,
        spark: SparkSession,
        source: KafkaSource,
        module: Module,
        *,
        schema: str,
        format: str,  # noqa: A002  # as in a file
        max_rows: int | None,
    ) -> "KafkaFeed":
        """The feed from the latest offsets, or from the earliest."""
        offsets = offsets_of(spark, source, "kafka of source")
        begun = offsets.earliest() if source.starting_offsets == "earliest" else offsets.latest()
        return cls(
            source=source,
            schema=schema,
            format=format,
            module=module,
            max_rows=max_rows,
            offsets=offsets,
            begun=begun,
        )

    @property
    def base(self) -> int:
        """Sum of the start offsets."""
        return sum(self.begun.values())

    def open(self, now: float) -> None:
        """Nothing to do: rows arrive by themselves."""

    def close(self, now: float) -> None:  # noqa: ARG002
        """Rows that arrive from now on do not belong to this run."""
        self._closed = self.arrived(0.0)

    def arrived(self, now: float) -> int | None:  # noqa: ARG002  # brokers know the present only
        """Rows that have arrived since the start of the run; None if no broker answers."""
        if self._closed is not None:
            return self._closed
        try:
            return sum(self.offsets.latest().values()) - self.base
        except ClusterError:
            return None

    def count_refused(self, batch: Batch) -> None:
        """Count the records that a batch refused."""
        counts = batch.observed.get(REFUSED) or {}
        self.refused.update({reason: counts.get(reason) or 0 for reason in _REASONS})

    def read(self, spark: SparkSession) -> DataFrame:
        """The rows as a stream, with the timestamp of each record as `ts`."""
        records = spark.readStream.format("kafka").options(**self.options()).load()
        return rows_of(records, self.schema, self.format)

    def options(self) -> dict[str, str]:
        """Options of Spark's connector."""
        start = {str(partition): offset for partition, offset in self.begun.items()}
        return {
            "subscribe": self.source.topic,
            "startingOffsets": json.dumps({self.source.topic: start}),
            # Fixed at the start: the maximum number of executors.
            "minPartitions": str(self.module.max_replicas),
            **_limit(self.module, self.max_rows),
            **self.source.spark_options(),
        }


def offsets_of(spark: SparkSession, topic: Topic, of: str) -> TopicOffsets:
    """The offsets of a topic of a file."""
    return TopicOffsets(spark=spark, topic=topic.topic, options=topic.client_options(), of=of)


def _limit(module: Module, max_rows: int | None) -> dict[str, str]:
    """Maximum records of a batch, fixed at the start, so that of the maximum replicas."""
    most = [module.rows_a_batch * module.max_replicas] if not isinf(module.rows_a_batch) else []
    most += [max_rows] if max_rows is not None else []
    return {"maxOffsetsPerTrigger": str(int(min(most)))} if most else {}


def rows_of(records: DataFrame, schema: str, format: str) -> DataFrame:  # noqa: A002
    """The rows in records; invalid records are counted and dropped."""
    columns = columns_of(schema)
    value = sql.col("value").cast("string")
    read = _text(value, columns) if format == "text" else _json(value, columns)
    parsed = records.select(sql.col("timestamp").alias("ts"), *read)
    reason = _reason([sql.col(f"`{name}`") for name in columns.names])
    counts = [sql.count_if(reason == name).alias(name) for name in _REASONS]
    return parsed.observe(REFUSED, *counts).where(reason.isNull()).drop(_BROKEN)


def _text(value: Column, columns: StructType) -> list[Column]:
    return [value.alias(columns.names[0]), sql.lit(False).alias(_BROKEN)]


def _json(value: Column, columns: StructType) -> list[Column]:
    """The columns of a JSON object, and whether it is malformed."""
    expected = StructType([*columns]).add(_BROKEN, StringType())
    read = sql.from_json(value, expected, {"columnNameOfCorruptRecord": _BROKEN})
    broken = value.isNotNull() & (read.isNull() | read[_BROKEN].isNotNull())
    return [*(read[name].alias(name) for name in columns.names), broken.alias(_BROKEN)]


def _reason(columns: list[Column]) -> Column:
    """Why a record is refused; null where it is not."""
    missing = sql.lit(False)
    for column in columns:
        missing = missing | column.isNull()
    return sql.when(sql.col(_BROKEN), "malformed").when(missing, "incomplete")


TakeBatch = Callable[[DataFrame, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicWriter:
    """Writes batches of results to a topic."""

    spark: SparkSession
    sink: KafkaSink
    run: str
    """The name of the run, in a header of each record."""

    def check(self, columns: list[str]) -> None:
        """Refuse a key that results do not have."""
        key = self.sink.key
        if key is not None and key not in columns:
            raise SettingError(
                f"key of kafka of sink is {key!r}, which results do not have{near(key, columns)}"
            )

    def before(self, consumer: TakeBatch) -> TakeBatch:
        """A consumer whose batches are first written to the topic, and computed once for both."""

        def take(batch: DataFrame, number: int) -> None:
            kept = batch.persist()
            try:
                self.write(kept, number)
                consumer(kept, number)
            finally:
                kept.unpersist()

        return take

    def before_tables(self, take: Sink) -> Sink:
        """The same for results on the driver."""

        def both(results: pa.Table, step: int) -> None:
            if results.num_rows:
                self.write(self.spark.createDataFrame(results), step)
            take(results, step)

        return both

    def write(self, results: DataFrame, number: int) -> None:
        """Write a batch."""
        options = self.sink.spark_options()
        records = self.records(results, number)
        records.write.format("kafka").options(**options, topic=self.sink.topic).save()

    def records(self, results: DataFrame, number: int) -> DataFrame:
        """The records of results."""
        columns = results.columns
        key = self.sink.key or next((name for name in columns if name != "ts"), columns[0])
        headers = [("run", self.run), ("batch", str(number))]
        return results.select(
            sql.col(f"`{key}`").cast("string").alias("key"),
            sql.to_json(sql.struct("*")).alias("value"),
            sql.array(*[_header(*header) for header in headers]).alias("headers"),
        )


def _header(name: str, value: str) -> Column:
    content = sql.lit(value).cast("binary").alias("value")
    return sql.struct(sql.lit(name).alias("key"), content)
