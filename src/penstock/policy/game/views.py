"""Sums over thousands of agents as each of them comes to know them.

What a step costs at a pace is `delay * pace + work / pace + standing`, and the price of the curved
modules' replicas. The first three are added up once: gossip is linear, so every agent's estimate
of the whole is made of its estimates of the parts.
"""

from collections.abc import Sequence

import numpy as np

from penstock.model.flow_graph import ModuleModel
from penstock.policy.game.exchange import Aggregation, Floats, Votes
from penstock.policy.game.fitting import Fitting
from penstock.policy.game.stake import Survey, is_curved
from penstock.policy.game.topology import Topology


class Views:
    """One view of each sum by the tree, and one for each agent by gossip."""

    def __init__(
        self, modules: Sequence[ModuleModel], topology: Topology, aggregation: Aggregation
    ) -> None:
        self._topology, self._aggregation = topology, aggregation
        numbers = [Survey.of(module).numbers() for module in modules]
        self._sums = np.array([sums for sums, _ in numbers])
        self.maxima = tuple(np.array([maxima for _, maxima in numbers]).max(axis=0).tolist())
        self.is_curved: Votes = np.array([is_curved(module) for module in modules])
        self._curved = Fitting([module for module in modules if is_curved(module)])
        self._prices = np.array([module.price for module in modules if is_curved(module)])
        self._known: dict[int, Floats] = {}

    def sums(self, iterations: int) -> Floats:
        """Of the survey, a row per view, after so many iterations of gossip."""
        if iterations not in self._known:
            self._known[iterations] = self._seen(self._sums, iterations)
        return self._known[iterations]

    def curved_prices(self, paces: Floats) -> Floats:
        """What the replicas of all curved modules cost at each pace, a row per view."""
        size = len(self.is_curved)
        if not len(self._prices):
            return np.zeros((size if self._aggregation.by_gossip else 1, len(paces)))
        own = np.zeros((size, len(paces)))
        own[self.is_curved] = np.transpose([self._at(pace) for pace in paces.tolist()])
        return self._seen(own, self._aggregation.iterations)

    def cost(self, pace: float) -> Floats:
        """Of all modules at a pace, in each view."""
        delay, work, standing, _ = self.sums(self._aggregation.iterations).T
        cost: Floats = delay * pace + work / pace + standing
        return cost + self.curved_prices(np.array([pace]))[:, 0] if len(self._prices) else cost

    def _at(self, pace: float) -> Floats:
        prices: Floats = self._prices * self._curved.replicas(pace)
        return prices

    def _seen(self, own: Floats, iterations: int) -> Floats:
        if self._aggregation.by_gossip:
            return push_sum(own, self._topology, iterations)
        total: Floats = own.sum(axis=0).reshape(1, -1)
        return total


def push_sum(own: Floats, topology: Topology, iterations: int) -> Floats:
    """Each agent's estimate of the sum of every column after so many iterations of gossip."""
    held = np.column_stack([np.ones(topology.size), own])
    shares = 1.0 / (topology.degrees + 1.0)
    for _ in range(iterations):
        held = held * shares[:, None]
        if topology.links:
            held = held + np.add.reduceat(held[topology.near], topology.starts[:-1], axis=0)
    estimates: Floats = topology.size * held[:, 1:] / held[:, :1]
    return estimates
