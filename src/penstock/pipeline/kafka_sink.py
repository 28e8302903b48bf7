"""Results on their way to a topic of Kafka: an object in JSON each, with a key.

Spark's writer delivers every result at least once: what was written by a batch that failed half-way
is written again. Such a record has the key, the value and the headers `run` and `batch` of the
first one, and a reader knows it by them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql

from penstock.core.errors import SettingError
from penstock.core.settings import near
from penstock.pipeline.kafka import KafkaSink
from penstock.query.keyed.operator import Sink

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
