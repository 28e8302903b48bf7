"""A cluster of its own and a stream of quotes on it, for benchmarks of the keyed operator."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks import embedded
from penstock.apps.trading.application import compile_kernel
from penstock.apps.trading.quotes import SYMBOLS, Quotes
from penstock.pipeline.file import load
from penstock.spark import source
from penstock.workload import Constant


@contextmanager
def cluster(executors: int) -> Iterator[tuple[SparkSession, Path]]:
    """A session with so many executors, and a folder that goes with it."""
    compile_kernel()
    with embedded.cluster(load("trading"), executors) as made:
        yield made


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
    rows = spark.readStream.format(source.FORMAT).option("feed", feed.encode()).load()
    with embedded.running(rows, folder, take, trigger=trigger) as query:
        yield query


def wait_until(done: Callable[[], bool], query: StreamingQuery, patience: float = 600.0) -> None:
    """Look now and then, never for ever."""
    give_up = time.monotonic() + patience
    while not done():
        if not query.isActive:
            raise SystemExit(str(query.exception()))
        if time.monotonic() > give_up:
            raise SystemExit(f"not done in {patience:.0f} s")
        time.sleep(0.2)
