"""Whether a skyline over sliding windows takes more and more memory: resident memory of executors
and of their Python workers, and the size of the state, over a run of ten minutes (or as many as
given: `python -m benchmarks.preference_memory 2`). And what a tuple costs at different rates while
as many of them are best.
"""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from benchmarks.embedded import running
from benchmarks.tuple_stream import NAMES, WINDOW, cluster, tuples
from penstock.apps.preference.application import columns_of
from penstock.core.panes import Panes
from penstock.query import skyline
from penstock.query.preference.api import plan
from penstock.query.preference.criterion import Skyline
from penstock.query.preference.pane_stage import PaneStage
from penstock.query.preference.stages import Query
from penstock.workload import Constant

RATE, EVERY, EXECUTORS = 50_000.0, 5.0, 2
BEST, RATES, REPEATS = 2_000, (25_000, 50_000, 100_000, 200_000, 400_000), 5
SECOND = 1_000_000


def main(minutes: float = 10.0) -> None:
    """Print memory over time, and cost by rate."""
    _print_costs()
    with cluster(EXECUTORS) as (spark, folder):
        samples = _watch(spark, folder, minutes)
    print(f"\n{RATE:,.0f} tuples/s for {minutes:g} minutes, median of each tenth of the run")
    print(f"{'minutes':>8}{'java, MB':>10}{'python, MB':>12}{'processes':>11}", end="")
    print(f"{'state, kB':>11}{'batch, s':>10}")
    for tenth in np.array_split(samples, 10):
        at, java, python, processes, state, batch = np.median(tenth, axis=0)
        print(f"{at / 60:8.1f}{java:10.0f}{python:12.0f}{processes:11.0f}", end="")
        print(f"{state:11.0f}{batch:10.2f}")


def _watch(spark: SparkSession, folder: Path, minutes: float) -> NDArray[np.float64]:
    rows = tuples(spark, folder, workload=Constant(RATE), parts=EXECUTORS)
    samples = []
    results = skyline(rows, slack="400 milliseconds", **WINDOW)
    with running(results, folder, _nowhere, trigger=1.0) as query:
        time.sleep(30)
        begin = time.monotonic()
        while time.monotonic() < begin + 60 * minutes:
            time.sleep(EVERY)
            last = query.lastProgress
            if last is None or not query.isActive:
                raise SystemExit(f"the query ended: {query.exception()}")
            at, took = time.monotonic() - begin, last.batchDuration / 1e3
            state = last.stateOperators[0].memoryUsedBytes / 1e3
            java, _ = _resident(b"CoarseGrainedExecutorBackend")
            python, processes = _resident(b"penstock.spark.daemon")
            samples.append((at, java, python, processes, state, took))
    return np.array(samples)


def _nowhere(batch: DataFrame, number: int) -> None:  # noqa: ARG001
    batch.write.format("noop").mode("overwrite").save()


def _resident(mark: bytes) -> tuple[float, int]:
    """Megabytes of the processes below this one whose command has the mark, pages that several
    share counted once, and how many processes they are."""
    sizes = []
    for process in _descendants():
        try:
            if mark in (process / "cmdline").read_bytes():
                told = (process / "smaps_rollup").read_text()
                sizes.append(int(told.split("Pss:")[1].split()[0]) / 1e3)
        except (OSError, IndexError):
            continue  # it has ended
    return sum(sizes), len(sizes)


def _descendants() -> list[Path]:
    parents: dict[int, list[Path]] = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((process / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        parents.setdefault(parent, []).append(process)
    found, waiting = [], [os.getpid()]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += [int(child.name) for child in children]
    return found


def _print_costs() -> None:
    """Processor time of both stages for a tuple, where as many are best whatever the rate."""
    print(f"processor time of both stages, {BEST:,} tuples of a window best at every rate")
    print(f"{'tuples/s':>10}{'us a tuple':>12}{'by the lowest rate':>20}")
    query = plan(
        columns_of(NAMES), Skyline(), on=NAMES, panes=Panes.parse("1s", "200ms"), time="ts"
    )
    first = None
    for rate in RATES:
        costs = [_cost(query, _stream(rate)) / rate for _ in range(REPEATS)]
        cost = float(np.median(costs)) * 1e6
        first = first or cost
        print(f"{rate:10,}{cost:12.2f}{cost / first:20.2f}", flush=True)


def _stream(rate: int) -> list[pa.RecordBatch]:
    """A second of tuples, of which the same ones are best however many others there are."""
    rng = np.random.default_rng(1)
    best = rng.uniform(0, 100, (BEST, len(NAMES)))
    best += 50 - best.mean(axis=1, keepdims=True)  # none is better than another everywhere
    values = np.concatenate([best, rng.uniform(200, 1000, (rate - BEST, len(NAMES)))])
    order = rng.permutation(rate)
    moments = pa.array(np.arange(rate) * SECOND // rate).cast(pa.timestamp("us", "UTC"))
    columns = {name: values[order, place] for place, name in enumerate(NAMES)}
    table = pa.table({"ts": moments, "number": np.arange(rate), **columns})
    return list(table.to_batches(max_chunksize=10_000))


def _cost(query: Query, batches: list[pa.RecordBatch]) -> float:
    work = query.work
    stage = PaneStage(columns=work.columns, panes=work.panes, criterion=work.criterion)
    begin = time.process_time()
    parts = _payloads(stage(iter(batches)))
    for window in range(5):
        work.answer(window, parts, query.arrow_results.field(0))
    return time.process_time() - begin


def _payloads(made: Iterator[pa.RecordBatch]) -> list[bytes]:
    return [row["payload"] for batch in made for row in batch.to_pylist() if row["payload"]]


if __name__ == "__main__":
    main(*(float(word) for word in sys.argv[1:2]))
