"""At most one controller per application: a property in its JVM that every controller sees.

Two controllers would undo each other's decisions, so the second is refused with the first's name.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from pyspark.sql import SparkSession

from penstock.core.errors import UserError

_PREFIX: Final = "penstock.controller."


def acquire(spark: SparkSession, controller: str) -> None:
    """Take control of the application; refused if another controller has it."""
    application = spark.sparkContext.applicationId
    other = _properties(spark).putIfAbsent(f"{_PREFIX}{application}", controller)
    if other is not None:
        raise UserError(
            f"application {application} is controlled already by {other}; stop that first"
        )


def release(spark: SparkSession) -> None:
    """Give up control, so that another controller may take it."""
    _properties(spark).remove(f"{_PREFIX}{spark.sparkContext.applicationId}")


@contextmanager
def held(spark: SparkSession, controller: str) -> Iterator[None]:
    """Control of the application for the time of a block."""
    acquire(spark, controller)
    try:
        yield
    finally:
        with suppress(Exception):  # the JVM may have ended, and the property with it
            release(spark)


def _properties(spark: SparkSession) -> Any:
    context: Any = spark.sparkContext
    return context._jvm.java.lang.System.getProperties()
