"""What agents would arrive at, computed for all at once: for graphs of thousands of modules.

By Prop. 4.17 the iterations of Find-PNE spread the slowest pace, so the result is known from one
maximum. Messages and iterations are counted as the agents would have needed them.

>>> from penstock.core.graph import FlowGraph, Module, Stream
>>> graph = FlowGraph(
...     source="scan",
...     modules=(
...         Module(name="scan", service_time=0.1, price=0.01, delay_cost=0.5),
...         Module(name="match", service_time=2.0, price=0.01, delay_cost=0.5),
...     ),
...     streams=(Stream(origin="scan", target="match"),),
... )
>>> bulk = Bulk(FlowModel.of(graph))
>>> bulk.find_pne()
>>> bulk.replicas(), bulk.bottleneck(), bulk.messages
({'scan': 0.5, 'match': 10.0}, ('match',), 2)
"""

from functools import cached_property

import numpy as np

from penstock.model import FlowModel
from penstock.policy.game.exchange import Aggregation, Floats, Votes
from penstock.policy.game.fitting import Fitting
from penstock.policy.game.stake import SAME, Survey, fastest, wish
from penstock.policy.game.topology import Topology
from penstock.policy.game.views import Views


class Bulk:
    """An exchange in which nobody speaks. Paces here are those of the source."""

    def __init__(
        self,
        model: FlowModel,
        topology: Topology | None = None,
        aggregation: Aggregation | None = None,
    ) -> None:
        self.topology = topology or Topology.of(model.neighbours)
        self.aggregation = aggregation or Aggregation()
        self.messages = self.iterations = 0
        self._modules = list(model.modules.values())
        self._incentive = np.zeros(len(self._modules))
        self._own = np.array([self._alone(i) for i in range(len(self._modules))])
        self._pace = 0.0
        self._before = self._own, self._pace

    def find_pne(self) -> None:
        """The slowest pace that anyone wishes for is that of all."""
        self._pace = float(self._own.max())
        self._flood()

    def encourage(self, increment: float) -> None:
        """Only the wish of the bottleneck changes."""
        self._before = self._own, self._pace
        self._own = self._own.copy()
        for i in np.flatnonzero(self._slowest()).tolist():
            self._incentive[i] += increment * self._modules[i].price
            self._own[i] = self._alone(i)

    def retreat(self) -> None:
        """Both as they were."""
        self._own, self._pace = self._before

    def total_cost(self) -> Floats:
        """Up the tree and down again, or by gossip."""
        self._add_up(self.aggregation.iterations)
        if not self.aggregation.by_gossip:
            self._over_the_tree()
        return self._views.cost(self._pace)

    def any_objects(self, votes: Votes) -> bool:
        """Where agents may disagree, a bit floods."""
        if self.aggregation.by_gossip:
            self._flood()
        return bool(votes.any())

    def survey(self) -> tuple[Survey, ...]:
        """The same numbers as agents have."""
        iterations = max(self.aggregation.iterations, self.topology.diameter)
        self._add_up(iterations)
        views, maxima = self._views.sums(iterations), self._views.maxima
        return tuple(Survey.from_numbers(tuple(sums), maxima) for sums in views.tolist())

    def try_out(self, paces: Floats) -> Floats:
        """Only the curved modules are asked, where there is a tree."""
        if self.aggregation.by_gossip:
            self._add_up(self.aggregation.iterations)
        else:
            self._along_the_tree(self._views.is_curved, times=2)
        return self._views.curved_prices(paces)

    def settle(self, paces: Floats) -> None:
        """The slowest of the opinions, and no faster than all can go."""
        self._own = np.array([fastest(m) * m.reach for m in self._modules])
        self._pace = max(float(paces.max()), float(self._own.max()))
        if self.aggregation.by_gossip:
            self._flood()
        else:
            self._along_the_tree(np.array([not m.fixed for m in self._modules]))

    def replicas(self) -> dict[str, float]:
        """By name."""
        needed = Fitting(self._modules).replicas(self._pace).tolist()
        return {m.name: n for m, n in zip(self._modules, needed, strict=True)}

    def bottleneck(self) -> tuple[str, ...]:
        """Those whose own pace is that of all."""
        return tuple(self._modules[i].name for i in np.flatnonzero(self._slowest()).tolist())

    def _alone(self, i: int) -> float:
        module = self._modules[i]
        return module.service_time(wish(module, float(self._incentive[i]))) * module.reach

    def _slowest(self) -> Votes:
        slowest: Votes = self._own >= self._pace * (1.0 - SAME)
        return slowest

    @cached_property
    def _views(self) -> Views:
        return Views(self._modules, self.topology, self.aggregation)

    def _add_up(self, iterations: int) -> None:
        """Count a sum over all, as the root or every gossiping agent comes to know it."""
        if self.aggregation.by_gossip:
            self._count(iterations, iterations * self.topology.links)
        else:
            self._over_the_tree()

    def _flood(self) -> None:
        hops = self.topology.diameter
        self._count(hops, hops * self.topology.links)

    def _over_the_tree(self) -> None:
        self._count(self.topology.height, self.topology.size - 1)

    def _along_the_tree(self, members: Votes, times: int = 1) -> None:
        leading = self.topology.leading_to(members)
        hops, messages = int(self.topology.depth[leading].max()), int(leading.sum()) - 1
        self._count(times * hops, times * messages)

    def _count(self, iterations: int, messages: int) -> None:
        self.iterations += iterations
        self.messages += messages
