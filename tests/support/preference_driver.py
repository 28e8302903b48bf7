"""A preference query that can be killed and started again: its rows, its results, its process.

As a process: python -m tests.support.preference_driver FOLDER, where FOLDER/in has the files of the
stream.
"""

import json
import os
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.query.preference import Splitting, skyline, top_delta
from tests.support.preference_cases import SECOND, local_spark, stream_of, write_batches

ON = ["a", "b", "c"]
WINDOW: dict[str, Any] = {"on": ON, "window": "1 second", "slide": "200ms", "maximise": ["c"]}


def write_rows(folder: Path, *, batches: int, rows: int) -> None:
    """A fifth of a second in each batch; most rows are a little late, some are very late."""
    random = np.random.default_rng(7)
    span = SECOND // 5
    tables = []
    for batch in range(batches):
        times = 1_700_000_000 * SECOND + batch * span + random.integers(0, span, rows)
        times -= random.exponential(SECOND / 10, rows).astype(np.int64)
        columns = {name: np.round(random.uniform(0, 100, rows), 1) for name in ON}
        number = batch * rows + np.arange(rows)
        created = pa.array(times, pa.timestamp("us", "UTC"))
        tables.append(pa.table({"ts": created, "id": number, **columns}))
    write_batches(folder / "in", tables)


def start(spark: SparkSession, folder: Path, results: DataFrame) -> StreamingQuery:
    """A file of results for each batch, replaced by the same if a batch runs again."""
    out = folder / "out"
    out.mkdir(exist_ok=True)

    def take(frame: DataFrame, batch: int) -> None:
        draft = out / f"{batch:04d}.draft"
        pq.write_table(frame.toArrow(), draft)
        draft.replace(out / f"{batch:04d}.parquet")

    return (
        results.writeStream.foreachBatch(take)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )


def digests(folder: Path) -> list[str]:
    """What each batch wrote, row by row in its order."""
    return [
        sha256(repr(pq.read_table(path).to_pylist()).encode()).hexdigest()
        for path in sorted((folder / "out").glob("*.parquet"))
    ]


def best(spark: SparkSession, folder: Path) -> DataFrame:
    """The skyline of rows that come as they like: nothing is known of delays when it starts."""
    splitting = Splitting(path=folder / "splitting.json", workers=2)
    splitting.write(threshold=40)
    rows = stream_of(spark, str(folder / "in"))
    return skyline(rows, **WINDOW, splitting=splitting, slots=2)


def top(spark: SparkSession, folder: Path) -> DataFrame:
    """The least dominated rows, with a share of the rows given up for the sake of speed."""
    return top_delta(stream_of(spark, str(folder / "in")), **WINDOW, delta=10, drop_rate=0.05)


def main(folder: Path) -> None:
    """Until all rows are worked on."""
    scratch = folder / f"spark-{os.getpid()}"
    scratch.mkdir()
    with local_spark(scratch) as spark:
        query = start(spark, folder, top(spark, folder))
        query.awaitTermination()
        told = [json.loads(progress.json) for progress in query.recentProgress]
    (folder / "progress.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
