"""Parts of one turn of the loop that need no plant, and whether there is any reason for another."""

from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from penstock.attaching.checked import APPLICATION
from penstock.core.signals import Decision, Observation, Tick, current


def held(seen: Observation, why: str) -> Decision:
    """Keep what there is."""
    now = current(seen)
    number = now.degrees.get(APPLICATION)
    at = "" if number is None else f" at {number}"
    return Decision(configuration=now, why=f"{APPLICATION} held{at}: {why}")


def proposed(last: Tick | None, *, dry: bool) -> int | None:
    """Executors that would be asked for, or were."""
    if last is None:
        return None
    decided = last.decided
    wish = (decided.proposed if dry else None) or decided.configuration
    return wish.degrees.get(APPLICATION)


def context_ended(spark: SparkSession | None) -> bool:
    """Whether the application has ended, or nothing answers for it any more."""
    try:
        context: Any = spark.sparkContext if spark is not None else None
        return context is None or context._jsc is None or bool(context._jsc.sc().isStopped())
    except (Py4JError, OSError, AttributeError):
        return True
