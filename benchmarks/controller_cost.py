"""What the controller costs: the same saturated pipeline, watched and unwatched in turns.

One application runs all the time with more rows waiting than it can process. In every second
window the control loop reads, decides and records as in a real run (it is kept from acting, so
that the executors are the same in all windows); in the others nobody looks.
"""

import json
import resource
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from penstock.core.loop import control
from penstock.guard import DryRun
from penstock.pipeline.compose import build_policy
from penstock.pipeline.deploy.launch import open_spark
from penstock.pipeline.file import PipelineFile, load
from penstock.spark.plant import SparkPlant
from penstock.spark.progress import Batch, parse_progress

WINDOW, PAIRS, STEP = 10.0, 30, 2.0


def main() -> None:
    """Print rows a second with and without the controller, and the ratio of each pair."""
    file = saturated()
    watched: list[float] = []
    alone: list[float] = []
    cpu: list[float] = []
    with (
        suppress(EnoughError),
        tempfile.TemporaryDirectory() as folder,
        open_spark(file, master=None, folder=Path(folder), duration=1e9) as plant,
    ):
        time.sleep(20)  # until the just-in-time compiler has settled
        for pair in range(PAIRS):
            for with_controller in (pair % 2 == 0, pair % 2 == 1):
                began = spent()
                rows = window(plant, file, with_controller)
                (watched if with_controller else alone).append(rows)
                cpu.append(spent() - began if with_controller else np.nan)
        raise EnoughError  # and do not wait for the rows that are left
    ratio = np.array(watched) / np.array(alone)
    low, high = np.quantile(bootstrap(ratio), [0.025, 0.975])
    print(f"{'rows/s':16}{'median':>10}{'min':>10}{'max':>10}")
    for name, rates in (("watched", watched), ("unwatched", alone)):
        print(f"{name:16}{np.median(rates):>10.0f}{min(rates):>10.0f}{max(rates):>10.0f}")
    print(
        f"ratio, mean of {PAIRS} pairs: {ratio.mean():.4f} (95 % interval {low:.4f} to {high:.4f})"
    )
    print(f"CPU of the watching process: {100 * np.nanmean(cpu) / WINDOW:.2f} % of one core")


class EnoughError(Exception):
    """Everything has been measured."""


def saturated() -> PipelineFile:
    """Word count without waiting, fed with more than it can process."""
    return load(
        "wordcount",
        [
            "workload=constant:200k/s",
            f"step={STEP:.0f}s",
            "modules.splitter.work=none",
            "modules.counter.work=none",
            "modules.splitter.trigger=0s",
            "modules.counter.trigger=0s",
            "source.max_rows=40000",
        ],
    )


def window(plant: SparkPlant, file: PipelineFile, with_controller: bool) -> float:
    """Rows a second that the splitter gets through in one window."""
    begin, before = time.monotonic(), last_batch(plant, file)
    if with_controller:
        plant.duration = WINDOW
        for _ in control(plant, DryRun(build_policy(file))):
            pass
    time.sleep(max(begin + WINDOW - time.monotonic(), 0))
    after = last_batch(plant, file)
    return ((after.read or 0) - (before.read or 0)) / (after.ended - before.ended)


def last_batch(plant: SparkPlant, file: PipelineFile) -> Batch:
    """The splitter's newest batch: rows are counted from the end of one batch to that of another,
    so that no window has a part of a batch too many or too few."""
    progress = plant.queries[file.graph.source].query.lastProgress
    assert progress is not None
    return parse_progress(json.loads(progress.json))


def spent() -> float:
    """CPU seconds of this process so far; Spark's are processes of their own."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def bootstrap(values: NDArray[np.float64], times: int = 2000) -> NDArray[np.float64]:
    """Means of samples drawn from the values."""
    drawn = np.random.default_rng(0).choice(values, (times, len(values)))
    means: NDArray[np.float64] = drawn.mean(axis=1)
    return means


if __name__ == "__main__":
    main()
