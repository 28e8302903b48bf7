"""What a game is played with while a pipeline runs: measured where known, else as declared."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from penstock.core.graph import FlowGraph
from penstock.core.signals import ModuleReading, Observation
from penstock.model import FlowModel
from penstock.model.flow_graph import ModuleModel
from penstock.policy.common.estimates import Averages, known, service_time
from penstock.policy.game.topology import Topology

ROUTINGS: Final = ("declared", "measured")

_FEWEST: Final = 1e-9
"""Rows a second under which arrivals are as good as none."""


@dataclass
class Estimates:
    """Averages that forget, of arrivals, running times and routing (game, Section 6.2).

    >>> from penstock.core.graph import Module
    >>> from penstock.testing import seen
    >>> known = Estimates(FlowGraph(source="scan", modules=(Module(name="scan"),)))
    >>> known.take_in(seen(scan={"arrival_rate": 4.0, "service_time": 0.02}))
    >>> scan = known.model().modules["scan"]
    >>> scan.inter_arrival, scan.running_time
    (0.25, 0.02)
    """

    graph: FlowGraph
    smoothing: float = 0.5
    """Weight of the newest reading."""
    routing: str = "declared"
    """Whether rows are taken to go as the graph declares, or as they were measured to."""
    catch_up: float | None = None
    """Seconds in which rows that wait are to be worked off, as if they arrived meanwhile."""
    _waiting: float = field(default=0.0, init=False, repr=False)
    """Rows of the source that the fullest module has before it."""
    _arrivals: Averages = field(init=False, repr=False)
    """Rows a second at the source."""
    _times: Averages = field(init=False, repr=False)
    """Seconds that one replica takes for a row."""
    _reach: Averages = field(init=False, repr=False)
    """Rows that a module sees for each one that the source finished: the mean of the ratios of each
    step, as in the paper, and not the ratio of sums of `Reach`."""
    _declared: FlowModel | None = field(default=None, init=False, repr=False, compare=False)
    _topology: Topology | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Nothing was measured yet."""
        self._arrivals = Averages(self.smoothing)
        self._times, self._reach = Averages(self.smoothing), Averages(self.smoothing)

    def take_in(self, seen: Observation) -> None:
        """Learn from a reading; unknown values are ignored."""
        ours = self._base().modules
        modules = {name: module for name, module in seen.modules.items() if name in ours}
        source = modules.get(self.graph.source, ModuleReading())
        self._arrivals.update(self.graph.source, source.arrival_rate)
        for name, module in modules.items():
            self._times.update(name, service_time(module, ours[name].scalability))
        self._waiting = max((_waiting(ours[n], m) for n, m in modules.items()), default=0.0)
        if self.routing == "measured":
            self._learn_routing(modules, source.processed_rate)

    @property
    def inter_arrival(self) -> float:
        """Seconds between two rows to be taken in; 0 before any was measured."""
        rate = self._arrivals.of(self.graph.source)
        if rate is None:
            return 0.0
        behind = self._waiting / self.catch_up if self.catch_up else 0.0
        return 1.0 / max(rate + behind, _FEWEST)

    @property
    def topology(self) -> Topology:
        """Of the graph, which stays as it is: computed when it is first asked for."""
        if self._topology is None:
            self._topology = Topology.of(self._base().neighbours)
        return self._topology

    def model(self) -> FlowModel:
        """The graph as it is now."""
        modules = dict(self._base().modules)
        for name, time in self._times.all().items():
            modules[name] = replace(modules[name], running_time=time)
        for name, reach in self._reach.all().items():
            modules[name] = replace(modules[name], reach=reach)
        return replace(self._base(), modules=modules).arriving_every(self.inter_arrival)

    def _base(self) -> FlowModel:
        if self._declared is None:
            self._declared = FlowModel.of(self.graph)
        return self._declared

    def _learn_routing(self, modules: Mapping[str, ModuleReading], finished: float | None) -> None:
        if not (rate := known(finished)):
            return
        for name, module in modules.items():
            came = known(module.arrival_rate)
            if name != self.graph.source and came:
                self._reach.update(name, came / rate)


def _waiting(module: ModuleModel, reading: ModuleReading) -> float:
    return (known(reading.backlog) or 0.0) / module.reach
