"""The twin of a pipeline in regions: slots of one control step, an M/D/1 queue for each replica.

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
>>> twin = RegionTwin(graph, places, Constant(200.0), step=60.0, duration=120.0)
>>> seen = next(twin.readings())
>>> round(seen.latency.p50, 5), seen.regions["dc1"].nodes, seen.regions["dc1"].free
(0.0125, 1, 1)

`path_delay` is how long rows travel between regions:

>>> path_delay(graph, places)
0.002
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import ceil, inf

import numpy as np

from penstock.core.errors import SettingError
from penstock.core.extras import require
from penstock.core.graph import FlowGraph
from penstock.core.regions import Infrastructure, Region, check_nodes
from penstock.core.roles import Workload
from penstock.core.settings import near
from penstock.core.signals import (
    Configuration,
    Decision,
    Latency,
    ModuleReading,
    Observation,
    RegionReading,
    check_degrees,
)
from penstock.model import queueing

# What a twin of regions refuses.


def check_places(graph: FlowGraph, places: Infrastructure) -> None:
    """Refuse modules without a region, and first replicas that do not fit on the first nodes.

    >>> from penstock.core.graph import Module
    >>> lone = FlowGraph(source="a", modules=(Module(name="a", region="dc9"),), streams=())
    >>> check_places(lone, Infrastructure(regions=(Region(name="dc1"),)))
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: module a is in region 'dc9'; did you mean 'dc1'?
    """
    for module in graph.modules:
        if module.region not in places.names():
            raise SettingError(
                f"module {module.name} is in region {module.region!r}"
                f"{near(str(module.region), places.names())}"
            )
    for region in places.regions:
        _check_room(graph, region)


def _check_room(graph: FlowGraph, region: Region) -> None:
    here = [module for module in graph.modules if module.region == region.name]
    first, room = sum(m.initial_replicas for m in here), region.initial_nodes * region.slots
    if first > room:
        raise SettingError(
            f"region {region.name} has room for {room} replicas at the start and its modules "
            f"begin with {first}; raise its initial_nodes, which are {region.initial_nodes}"
        )


def path_delay(graph: FlowGraph, places: Infrastructure) -> float:
    """Seconds between regions from the source to a sink, on the way where they are the most."""
    return max(arrivals(graph, places, dict.fromkeys(graph.names(), 0.0)).values())


def arrivals(
    graph: FlowGraph, places: Infrastructure, spent: Mapping[str, float]
) -> dict[str, float]:
    """When a row has been through each module, by the slowest way, if it spends so long in each."""
    done = {graph.source: spent[graph.source]}
    for name in graph.order():
        for stream in graph.outputs(name):
            way = places.delay(str(graph[name].region), str(graph[stream.target].region))
            there = done[name] + way + spent[stream.target]
            done[stream.target] = max(done.get(stream.target, 0.0), there)
    return done


class RegionTwin:
    """Operators whose replicas run on nodes of regions, seen slot by slot.

    Rows are spread evenly over replicas. Nothing is carried from one slot to the next: where an
    operator cannot cope, its queue would never end, and rows of that slot take as long as the run.
    Latency is the mean response time on the slowest way, at every quantile. What is decided at the
    end of a slot holds in the next, nodes before replicas; a replica that finds no free slot is not
    started, and counted as unmet.

    A region is read when the application has just acted: its nodes as that left them, and how busy
    its replicas had been until then.
    """

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
        check_places(graph, places)
        self.graph, self.places = graph, places
        self._workload, self._step, self._duration = workload, step, duration
        self._turn = 0
        self._visits = graph.visits()
        from penstock.twin.regions.nodes import NodeFleet  # numba is slow to import

        self._fleet = NodeFleet(graph, places, seed)
        self._wanted = self._fleet.configuration()
        self._modules: dict[str, ModuleReading] = {}
        self._regions = self._read_regions(dict.fromkeys(places.names(), 0))

    def readings(self) -> Iterator[Observation]:
        """One slot at a time; a second call goes on where the first stopped."""
        turns = ceil(self._duration / self._step * (1 - 1e-12))
        while self._turn < turns:
            begin = self._turn * self._step
            self._turn += 1
            yield self._observe(begin, min(begin + self._step, self._duration))

    def apply(self, decision: Decision) -> Configuration | None:
        """Change nodes, then replicas, as far as bounds and free slots allow."""
        wanted = decision.configuration
        check_degrees(wanted.degrees, self.graph.names())
        check_nodes(wanted.nodes, self.places.regions)
        self._wanted = Configuration(
            degrees={**self._wanted.degrees, **wanted.degrees},
            nodes={**self._wanted.nodes, **wanted.nodes},
        )
        before = self._fleet.configuration()
        self._fleet.change_nodes(wanted.nodes)
        self._regions = self._read_regions(self._fleet.change_replicas(wanted.degrees))
        after = self._fleet.configuration()
        return after if after != before else None

    def _observe(self, begin: float, end: float) -> Observation:
        came = np.diff(self._workload.arrivals(np.array([begin, end])))
        rate = float(came[0]) / (end - begin)
        replicas = self._fleet.replicas()
        self._modules = {
            name: self._read_module(name, rate, replicas[name], end - begin)
            for name in self.graph.names()
        }
        response = self._response()
        return Observation(
            at=end,
            step=end - begin,
            modules=self._modules,
            latency=Latency(p50=response, p95=response, p99=response),
            regions=self._regions,
        )

    def _read_module(self, name: str, rate: float, replicas: int, step: float) -> ModuleReading:
        service, arriving = self.graph[name].service_time, rate * self._visits[name]
        busy = arriving / replicas * service
        waits = queueing.waiting(arriving / replicas, service)
        return ModuleReading(
            arrival_rate=arriving,
            processed_rate=arriving / max(busy, 1.0),
            backlog=(arriving - arriving / max(busy, 1.0)) * step,
            utilisation=min(busy, 1.0),
            load=busy,
            service_time=service,
            service_cv=0.0,
            arrival_cv=1.0,
            waiting_time=min(waits, self._duration),
            wanted=self._wanted.degrees[name],
            requested=replicas,
            running=replicas,
        )

    def _response(self) -> float:
        """Seconds from the source to the last sink; the run's length where an operator cannot cope.

        A number and not infinity, which a recording could not hold: unknown looks like kept.
        """
        done = arrivals(
            self.graph, self.places, {name: _spent(m) for name, m in self._modules.items()}
        )
        return min(max(done[name] for name in self.graph.sinks()), self._duration)

    def _read_regions(self, unmet: Mapping[str, int]) -> dict[str, RegionReading]:
        return {
            name: replace(
                self._fleet.look_at(name),
                utilisation=self._mean_busy(name),
                unmet=unmet[name],
                wanted=self._wanted.nodes[name],
            )
            for name in self.places.names()
        }

    def _mean_busy(self, region: str) -> float | None:
        """Over the replicas that it hosted in the slot that was measured last."""
        here = [m for name, m in self._modules.items() if self.graph[name].region == region]
        replicas = sum(reading.running or 0 for reading in here)
        busy = sum((reading.utilisation or 0.0) * (reading.running or 0) for reading in here)
        return busy / replicas if replicas else None


def _spent(reading: ModuleReading) -> float:
    """Seconds that a row spends in a module: for ever where it cannot cope."""
    if (reading.load or 0.0) >= 1:
        return inf
    return (reading.waiting_time or 0.0) + (reading.service_time or 0.0)
