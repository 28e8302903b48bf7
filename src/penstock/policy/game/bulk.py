"""What agents would arrive at, computed for all at once: for graphs of thousands of modules.

By Prop. 4.17 the iterations of Find-PNE spread the slowest pace, so the result is known from one
maximum. Messages and iterations are counted as the agents would have needed them.
"""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from penstock.model import FlowModel, Minimum
from penstock.model.flow_graph import SAME_PACE, ModuleModel
from penstock.policy.game.aggregate import Aggregation, Floats, Votes
from penstock.policy.game.costs import (
    CostTerms,
    is_nonlinear,
    most,
    preferred_replicas,
    shortest_interval,
)
from penstock.policy.game.topology import Topology

Fit = Callable[[Floats], Floats]
"""From the share of the running time that may pass between two results to the replicas."""


class ReplicasAtPace:
    """What each module of a list needs at a pace of the source, for thousands at once.

    >>> from penstock.model import Ideal
    >>> module = ModuleModel(
    ...     name="edges", reach=0.5, running_time=8.0, price=0.02, delay_cost=0.5,
    ...     max_replicas=32.0, scalability=Ideal(),
    ... )
    >>> ReplicasAtPace([module]).replicas(0.5)
    array([8.])
    """

    def __init__(self, modules: Sequence[ModuleModel]) -> None:
        self.most = np.array([most(module) for module in modules])
        self.share = np.array([1.0 / (m.reach * m.running_time) for m in modules])
        """Of its running time that passes between two results at a pace of one second."""
        kinds: dict[Callable[[Sequence[ModuleModel]], Fit], list[int]] = {}
        for i, module in enumerate(modules):
            if not module.fixed:  # one with one degree only has the most
                kinds.setdefault(_fitting(module), []).append(i)
        self._groups = [
            (np.array(group), fitting([modules[i] for i in group]))
            for fitting, group in kinds.items()
        ]

    def replicas(self, source_pace: float) -> Floats:
        """Of every module at this pace."""
        needed = self.most.copy()
        for group, fits in self._groups:
            needed[group] = fits(source_pace * self.share[group])
        within: Floats = np.minimum(needed, self.most)
        return within


def _fitting(module: ModuleModel) -> Callable[[Sequence[ModuleModel]], Fit]:
    """How modules of a kind are computed."""
    if not is_nonlinear(module):
        return _in_proportion
    return _with_minimum if isinstance(module.scalability, Minimum) else _on_lines


def _in_proportion(_: Sequence[ModuleModel]) -> Fit:
    return lambda share: 1.0 / share


def _with_minimum(modules: Sequence[ModuleModel]) -> Fit:
    """As `Minimum.replicas`."""
    best = np.array([module.scalability.best for module in modules])
    scale = 1.0 / (1.0 + 1.0 / best**2)

    def fits(share: Floats) -> Floats:
        half = share / (2.0 * scale)
        root: Floats = np.sqrt(np.maximum(half**2 - 1.0 / best**2, 0.0))
        return 1.0 / (half + root)

    return fits


def _on_lines(modules: Sequence[ModuleModel]) -> Fit:
    """As `Measured.replicas`: under one replica as ideal, then on the first line that is reached.

    Tables end at the best degree and are filled up with shares that every line is below.
    """
    speeds = [module.scalability.speedup for module in modules]  # type: ignore[attr-defined]
    best = [int(module.scalability.best) for module in modules]
    table = np.full((len(modules), max(best, default=1) + 1), -1.0)
    for row, speed, length in zip(table, speeds, best, strict=True):
        row[:length] = 1.0 / np.array(speed[:length])
    every, last = np.arange(len(modules)), np.array(best, dtype=np.int64)

    def fits(share: Floats) -> Floats:
        reached = np.minimum((table > share[:, None]).sum(axis=1), last)
        before, after = (
            table[every, np.maximum(reached - 1, 0)],
            table[every, np.maximum(reached, 1)],
        )
        on_line = reached + (before - share) / (before - after)
        needed: Floats = np.where(reached == last, last, on_line)
        return np.where(share >= 1.0, 1.0 / share, needed)

    return fits


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


