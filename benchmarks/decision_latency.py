"""From a progress event to the request it leads to, beside the lateness of Spark's own listener.

The listener is added for the last third of the run only: it would take up the very process and
the very moment in which the controller decides.
"""

import json
import tempfile
import time
from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

from penstock.pipeline.compose import build_policy
from penstock.pipeline.deploy.launch import open_spark
from penstock.pipeline.file import load
from penstock.spark.progress import parse_progress

SECONDS, ALONE = 120.0, 90.0


def main() -> None:
    """Print the quantiles of both."""
    file = load("wordcount", ["step=1s", "workload=daily:20/s..250/s,period=45s"])
    policy, noted = build_policy(file), Noted()
    ours: list[float] = []
    observing: list[float] = []
    listening = False
    with (
        tempfile.TemporaryDirectory() as folder,
        open_spark(file, master=None, folder=Path(folder), duration=SECONDS) as plant,
    ):
        session = SparkSession.getActiveSession()
        assert session is not None
        for seen in plant.readings():
            begin = time.time()
            asked = plant.apply(policy(seen))
            if seen.at > ALONE:
                if not listening:
                    session.streams.addListener(noted)
                listening = True
                continue
            assert plant.last_event is not None
            age = begin - plant.last_event
            if age > file.step:
                continue  # nothing was reported for a whole step, and none of it led here
            observing.append(age)
            if asked is not None and plant.actuator.requested_at is not None:
                ours.append(plant.actuator.requested_at - plant.last_event)
        session.streams.removeListener(noted)
    print(f"{'ms':38}{'n':>5}{'p50':>8}{'p95':>8}{'max':>8}")
    show("progress event to request made", ours)
    show("progress event to observation", observing)
    show("baseline: Spark's listener is told", noted.late)


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
