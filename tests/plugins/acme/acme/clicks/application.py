"""What runs on Spark."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from penstock.pipeline.application import Application, Operator

_PAGES = 10


@dataclass(frozen=True)
class Clicks:
    """Numbered clicks, page after page; executors make them, and so import this module."""

    seed: int = 0

    @property
    def schema(self) -> str:
        """Two columns."""
        return "number long, page long"

    def columns(self, index: NDArray[np.int64]) -> dict[str, pa.Array]:
        """The clicks with these numbers."""
        return {"number": pa.array(index), "page": pa.array((index + self.seed) % _PAGES)}


def parse(clicks: DataFrame) -> DataFrame:
    """The page by its name."""
    name = sql.concat(sql.lit("page-"), sql.col("page").cast("string"))
    return clicks.select("ts", "number", name.alias("page"))


def rate(clicks: DataFrame) -> DataFrame:
    """How good a click is."""
    return clicks.select("ts", "number", "page", (sql.length("page") / 10.0).alias("rating"))


@dataclass
class Tally:
    """Counts clicks, those of a repeated batch once."""

    folder: Path
    clicks: int = 0
    _last: int = -1

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Take in a batch."""
        rows = batch.count()
        if number > self._last:
            self.clicks += rows
            self._last = number

    def results(self) -> dict[str, Any]:
        """How many there were."""
        return {"clicks": self.clicks}


CLICKS = Application(
    rows=Clicks,
    operators={
        "parse": Operator(apply=parse, schema="ts timestamp, number long, page string"),
        "rate": Operator(
            apply=rate, schema="ts timestamp, number long, page string, rating double"
        ),
    },
    consumer=Tally,
)
