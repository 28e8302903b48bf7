"""Wait for what a run needs before it begins and after it ends, never for ever."""

import time
from collections.abc import Collection
from typing import Final

from penstock.core.errors import ClusterError
from penstock.plant.spark.actuator import Actuator
from penstock.plant.spark.plant import SparkPlant
from penstock.plant.spark.pool import Pool

_ARRIVAL_PATIENCE: Final = 120.0
"""Seconds for the first executors to come, and for the first rows to get through."""
_DRAIN_PATIENCE: Final = 60.0
"""Seconds for the last rows to get through after the workload has ended."""


def await_executors(actuator: Actuator | Pool) -> None:
    """Wait until every module has the executors that it begins with."""
    give_up = time.monotonic() + _ARRIVAL_PATIENCE
    while True:
        running = actuator.running(actuator.backend.executors())
        short = [m for m, n in actuator.expected().items() if len(running[m]) < n]
        if not short:
            return
        if time.monotonic() > give_up:
            raise ClusterError(
                f"no executor came for {', '.join(short)} in {_ARRIVAL_PATIENCE:.0f} s; "
                "see whether the cluster has a free core and enough memory"
            )
        time.sleep(0.05)


def await_first_rows(plant: SparkPlant, modules: Collection[str]) -> None:
    """Wait until the first rows have been through these queries, and every process is awake."""
    give_up = time.monotonic() + _ARRIVAL_PATIENCE
    while not plant.drained(modules):
        if time.monotonic() > give_up:
            raise ClusterError(
                f"the first rows are not through after {_ARRIVAL_PATIENCE:.0f} s; "
                "see whether the executors can read and write the run folder"
            )
        time.sleep(0.05)
    plant.collect_progress()


def drain(plant: SparkPlant) -> None:
    """Wait until every row that came has been through, within bounds.

    One module after the other: from a topic more rows may come for ever, and only those that came
    while the run lasted are waited for.
    """
    give_up = time.monotonic() + _DRAIN_PATIENCE
    for name, watched in plant.queries.items():
        came = (watched.arrived() if watched.arrived else None) or 0
        while not plant.through(name, came) and time.monotonic() < give_up:
            time.sleep(0.05)
    plant.collect_progress()
