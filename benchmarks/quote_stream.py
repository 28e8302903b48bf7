"""A cluster of its own and a stream of quotes on it, for benchmarks of the keyed operator."""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.pipeline.file import load
from penstock.pipeline.launch import session_on
from penstock.pipeline.market.quotes import SYMBOLS, Quotes
from penstock.pipeline.trading import compile_kernel
from penstock.plant.spark import source
from penstock.plant.spark.backend import DEFAULT_PROFILE, Backend
from penstock.plant.spark.java import find_java, usable_home
from penstock.workload import Constant


@contextmanager
def cluster(executors: int) -> Iterator[tuple[SparkSession, Path]]:
    """A session with so many executors, and a folder that goes with it."""
    compile_kernel()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder) / "spark"
        scratch.mkdir()
        with session_on(load("trading"), None, scratch, usable_home(find_java(), scratch)) as made:
            made.spark.dataSource.register(source.WorkloadSource)
            await_executors(Backend(made.spark), executors)
            yield made.spark, Path(folder)


def await_executors(backend: Backend, count: int) -> None:
    """Ask for executors of the default profile, and wait until they are there."""
    backend.request({DEFAULT_PROFILE: count})
    give_up = time.monotonic() + 120
    while sum(executor.active for executor in backend.executors()) < count:
        if time.monotonic() > give_up:
            raise SystemExit("the executors did not come in two minutes")
        time.sleep(0.1)


@contextmanager
def stream(
    spark: SparkSession,
    folder: Path,
    take: Callable[[DataFrame, int], None],
    *,
    rate: float,
    parts: int,
    trigger: float = 0.0,
    max_rows: int | None = None,
) -> Iterator[StreamingQuery]:
    """Quotes of all symbols, read in so many parts, on their way to `take`."""
    (folder / "hint").write_text(str(parts))
    feed = source.Feed(
        workload=Constant(rate),
        rows=Quotes(seed=1, symbols=SYMBOLS),
        gate=folder / "start",
        total=10**9,
        max_rows=max_rows,
        hint=folder / "hint",
    )
    feed.open(time.time())
    query = (
        spark.readStream.format(source.FORMAT)
        .option("feed", feed.encode())
        .load()
        .writeStream.foreachBatch(take)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(processingTime=f"{round(trigger * 1000)} milliseconds")
        .start()
    )
    try:
        yield query
    finally:
        query.stop()


def wait_until(done: Callable[[], bool], query: StreamingQuery, patience: float = 600.0) -> None:
    """Look now and then, never for ever."""
    give_up = time.monotonic() + patience
    while not done():
        if not query.isActive:
            raise SystemExit(str(query.exception()))
        if time.monotonic() > give_up:
            raise SystemExit(f"not done in {patience:.0f} s")
        time.sleep(0.2)
