"""The `paper` preset of regions: slots of one control step, an M/D/1 queue for each replica.

>>> from penstock.core.graph import Module, Stream
>>> from penstock.core.regions import Region
>>> from penstock.workload import Constant
>>> graph = FlowGraph(
...     source="split",
...     modules=(
...         Module(name="split", service_time=0.003, region="dc1"),
...         Module(name="count", service_time=0.003, region="dc2"),
...     ),
...     streams=(Stream(origin="split", target="count"),),
... )
>>> places = Infrastructure(
...     regions=(Region(name="dc1"), Region(name="dc2")), delays={"dc1-dc2": 0.002}
... )
>>> twin = SlotTwin(graph, places, Constant(200.0), step=60.0, duration=120.0)
>>> seen = next(twin.readings())
>>> round(seen.latency.p50, 5), seen.regions["dc1"].nodes, seen.regions["dc1"].free
(0.0125, 1, 1)
"""

from math import inf

import numpy as np

from penstock.core.extras import require
from penstock.core.graph import FlowGraph
from penstock.core.regions import Infrastructure
from penstock.core.roles import Workload
from penstock.core.signals import Latency
from penstock.model import queueing
from penstock.twin.observing import Reading
from penstock.twin.plant import SimulatedPlant
from penstock.twin.regions.places import arrivals


class SlotTwin(SimulatedPlant):
    """Operators whose replicas run on nodes of regions, as the e2df paper models them.

    Rows are spread evenly over replicas. Nothing is carried from one slot to the next: where an
    operator cannot cope, its queue would never end, and rows of that slot take as long as the run.
    Latency is the mean response time on the slowest way, at every quantile.
    """

    places: Infrastructure

    def __init__(
        self,
        graph: FlowGraph,
        places: Infrastructure,
        workload: Workload,
        *,
        step: float,
        duration: float,
        seed: int = 0,
    ) -> None:
        require("twin", "simulating", "numba")
        super().__init__(graph, step=step, duration=duration, seed=seed, places=places)
        self._workload, self._visits, self._now = workload, graph.visits(), 0.0

    @property
    def at(self) -> float:
        """Virtual seconds since the start."""
        return self._now

    def _simulate_until(self, end: float) -> None:
        self._now = end

    def _measure(self) -> tuple[dict[str, Reading], Latency | None]:
        step = self.at - self._seen_at
        came = np.diff(self._workload.arrivals(np.array([self._seen_at, self.at])))
        rate = float(came[0]) / step
        readings = {name: self._read(name, rate, step) for name in self.graph.names()}
        spent = {name: _spent(reading) for name, reading in readings.items()}
        done = arrivals(self.graph, self.places, spent)
        # A number and not infinity, which a recording could not hold: unknown looks like kept.
        response = min(max(done[name] for name in self.graph.sinks()), self._duration)
        return readings, Latency(p50=response, p95=response, p99=response)

    def _read(self, name: str, rate: float, step: float) -> Reading:
        service, arriving = self.graph[name].service_time, rate * self._visits[name]
        replicas = self.pools[name].running
        busy = arriving / replicas * service
        waits = queueing.waiting(arriving / replicas, service)
        return {
            "arrival_rate": arriving,
            "processed_rate": arriving / max(busy, 1.0),
            "backlog": (arriving - arriving / max(busy, 1.0)) * step,
            "utilisation": min(busy, 1.0),
            "load": busy,
            "service_time": service,
            "service_cv": 0.0,
            "arrival_cv": 1.0,
            "waiting_time": min(waits, self._duration),
        }


def _spent(reading: Reading) -> float:
    """Seconds that a row spends in a module: for ever where it cannot cope."""
    return inf if reading["load"] >= 1 else float(reading["waiting_time"] + reading["service_time"])
