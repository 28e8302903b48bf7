"""One module as a streaming query: rows are served, counted, timed and dated on their way."""

from contextlib import suppress
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.resource import ResourceProfile
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.types import DoubleType, StructField, StructType

from penstock.pipeline.deploy.module import ModuleQuery
from penstock.spark.progress import LEVELS, METRICS
from penstock.spark.serve import SERVICE, Serve

_HANDSHAKE: Final = 0.05
"""Seconds of a warm-up task: long enough that every executor gets one."""


def process(running: ModuleQuery, rows: DataFrame) -> DataFrame:
    """What the module makes of its rows, on executors of its profile."""
    module = running.module
    own = tuple(operator.work for operator in running.operators if operator.work is not None)
    serve = Serve(
        service_time=module.service_time,
        service_cv=module.service_cv,
        work=module.work,
        own=own,
    )
    columns = columns_of(running.schema) if own else rows.schema
    table = _observed(_served(rows, columns, serve, running.resources)).drop(SERVICE)
    for operator in running.operators:
        table = operator.apply(table)
    return table


def watch(rows: DataFrame) -> DataFrame:
    """Rows on their way to work that times itself, counted and dated."""
    return _observed(rows.withColumn(SERVICE, sql.lit(0.0))).drop(SERVICE)


def columns_of(ddl: str) -> StructType:
    """Columns that are written as Spark writes them."""
    parsed = StructType.fromDDL(ddl)
    assert isinstance(parsed, StructType)  # noqa: S101  # a list of columns is nothing else
    return parsed


def warm_up(spark: SparkSession, profile: ResourceProfile | None, tasks: int) -> None:
    """A task for each executor of a profile, through Python and back."""
    rows = spark.range(0, tasks, 1, tasks)
    # The session may end in the middle of it, and PySpark then looks for what is no longer there.
    with suppress(PySparkException, Py4JError, AttributeError):
        _served(rows, rows.schema, Serve(service_time=_HANDSHAKE), profile).collect()


def _served(
    rows: DataFrame, columns: StructType, serve: Serve, profile: ResourceProfile | None
) -> DataFrame:
    schema = StructType([*columns, StructField(SERVICE, DoubleType())])
    return rows.mapInArrow(serve, schema, profile=profile)


def _observed(served: DataFrame) -> DataFrame:
    created = sql.unix_micros("ts") / 1e6
    return served.observe(
        METRICS,
        sql.count(sql.lit(1)).alias("rows"),
        sql.sum(SERVICE).alias("service"),
        sql.sum(sql.col(SERVICE) * sql.col(SERVICE)).alias("service_squared"),
        sql.percentile_approx(created, list(LEVELS), 1000).alias("created"),
    )
