"""How many tuples a second preference queries take on Spark from end to end, with what delay, and
how that compares with what one would write in SQL. Two executors on two cores, which also make the
tuples; eight coordinates, up to 0.4 s late, windows of 1 s sliding by 0.2 s.

The stream begins slowly, until Java and Python are warm, and then runs at the full rate. A query
sustains a rate if it takes as much as comes, and no window waits longer and longer.
"""

import time
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.streaming.listener import StreamingQueryProgress

from benchmarks.embedded import running
from benchmarks.tuple_stream import NAMES, WINDOW, cluster, tuples
from penstock.apps.preference.tuples import Tuples
from penstock.query import Measures, skyline, top_delta
from penstock.workload import Step

EXECUTORS, WARM_RATE, WARM, FULL, REPEATS = 2, 40_000.0, 45.0, 60.0, 3
SETTLE = 15.0
"""Seconds at the full rate before anything is measured."""
RATES = {"skyline": (skyline, 150_000.0), "top-delta": (top_delta, 80_000.0)}
PER_WINDOW = (2_000, 8_000, 20_000)


@dataclass
class Sink:
    """Takes every result to the driver, and notes when."""

    latencies: list[tuple[float, float]] = field(default_factory=list)
    tuples: int = 0

    def __call__(self, batch: DataFrame, number: int) -> None:  # noqa: ARG002
        """One batch."""
        results = batch.toArrow()
        now = time.time()
        if results.num_rows:
            ends = results["window"].combine_chunks().field("end").cast(pa.int64()).to_numpy()
            self.latencies += [(now, now - end / 1e6) for end in np.unique(ends)]
            self.tuples += results.num_rows


def main() -> None:
    """Print rates, latencies and the comparison with SQL."""
    print(f"{FULL - SETTLE:.0f} s at the full rate, after {SETTLE:.0f} s of it; times in seconds")
    print(f"{'':12}{'offered/s':>11}{'taken/s':>10}{'batch':>8}{'p50':>8}{'p99':>8}", end="")
    print(f"{'at the end':>12}{'best/window':>13}{'busy plq':>10}{'wlq':>6}")
    with cluster(EXECUTORS) as (spark, folder):
        for kind in RATES:
            for repeat in range(REPEATS):
                _sustain(spark, folder / f"{kind}-{repeat}", kind)
        _against_sql(spark)


def _sustain(spark: SparkSession, folder: Path, kind: str) -> None:
    find, rate = RATES[kind]
    load = Step(levels=((WARM_RATE, 0.0), (rate, WARM)))
    rows = tuples(spark, folder, workload=load, parts=EXECUTORS)
    results, sink = find(rows, slack="400 milliseconds", **WINDOW), Sink()
    with running(results, folder, sink, trigger=0.0) as query:
        begin = time.time()
        time.sleep(WARM + SETTLE)
        time.sleep(FULL - SETTLE)
        progress = [p for p in query.recentProgress if _started(p) > begin + WARM + SETTLE]
    _print(kind, rate, progress, sink, begin + WARM + SETTLE)


def _started(progress: StreamingQueryProgress) -> float:
    return datetime.fromisoformat(progress.timestamp).timestamp()


def _print(
    kind: str,
    rate: float,
    progress: list[StreamingQueryProgress],
    sink: Sink,
    since: float,
) -> None:
    spans = [_started(b) - _started(a) for a, b in pairwise(progress)]
    taken = sum(p.numInputRows for p in progress[:-1]) / sum(spans)
    last = np.median([lag for at, lag in sink.latencies if at > since][-25:])
    told = [m for p in progress[:-1] if (m := Measures.of(p)) is not None]
    late = np.quantile([lag for at, lag in sink.latencies if at > since], [0.5, 0.99])
    windows = len(sink.latencies)
    print(f"{kind:12}{rate:11,.0f}{taken:10,.0f}{np.median(spans):8.2f}", end="")
    print(f"{late[0]:8.2f}{late[1]:8.2f}{last:12.2f}{sink.tuples / windows:13,.0f}", end="")
    print(f"{sum(m.panes.busy for m in told) / sum(spans):10.2f}", end="")
    print(f"{sum(m.windows.busy for m in told) / sum(spans):6.2f}", flush=True)


def _against_sql(spark: SparkSession) -> None:
    """The same windows of the same table by an anti-join, and by us."""
    print("\na table of 2 s of tuples, seconds for all of its windows")
    print(f"{'per window':>12}{'NOT EXISTS':>12}{'skyline':>10}{'ratio':>8}  same rows")
    for count in PER_WINDOW:
        table = _table(spark, count)
        table.createOrReplaceTempView("tuples")
        ways = {"sql": spark.sql(_ANTI_JOIN), "ours": skyline(table, **WINDOW)}
        found = {name: _rows(way) for name, way in ways.items()}
        took = {name: _time(way) for name, way in ways.items()}  # both have run once
        ratio, same = took["sql"] / took["ours"], found["sql"] == found["ours"]
        print(f"{count:12,}{took['sql']:12.2f}{took['ours']:10.2f}{ratio:8.1f}  {same}", flush=True)


def _table(spark: SparkSession, per_window: int) -> DataFrame:
    index = np.arange(2 * per_window)
    moments = pa.array(1_700_000_000_000_000 + index * 1_000_000 // per_window)
    columns = {"ts": moments.cast(pa.timestamp("us", "UTC")), **Tuples(seed=1).columns(index)}
    return spark.createDataFrame(pa.table(columns)).repartition(2).cache()


_NO_WORSE = " AND ".join(f"p.{name} <= q.{name}" for name in NAMES)
_BETTER = " OR ".join(f"p.{name} < q.{name}" for name in NAMES)
_ANTI_JOIN = f"""
    WITH placed AS (
      SELECT window(ts, '1 second', '200 milliseconds') AS span, * FROM tuples
    )
    SELECT span.start AS start, number FROM placed q WHERE NOT EXISTS (
      SELECT 1 FROM placed p WHERE p.span = q.span AND {_NO_WORSE} AND ({_BETTER})
    )
"""  # noqa: S608  # names of our own


def _rows(found: DataFrame) -> set[tuple[object, ...]]:
    start = "start" if "start" in found.columns else "window.start"
    return {tuple(row) for row in found.select(sql.col(start), "number").collect()}


def _time(found: DataFrame) -> float:
    begin = time.perf_counter()
    found.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
