"""What the window stage tells of its work: numbers in a column of their own, added up by Spark."""

from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.types import ArrayType, DoubleType, StructField

SUMS: Final = ("late", "empty", "panes", "merges", "windows", "busy", "tasks")
"""Rows that came too late; windows without rows; panes that rows came for; merges of several
parts; windows with a result; seconds of work, and the tasks that did it."""
PEAKS: Final = ("slack", "punctuation")
"""Seconds that rows may be late, and the moment before which none are waited for."""
COLUMN: Final = "told"
DDL: Final = f"{COLUMN} array<double>"
FIELD: Final = pa.field(COLUMN, pa.list_(pa.float64()))
SPARK_FIELD: Final = StructField(COLUMN, ArrayType(DoubleType()))
_NAMES: Final = (*SUMS, *PEAKS)


def telling(**values: float) -> dict[str, list[float | None]]:
    """The column of a row that tells something.

    >>> telling(late=3, slack=0.4)
    {'told': [3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.4, None]}
    """
    sums = [float(values.get(name, 0.0)) for name in SUMS]
    return {COLUMN: [*sums, *(values.get(name) for name in PEAKS)]}


def heard(results: DataFrame, name: str) -> DataFrame:
    """Only the results; what was told is in the progress of the query, under this name."""
    return ignored(results.observe(name, *_measures()))


def ignored(results: DataFrame) -> DataFrame:
    """Only the results, where nobody hears what was told."""
    return results.where(sql.col(COLUMN).isNull()).drop(COLUMN)


def _measures() -> list[Column]:
    """What Spark makes of it, batch by batch."""
    return [
        (sql.sum if name in SUMS else sql.max)(sql.col(COLUMN)[place]).alias(name)
        for place, name in enumerate(_NAMES)
    ]
