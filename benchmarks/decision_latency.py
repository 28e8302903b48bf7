"""From a progress event to the request it leads to, beside the lateness of Spark's own listener."""

import json
import tempfile
import time
from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

from penstock.core.signals import Observation
from penstock.pipeline.compose import build_policy
from penstock.pipeline.file import load
from penstock.pipeline.launch import open_spark
from penstock.plant.spark.monitor import parse_progress

SECONDS = 90.0


def main() -> None:
    """Print the quantiles of both."""
    file = load("wordcount", ["step=1s", "workload=daily:20/s..400/s,period=30s", "guards=[]"])
    policy, noted = build_policy(file), Noted()
    ours: list[float] = []
    spark_time: list[float] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        open_spark(file, master=None, folder=Path(folder), duration=SECONDS) as plant,
    ):
        session = SparkSession.getActiveSession()
        assert session is not None
        session.streams.addListener(noted)
        for seen in plant.readings():
            begin = time.perf_counter()
            decided = policy(seen)
            plant.apply(decided)
            spark_time.append(time.perf_counter() - begin)
            if plant.last_event is not None and reported(seen):
                ours.append(time.time() - plant.last_event)
        session.streams.removeListener(noted)
    print(f"{'ms':38}{'n':>5}{'p50':>8}{'p95':>8}{'max':>8}")
    show("progress event to request made", ours)
    show("of which deciding and requesting", spark_time)
    show("baseline: Spark's listener is told", noted.late)


def reported(seen: Observation) -> bool:
    """Whether a batch ended just before this observation, rather than long ago."""
    return any(module.batch_duration is not None for module in seen.modules.values())


class Noted(StreamingQueryListener):
    """How late Spark's own listener learns of each batch."""

    def __init__(self) -> None:
        self.late: list[float] = []

    def onQueryProgress(self, event) -> None:  # type: ignore[no-untyped-def]  # noqa: D102, N802
        batch = parse_progress(json.loads(event.progress.json))
        if not batch.idle:
            self.late.append(time.time() - batch.ended)

    def onQueryStarted(self, event) -> None:  # type: ignore[no-untyped-def]  # noqa: D102, N802
        pass

    def onQueryIdle(self, event) -> None:  # type: ignore[no-untyped-def]  # noqa: D102, N802
        pass

    def onQueryTerminated(self, event) -> None:  # type: ignore[no-untyped-def]  # noqa: D102, N802
        pass


def show(what: str, seconds: list[float]) -> None:
    """One line of the table."""
    ms = 1000 * np.array(seconds)
    p50, p95 = np.quantile(ms, [0.5, 0.95])
    print(f"{what:38}{len(ms):>5}{p50:>8.1f}{p95:>8.1f}{ms.max():>8.1f}")


if __name__ == "__main__":
    main()
