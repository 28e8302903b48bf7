"""A cluster of its own, and a query on it, for benchmarks on Spark."""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.pipeline.deploy.launch import prepare
from penstock.pipeline.settings import PipelineFile
from penstock.spark import source
from penstock.spark.backend import DEFAULT_PROFILE, Backend


@contextmanager
def cluster(file: PipelineFile, executors: int) -> Iterator[tuple[SparkSession, Path]]:
    """A session as the file says with so many executors, and a folder that goes with it."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder) / "spark"
        scratch.mkdir()
        with prepare(file, None).session(scratch) as made:
            made.spark.dataSource.register(source.WorkloadSource)
            _await(Backend(made.spark), executors)
            yield made.spark, Path(folder)


def _await(backend: Backend, count: int) -> None:
    backend.request({DEFAULT_PROFILE: count})
    give_up = time.monotonic() + 120
    while sum(executor.active for executor in backend.executors()) < count:
        if time.monotonic() > give_up:
            raise SystemExit("the executors did not come in two minutes")
        time.sleep(0.1)


@contextmanager
def running(
    rows: DataFrame, folder: Path, take: Callable[[DataFrame, int], None], *, trigger: float = 0.0
) -> Iterator[StreamingQuery]:
    """Rows on their way to `take`."""
    query = (
        rows.writeStream.foreachBatch(take)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(processingTime=f"{round(trigger * 1000)} milliseconds")
        .start()
    )
    try:
        yield query
    finally:
        query.stop()
