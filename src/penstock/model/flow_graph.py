"""The pace of a whole graph under back-pressure, and what it costs: game, Section 4.1.

A module that cannot keep up fills its buffer and blocks its upstream modules, so in the long run
the slowest module sets the pace of all. In proportion to how often rows come by, every module
finishes rows as often as the bottleneck lets it.

>>> from penstock.testing import chain
>>> graph = chain(scan={"service_time": 0.1}, match={"service_time": 2.0, "max_replicas": 8})
>>> model = FlowModel.of(graph, inter_arrival=0.25)
>>> pace = model.pace({"scan": 1, "match": 4})
>>> pace.inter_departure
{'scan': 0.5, 'match': 0.5}
>>> pace.bottleneck, pace.efficiency
(('match',), {'scan': 0.2, 'match': 1.0})
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Final, Self

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.model.scalability import Scalability, scalability

SAME_PACE: Final = 1e-9
"""Relative difference under which two paces are the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleModel:
    """One module as its agent knows it: nothing here is about another module."""

    name: str
    reach: float
    """Rows it sees for each row of the source: the probability of reaching it, where every row
    stays one row."""
    running_time: float
    """Mean seconds that one replica takes for a row."""
    price: float
    """Cost of one replica for one control step."""
    delay_cost: float
    """Cost of one second between results."""
    max_replicas: float
    scalability: Scalability
    min_replicas: float = 1.0
    """The fewest that it may be rounded to; real-valued degrees may be under it (game, 4.2)."""
    inter_arrival: float = 0.0
    """Mean seconds between rows from outside, at the source; 0 elsewhere."""

    @property
    def fixed(self) -> bool:
        """Whether it may have one degree only, as the dispatcher of the paper: there is nothing
        to choose, and it is paid for as it is."""
        return self.min_replicas == self.max_replicas

    @property
    def most(self) -> float:
        """Replicas beyond which it gets no faster, or may not go."""
        return min(self.max_replicas, self.scalability.best)

    def service_time(self, replicas: float) -> float:
        """Mean seconds between results, were it alone."""
        return max(self.running_time * self.scalability.share(replicas), self.inter_arrival)

    def replicas(self, service_time: float) -> float:
        """The fewest replicas with this service time, as far as there are so many."""
        share = service_time / self.running_time if self.running_time else inf
        return min(self.scalability.replicas(share), self.most)

    def ideal(self, price: float) -> float:
        """What it would choose alone, at this price of a replica: game, Def. 4.5."""
        if price <= 0.0:
            return self.most
        return min(self.scalability.ideal(self.delay_cost * self.running_time / price), self.most)

    def cost(self, replicas: float, inter_departure: float) -> float:
        """Of one control step: game, Expr. 5 and 6."""
        return self.delay_cost * inter_departure + self.price * replicas


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast each module of a graph goes, by name."""

    inter_departure: Mapping[str, float]
    """Mean seconds between results: game, Prop. 4.1."""
    bottleneck: tuple[str, ...]
    """Modules that set the pace of all others: game, Prop. 4.2."""
    efficiency: Mapping[str, float]
    """Service time by inter-departure time: how much of what is paid for is used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowModel:
    """A flow graph in the terms of the game: who is reached how often, at what price."""

    source: str
    modules: Mapping[str, ModuleModel]
    neighbours: Mapping[str, tuple[str, ...]]
    """Modules that a stream joins to it, either way: game, Expr. 15."""

    @classmethod
    def of(cls, graph: FlowGraph, *, inter_arrival: float = 0.0) -> Self:
        """The model of a graph as it is declared."""
        visits = graph.visits()
        models = {
            module.name: ModuleModel(
                name=module.name,
                reach=visits[module.name],
                running_time=module.service_time,
                price=module.price,
                delay_cost=module.delay_cost,
                min_replicas=float(module.min_replicas),
                max_replicas=float(module.max_replicas),
                scalability=scalability(module),
                inter_arrival=inter_arrival if module.name == graph.source else 0.0,
            )
            for module in graph.modules
        }
        return cls(source=graph.source, modules=models, neighbours=_neighbours(graph))

    def arriving_every(self, inter_arrival: float) -> Self:
        """The same graph with rows from outside at another pace."""
        fed = replace(self.modules[self.source], inter_arrival=inter_arrival)
        return replace(self, modules={**self.modules, self.source: fed})

    def pace(self, replicas: Mapping[str, float]) -> Pace:
        """How fast each module goes with these replicas, back-pressure included."""
        paces = {n: m.service_time(replicas[n]) * m.reach for n, m in self.modules.items()}
        slowest = max(paces.values())
        departure = {name: slowest / m.reach for name, m in self.modules.items()}
        return Pace(
            inter_departure=departure,
            bottleneck=tuple(n for n, t in paces.items() if t >= slowest * (1 - SAME_PACE)),
            # its own service time: that rows come slowly from outside is no merit of it
            efficiency={
                n: m.running_time * m.scalability.share(replicas[n]) / departure[n]
                for n, m in self.modules.items()
            },
        )

    def costs(self, replicas: Mapping[str, float]) -> dict[str, float]:
        """What one control step costs each module at these replicas."""
        departure = self.pace(replicas).inter_departure
        return {n: m.cost(replicas[n], departure[n]) for n, m in self.modules.items()}

    def fitting(self, source_pace: float) -> dict[str, float]:
        """The replicas with which no module waits for another: the E-vector of a source pace.

        Game, Def. 4.7: every E-vector is fixed by the seconds between two rows of the source.
        """
        return {name: m.replicas(source_pace / m.reach) for name, m in self.modules.items()}


def check_priced(graph: FlowGraph, policy: str) -> None:
    """Reject a module without a time or a price: a game needs something to win."""
    for _, _, why in unpriced(graph.modules, policy):
        raise SettingError(why)


def unpriced(modules: Iterable[Module], policy: str) -> Iterator[tuple[str, str, str]]:
    """Each module and setting that a game cannot be played with, and why in a sentence."""
    for module in modules:
        for name in ("service_time", "price", "delay_cost"):
            value = getattr(module, name)
            if not 0 < value < inf:
                what = f"{name} of module {module.name} must be above 0 and finite"
                yield module.name, name, f"{what} for policy {policy}, got {value:g}"


def _neighbours(graph: FlowGraph) -> dict[str, tuple[str, ...]]:
    near: dict[str, list[str]] = {name: [] for name in graph.names()}
    for stream in graph.streams:
        near[stream.origin].append(stream.target)
        near[stream.target].append(stream.origin)
    return {name: tuple(names) for name, names in near.items()}
