"""A cluster of its own and a stream of tuples on it, for benchmarks of preference queries."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from benchmarks import embedded
from penstock.apps.preference.tuples import Tuples
from penstock.core.roles import Workload
from penstock.pipeline.file import load
from penstock.query import kernels
from penstock.spark import source

DIMENSIONS = 8
NAMES = [f"a{place + 1}" for place in range(DIMENSIONS)]
WINDOW: dict[str, Any] = {"on": NAMES, "window": "1 second", "slide": "200 milliseconds"}
DISORDER = 0.4
BOTH_COMPILERS = "spark.executor.extraJavaOptions=-XX:+UseSerialGC"
"""Java's second compiler starts late and is worth it where rows go by the million."""


@contextmanager
def cluster(executors: int) -> Iterator[tuple[SparkSession, Path]]:
    """A session with so many executors, and a folder that goes with it."""
    kernels.load()
    file = load("preference", conf=[BOTH_COMPILERS])
    with embedded.cluster(file, executors) as (spark, folder):
        spark.conf.set("spark.sql.shuffle.partitions", 1)
        yield spark, folder


def tuples(spark: SparkSession, folder: Path, *, workload: Workload, parts: int) -> DataFrame:
    """Uniform tuples of eight coordinates, up to 0.4 s late, from now on."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hint").write_text(str(parts))
    feed = source.Feed(
        workload=workload,
        rows=Tuples(seed=1, dimensions=DIMENSIONS),
        gate=folder / "start",
        total=10**10,
        disorder=DISORDER,
        hint=folder / "hint",
    )
    feed.open(time.time())
    return spark.readStream.format(source.FORMAT).option("feed", feed.encode()).load()
