"""Rows of a topic of Kafka: read by Spark, checked one by one, dated by their records.

Results on their way to a topic of Kafka: an object in JSON each, with a key.

Spark's writer delivers every result at least once: what was written by a batch that failed half-way
is written again. Such a record has the key, the value and the headers `run` and `batch` of the
first one, and a reader knows it by them.
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
from penstock.spark.kafka import Offsets
from penstock.spark.progress import Batch

REFUSED: Final = "penstock-refused"
"""The name of what is told of refused records in Spark's progress events."""
_BROKEN: Final = "_broken"
_REASONS: Final = ("malformed", "incomplete")


@dataclass(slots=True, kw_only=True)
class KafkaFeed:
    """The rows of a run, from where the topic stood when it began."""

    source: KafkaSource
    schema: str
    """The columns of a row, as Spark writes them."""
    format: str
    module: Module
    """That takes the rows."""
    max_rows: int | None
    offsets: Offsets
    begun: dict[int, int]
    """By partition, the offset of the first record that is read."""
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
        """The feed that begins where the topic stands now, or with the first that it has."""
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
        """Records before the first one that is read, by the count of their offsets."""
        return sum(self.begun.values())

    def open(self, now: float) -> None:
        """Rows come by themselves."""

    def close(self, now: float) -> None:  # noqa: ARG002
        """Rows that come from now on are not of this run."""
        self._closed = self.arrived(0.0)

    def arrived(self, now: float) -> int | None:  # noqa: ARG002  # brokers know of now alone
        """Rows that have come since the run began; None where no broker tells."""
        if self._closed is not None:
            return self._closed
        try:
            return sum(self.offsets.latest().values()) - self.base
        except ClusterError:
            return None

    def hear(self, batch: Batch) -> None:
        """Count the records that a batch refused."""
        told = batch.observed.get(REFUSED) or {}
        self.refused.update({reason: told.get(reason) or 0 for reason in _REASONS})

    def read(self, spark: SparkSession) -> DataFrame:
        """The rows as they come, with the moment of each record as `ts`."""
        records = spark.readStream.format("kafka").options(**self.options()).load()
        return rows_of(records, self.schema, self.format)

    def options(self) -> dict[str, str]:
        """What Spark's connector is told."""
        start = {str(partition): offset for partition, offset in self.begun.items()}
        return {
            "subscribe": self.source.topic,
            "startingOffsets": json.dumps({self.source.topic: start}),
            # Fixed for good: as many tasks as the module may ever have executors.
            "minPartitions": str(self.module.max_replicas),
            **_limit(self.module, self.max_rows),
            **self.source.spark_options(),
        }


def offsets_of(spark: SparkSession, topic: Topic, of: str) -> Offsets:
    """What asks about a topic of a file."""
    return Offsets(spark=spark, topic=topic.topic, options=topic.client_options(), of=of)


def _limit(module: Module, max_rows: int | None) -> dict[str, str]:
    """Records in a batch, at most: fixed for good, so as many as all replicas may take on."""
    most = [module.rows_a_batch * module.max_replicas] if not isinf(module.rows_a_batch) else []
    most += [max_rows] if max_rows is not None else []
    return {"maxOffsetsPerTrigger": str(int(min(most)))} if most else {}


def rows_of(records: DataFrame, schema: str, format: str) -> DataFrame:  # noqa: A002
    """The rows that records hold; those that hold none are counted and left out."""
    columns = columns_of(schema)
    value = sql.col("value").cast("string")
    read = _text(value, columns) if format == "text" else _json(value, columns)
    parsed = records.select(sql.col("timestamp").alias("ts"), *read)
    reason = _reason([sql.col(f"`{name}`") for name in columns.names])
    told = [sql.count_if(reason == name).alias(name) for name in _REASONS]
    return parsed.observe(REFUSED, *told).where(reason.isNull()).drop(_BROKEN)


def _text(value: Column, columns: StructType) -> list[Column]:
    return [value.alias(columns.names[0]), sql.lit(False).alias(_BROKEN)]


def _json(value: Column, columns: StructType) -> list[Column]:
    """The columns of an object, and whether it is none or has something else in one of them."""
    asked = StructType([*columns]).add(_BROKEN, StringType())
    read = sql.from_json(value, asked, {"columnNameOfCorruptRecord": _BROKEN})
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
    """The name of the run, told in a header of each record."""

    def check(self, columns: list[str]) -> None:
        """Refuse a key that results do not have."""
        key = self.sink.key
        if key is not None and key not in columns:
            raise SettingError(
                f"key of kafka of sink is {key!r}, which results do not have{near(key, columns)}"
            )

    def before(self, consumer: TakeBatch) -> TakeBatch:
        """A consumer whose batches are written to the topic first, and made once for both."""

        def take(batch: DataFrame, number: int) -> None:
            kept = batch.persist()
            try:
                self.write(kept, number)
                consumer(kept, number)
            finally:
                kept.unpersist()

        return take

    def before_tables(self, take: Sink) -> Sink:
        """The same of results that the driver has."""

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
        """What is written of results."""
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
