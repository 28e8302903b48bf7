"""One controller an application: a mark in its JVM, which every thread and process beside it sees.

Two controllers would undo each other's decisions, so the second is refused by name of the first.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from pyspark.sql import SparkSession

from penstock.core.errors import UserError

_PREFIX: Final = "penstock.controller."


def claim(spark: SparkSession, who: str) -> None:
    """Take control of the application, or say who has it."""
    application = spark.sparkContext.applicationId
    first = _properties(spark).putIfAbsent(f"{_PREFIX}{application}", who)
    if first is not None:
        raise UserError(
            f"application {application} is controlled already by {first}; stop that first"
        )


def release(spark: SparkSession) -> None:
    """Give control back, so that another may take it."""
    _properties(spark).remove(f"{_PREFIX}{spark.sparkContext.applicationId}")


@contextmanager
def controlled(spark: SparkSession, who: str) -> Iterator[None]:
    """Control of the application for the time of a block."""
    claim(spark, who)
    try:
        yield
    finally:
        with suppress(Exception):  # the JVM may have ended, and the mark with it
            release(spark)


def _properties(spark: SparkSession) -> Any:
    context: Any = spark.sparkContext
    return context._jvm.java.lang.System.getProperties()
