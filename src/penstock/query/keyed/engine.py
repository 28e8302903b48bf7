"""Where replicas work: on Spark's executors, or one after the other in this process.

Both route rows to replicas and collect what these put out; nothing else differs.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from penstock.core.routing import Routing
from penstock.query.keyed.splitter import ARRIVAL, REPLICA, named, route
from penstock.query.keyed.task import ReplicaTask


class Engine(Protocol):
    """Runs the task of every replica on the rows that are meant for it."""

    def run(self, rows: Any, task: ReplicaTask, /) -> pa.Table:
        """What all replicas put out."""
        ...

    def part(self, rows: Any, keys: Collection[str], column: str, /) -> tuple[Any, Any]:
        """Rows of these keys, and all others."""
        ...


class OnSpark:
    """Rows are a DataFrame; every replica is a task."""

    def run(self, rows: DataFrame, task: ReplicaTask) -> pa.Table:
        """Splitter, exchange, replicas."""
        put_out = from_arrow_schema(task.columns)
        if task.settling:  # nobody's rows, but a task for everyone
            turns = rows.sparkSession.range(0, task.table.replicas, 1, task.table.replicas)
            return turns.mapInArrow(task, put_out).toArrow()
        added = [StructField(REPLICA, IntegerType()), StructField(ARRIVAL, LongType())]
        return (
            rows.mapInArrow(
                splitter(task.work.key, task.table), StructType([*rows.schema.fields, *added])
            )
            .repartitionById(task.table.replicas, REPLICA)
            .mapInArrow(task, put_out)
            .toArrow()
        )

    def part(
        self, rows: DataFrame, keys: Collection[str], column: str
    ) -> tuple[DataFrame, DataFrame]:
        """By Spark's own comparison; a row without a key has the empty one."""
        among = sql.coalesce(sql.col(column).cast("string"), sql.lit("")).isin(*keys)
        return rows.where(among), rows.where(~among)


def splitter(key: str, table: Routing) -> Callable[..., Iterator[pa.RecordBatch]]:
    """What routes rows by a column, to be given to `mapInArrow`."""
    return partial(route, key=key, table=table)


class InProcess:
    """Rows are an Arrow table; replicas work in turn. For tests, and to try work out."""

    def run(self, rows: pa.Table, task: ReplicaTask) -> pa.Table:
        """The same, without Spark."""
        routed = list(route(rows.to_batches(), key=task.work.key, table=task.table))
        put_out: list[pa.RecordBatch] = []
        for replica in range(task.table.replicas):
            own = iter(_of(replica, routed))
            put_out += replace(task, replica=replica)(own)
        return pa.Table.from_batches(put_out, task.columns)

    def part(self, rows: pa.Table, keys: Collection[str], column: str) -> tuple[pa.Table, pa.Table]:
        """By Arrow's comparison."""
        own = named(rows[column].combine_chunks())
        among = pc.is_in(own, value_set=pa.array(list(keys), pa.string()))
        return rows.filter(among), rows.filter(pc.invert(among))


def _of(replica: int, batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.filter(pc.equal(batch.column(REPLICA), replica))