class BulkExchange:
    """An exchange without messages, only counted. Paces here are those of the source.

    Sums have one view by the tree, and one for each agent by gossip. What a step costs at a pace is
    `delay * pace + work / pace + standing`, and the price of the curved modules' replicas. The
    first three are added up once: gossip is linear, so every agent's estimate of the whole is made
    of its estimates of the parts.
    """

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
        self._sums: dict[int, Floats] = {}
        """Of the cost terms, a row per view, by iterations of gossip."""

    def find_pne(self) -> None:
        """The slowest preferred pace is the pace of all."""
        self._pace = float(self._own.max())
        self._flood()

    def raise_incentive(self, increment: float) -> None:
        """Only what the bottleneck prefers changes."""
        self._before = self._own, self._pace
        self._own = self._own.copy()
        for i in np.flatnonzero(self._slowest()).tolist():
            self._incentive[i] += increment * self._modules[i].price
            self._own[i] = self._alone(i)

    def undo(self) -> None:
        """Both as they were."""
        self._own, self._pace = self._before

    def total_cost(self) -> Floats:
        """Up the tree and down again, or by gossip."""
        self._count_sum(self.aggregation.iterations)
        if not self.aggregation.by_gossip:
            self._count(self.topology.height, self.topology.size - 1)
        delay, work, standing, _ = self._terms_seen(self.aggregation.iterations).T
        cost: Floats = delay * self._pace + work / self._pace + standing
        curved = self._is_nonlinear.any()
        return cost + self._curved_prices(np.array([self._pace]))[:, 0] if curved else cost

    def any_objection(self, votes: Votes) -> bool:
        """Where agents may disagree, a bit floods."""
        if self.aggregation.by_gossip:
            self._flood()
        return bool(votes.any())

    def cost_terms(self) -> tuple[CostTerms, ...]:
        """The same numbers as agents have."""
        iterations = max(self.aggregation.iterations, self.topology.diameter)
        self._count_sum(iterations)
        maxima = self._terms[:, 4:].max(axis=0).tolist()
        return tuple(CostTerms(*sums, *maxima) for sums in self._terms_seen(iterations).tolist())

    def prices_at(self, paces: Floats) -> Floats:
        """Only the curved modules are asked, where there is a tree."""
        if self.aggregation.by_gossip:
            self._count_sum(self.aggregation.iterations)
        else:
            self._count_part(self._is_nonlinear, times=2)
        return self._curved_prices(paces)

    def settle(self, paces: Floats) -> None:
        """The slowest of the paces, and no faster than all can go."""
        self._own = np.array([shortest_interval(m) * m.reach for m in self._modules])
        self._pace = max(float(paces.max()), float(self._own.max()))
        if self.aggregation.by_gossip:
            self._flood()
        else:
            self._count_part(np.array([not m.fixed for m in self._modules]))

    def replicas(self) -> dict[str, float]:
        """By name."""
        needed = ReplicasAtPace(self._modules).replicas(self._pace).tolist()
        return {m.name: n for m, n in zip(self._modules, needed, strict=True)}

    def bottleneck(self) -> tuple[str, ...]:
        """Those whose own pace is that of all."""
        return tuple(self._modules[i].name for i in np.flatnonzero(self._slowest()).tolist())

    def _alone(self, i: int) -> float:
        module = self._modules[i]
        replicas = preferred_replicas(module, float(self._incentive[i]))
        return module.service_time(replicas) * module.reach

    def _slowest(self) -> Votes:
        slowest: Votes = self._own >= self._pace * (1.0 - SAME_PACE)
        return slowest

    @cached_property
    def _terms(self) -> Floats:
        return np.array([CostTerms.of(module) for module in self._modules])

    @cached_property
    def _is_nonlinear(self) -> Votes:
        return np.array([is_nonlinear(module) for module in self._modules])

    @cached_property
    def _curved(self) -> ReplicasAtPace:
        return ReplicasAtPace([module for module in self._modules if is_nonlinear(module)])

    def _terms_seen(self, iterations: int) -> Floats:
        """Sums of the cost terms, a row per view, after so many iterations of gossip."""
        if iterations not in self._sums:
            self._sums[iterations] = self._seen(self._terms[:, :4], iterations)
        return self._sums[iterations]

    def _curved_prices(self, paces: Floats) -> Floats:
        """What the replicas of all curved modules cost at each pace, a row per view."""
        own = np.zeros((len(self._modules), len(paces)))
        if self._is_nonlinear.any():
            prices = np.array([m.price for m in self._modules])[self._is_nonlinear]
            replicas = np.transpose([self._curved.replicas(pace) for pace in paces.tolist()])
            own[self._is_nonlinear] = prices[:, None] * replicas
        return self._seen(own, self.aggregation.iterations)

    def _seen(self, own: Floats, iterations: int) -> Floats:
        """What all have of each column together, a row per view."""
        if self.aggregation.by_gossip:
            return push_sum(own, self.topology, iterations)
        total: Floats = own.sum(axis=0).reshape(1, -1)
        return total

    def _count_sum(self, iterations: int) -> None:
        """Count a sum over all, as the root or every gossiping agent comes to know it."""
        if self.aggregation.by_gossip:
            self._count(iterations, iterations * self.topology.links)
        else:
            self._count(self.topology.height, self.topology.size - 1)

    def _count_part(self, members: Votes, times: int = 1) -> None:
        """Count messages along the part of the tree that leads to some agents."""
        leading = self.topology.leading_to(members)
        hops, messages = int(self.topology.depth[leading].max()), int(leading.sum()) - 1
        self._count(times * hops, times * messages)

    def _flood(self) -> None:
        hops = self.topology.diameter
        self._count(hops, hops * self.topology.links)

    def _count(self, iterations: int, messages: int) -> None:
        self.iterations += iterations
        self.messages += messages
