"""A cluster of its own and a stream of tuples on it, for benchmarks of preference queries."""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.quote_stream import await_executors
from penstock.core.roles import Workload
from penstock.pipeline.file import load
from penstock.pipeline.launch import session_on
from penstock.pipeline.tuples import Tuples
from penstock.plant.spark import source
from penstock.plant.spark.backend import Backend
from penstock.plant.spark.java import find_java, usable_home
from penstock.query import kernels

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
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder) / "spark"
        scratch.mkdir()
        file = load("preference", conf=[BOTH_COMPILERS])
        with session_on(file, None, scratch, usable_home(find_java(), scratch)) as made:
            made.spark.dataSource.register(source.WorkloadSource)
            made.spark.conf.set("spark.sql.shuffle.partitions", 1)
            await_executors(Backend(made.spark), executors)
            yield made.spark, Path(folder)


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


@contextmanager
def running(
    results: DataFrame, folder: Path, take: Callable[[DataFrame, int], None], *, trigger: float
) -> Iterator[StreamingQuery]:
    """The query on its way to `take`."""
    query = (
        results.writeStream.foreachBatch(take)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(processingTime=f"{round(trigger * 1000)} milliseconds")
        .start()
    )
    try:
        yield query
    finally:
        query.stop()
