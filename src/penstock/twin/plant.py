"""The shell of every twin: virtual time, pools that grow and shrink, nodes, clock, observation.

A twin adds a simulation: what happens until a moment, and what was measured of it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from math import ceil, inf
from typing import TYPE_CHECKING

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph
from penstock.core.interference import Interference
from penstock.core.regions import Infrastructure, check_nodes
from penstock.core.routing import Routing
from penstock.core.signals import (
    Configuration,
    Decision,
    Latency,
    ModuleReading,
    Observation,
    Power,
    RegionReading,
    check_degrees,
)
from penstock.twin.observing import Reading
from penstock.twin.pool import ElasticPool
from penstock.twin.regions.places import check_places

if TYPE_CHECKING:
    from penstock.twin.regions.nodes import NodePools  # numba is slow to import


class SimulatedPlant(ABC):
    """A plant in virtual time, with an elastic pool for each module.

    With `places` the replicas of each module are on nodes of its region: what finds no free slot is
    not started, and counted as unmet. A region is read when the application has just acted: its
    nodes as that left them, and how busy its replicas had been until then.

    Service times belong to the clock `frequency` of `reference` GHz, or to the one that the run
    begins with, and are shorter at a faster clock; `power` has the watts of so many replicas at a
    frequency. While there is `interference`, rows take longer.
    """

    def __init__(
        self,
        graph: FlowGraph,
        *,
        step: float,
        duration: float,
        seed: int = 0,
        places: Infrastructure | None = None,
        frequency: float | None = None,
        reference: float | None = None,
        power: Callable[[int, float], float] | None = None,
        interference: Interference | None = None,
    ) -> None:
        self.graph, self.places = graph, places
        self._step, self._duration, self._turn = float(step), float(duration), 0
        self._seen_at = 0.0
        self.pools = {module.name: ElasticPool(module) for module in graph.modules}
        self._nodes = _node_pools(graph, places, seed)
        self._wanted_nodes = self._nodes.nodes() if self._nodes else {}
        self._modules: Mapping[str, ModuleReading] = {}
        self._regions = self._read_regions({})
        self._reference = frequency if reference is None else reference
        self._frequency = self._reference if frequency is None else frequency
        check_frequency(self._frequency, self._reference)
        self._power, self._interference = power, interference

    # What a twin adds.

    @property
    @abstractmethod
    def at(self) -> float:
        """Virtual seconds since the start."""

    @abstractmethod
    def _simulate_until(self, end: float) -> None:
        """Let everything happen that happens by then."""

    @abstractmethod
    def _measure(self) -> tuple[dict[str, Reading], Latency | None]:
        """What the step measured of each module, pools aside, and from end to end."""

    def _begin_step(self) -> None:  # noqa: B027 - not every twin has anything to forget
        """Forget what was measured of the last step."""

    def _resize(self, name: str, running: int, now: float) -> None:  # noqa: B027 - may be its pool
        """Let so many replicas of a module take work."""

    def _routing(self) -> Mapping[str, Routing]:
        """The routing tables that were asked for, by module with keys."""
        return {}

    def _set_pace(self, pace: float) -> None:  # noqa: B027 - a formula may have no pace
        """From now on, work takes so many times as long."""

    # What all have in common.

    def readings(self) -> Iterator[Observation]:
        """Simulate a control step at a time; a second call goes on where the first stopped.

        What happens at the very end of a step belongs to it.
        """
        turns = ceil(self._duration / self._step * (1 - 1e-12))
        while self._turn < turns:
            self._turn += 1
            self._begin_step()
            self._run_until(min(self._turn * self._step, self._duration))
            yield self._observe()

    def apply(self, decision: Decision) -> Configuration | None:
        """Ask for what the decision wants, within bounds and free slots, now.

        The clock changes for rows that are begun from now on. Nodes change before replicas.
        """
        wanted, before = decision.configuration, self._requested()
        check_degrees(wanted.degrees, self.graph.names())
        if self.places is not None:
            check_nodes(wanted.nodes, self.places.regions)
        self._set_frequency(wanted.frequency)
        for name, degree in wanted.degrees.items():
            self.pools[name].wanted = degree
        for name, degree in self._granted(wanted).items():
            self._ask(name, degree, wanted.routing.get(name))
        self._start_ready(self.at)
        after = self._requested()
        return after if after != before else None

    def _ask(self, name: str, degree: int, table: Routing | None) -> None:  # noqa: ARG002 - a table is for keys
        self.pools[name].ask(degree, self.at)

    def _granted(self, wanted: Configuration) -> dict[str, int]:
        """The degrees of modules that something was asked of, within bounds and free slots."""
        routed = wanted.routing.keys() & self.pools.keys()
        degrees = {name: self.pools[name].requested for name in routed} | dict(wanted.degrees)
        bounded = {name: self.pools[name].bounded(degree) for name, degree in degrees.items()}
        if self._nodes is None:
            return bounded
        self._wanted_nodes = {**self._wanted_nodes, **wanted.nodes}
        self._nodes.change_nodes(wanted.nodes)
        self._regions = self._read_regions(self._nodes.change_replicas(bounded))
        return self._nodes.replicas

    def _run_until(self, end: float) -> None:
        """Stop wherever something changes: a replica that is ready, interference."""
        while (at := self._next_change()) <= end:
            self._simulate_until(at)
            self._change(at)
        self._simulate_until(end)

    def _next_change(self) -> float:
        edges = self._interference.edges() if self._interference else ()
        ready = (pool.next_ready() for pool in self.pools.values())
        return min([*ready, *(edge for edge in edges if edge > self.at)])

    def _change(self, now: float) -> None:
        self._start_ready(now)
        self._set_pace(self._pace(now))

    def _start_ready(self, now: float) -> None:
        for name, pool in self.pools.items():
            pool.start_ready(now)
            self._resize(name, pool.running, now)

    def _pace(self, now: float) -> float:
        """Seconds for a second of work at the reference frequency."""
        pace = self._interference.pace(now) if self._interference else 1.0
        if self._frequency is None or self._reference is None:
            return pace
        return pace * (self._reference / self._frequency)

    def _set_frequency(self, frequency: float | None) -> None:
        if frequency is None or frequency == self._frequency:
            return
        check_frequency(frequency, self._reference)
        self._frequency = frequency
        self._set_pace(self._pace(self.at))

    def _requested(self) -> Configuration:
        return Configuration(
            degrees={name: pool.requested for name, pool in self.pools.items()},
            nodes=self._nodes.nodes() if self._nodes else {},
            frequency=self._frequency,
            routing=self._routing(),
        )

    def _observe(self) -> Observation:
        measured, latency = self._measure()
        self._modules = {
            name: ModuleReading(
                wanted=pool.wanted,
                requested=pool.requested,
                running=pool.running,
                **measured[name],
            )
            for name, pool in self.pools.items()
        }
        seen = Observation(
            at=self.at,
            step=self.at - self._seen_at,
            modules=self._modules,
            latency=latency,
            regions=self._regions,
            frequency=self._frequency,
            power=self._watts(),
        )
        self._seen_at = self.at
        return seen

    def _watts(self) -> Power | None:
        if self._power is None or self._frequency is None:
            return None
        running = sum(pool.running for pool in self.pools.values())
        return Power(watts=self._power(running, self._frequency), modelled=True)

    def _read_regions(self, unmet: Mapping[str, int]) -> dict[str, RegionReading]:
        if self._nodes is None:
            return {}
        busy = self._mean_busy()
        return {
            name: RegionReading(
                **counts,
                utilisation=busy.get(name),
                unmet=unmet.get(name, 0),
                wanted=self._wanted_nodes[name],
            )
            for name, counts in self._nodes.counts.items()
        }

    def _mean_busy(self) -> dict[str, float]:
        """By region, over the replicas that it hosted in the step that was measured last."""
        replicas: dict[str, int] = {}
        busy: dict[str, float] = {}
        for name, reading in self._modules.items():
            region, running = str(self.graph[name].region), reading.running
            if reading.utilisation is not None and running:
                replicas[region] = replicas.get(region, 0) + running
                busy[region] = busy.get(region, 0.0) + reading.utilisation * running
        return {region: busy[region] / replicas[region] for region in replicas}


def _node_pools(graph: FlowGraph, places: Infrastructure | None, seed: int) -> "NodePools | None":
    if places is None:
        return None
    check_places(graph, places)
    from penstock.twin.regions.nodes import NodePools

    return NodePools(graph, places, seed)


def check_frequency(frequency: float | None, reference: float | None) -> None:
    """Refuse a clock that stands still, and one that nothing is known about."""
    for value in (frequency, reference):
        if value is not None and not 0 < value < inf:
            raise SettingError(f"a clock frequency must be above 0 GHz, got {value:g}")
    if frequency is not None and reference is None:
        raise SettingError(
            f"the twin cannot be set to {frequency:g} GHz, for its service times belong to no "
            "frequency; give it one at the start"
        )
