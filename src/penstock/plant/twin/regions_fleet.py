"""Nodes and replicas by their names, and what a look at each region shows."""

from collections.abc import Mapping

import numpy as np

from penstock.core.graph import FlowGraph
from penstock.core.regions import Infrastructure
from penstock.core.signals import Configuration, RegionReading
from penstock.plant.twin import regions_nodes as kernel


class NodeFleet:
    """The nodes of every region with the replicas on them."""

    def __init__(self, graph: FlowGraph, places: Infrastructure, seed: int) -> None:
        self._graph, self._places = graph, places
        self._nodes = kernel.first_nodes(graph, places)
        self._first = np.random.default_rng(seed)
        self._further = np.random.default_rng([seed, 1])

    def replicas(self) -> dict[str, int]:
        """Of each module."""
        return dict(zip(self._graph.names(), self._nodes.replicas.tolist(), strict=True))

    def nodes(self) -> dict[str, int]:
        """Of each region."""
        counts = (kernel.count_nodes(self._nodes, i) for i, _ in enumerate(self._places.regions))
        return {n: int(count) for n, count in zip(self._places.names(), counts, strict=True)}

    def configuration(self) -> Configuration:
        """What there is."""
        return Configuration(degrees=self.replicas(), nodes=self.nodes())

    def change_nodes(self, wanted: Mapping[str, int]) -> None:
        """Acquire nodes, and release those that are idle."""
        there = self.nodes()
        for index, name in enumerate(self._places.names()):
            change = wanted.get(name, there[name]) - there[name]
            for _ in range(change):
                kernel.acquire(self._nodes, index)
            for _ in range(-change):
                kernel.release(self._nodes, index)

    def change_replicas(self, wanted: Mapping[str, int]) -> dict[str, int]:
        """Replicas go before others come; returns how many found no free slot, by region."""
        draws = self._first.random(len(self._graph.modules))
        changes = {name: self._bounded(name, wanted) - n for name, n in self.replicas().items()}
        unmet = dict.fromkeys(self._places.names(), 0)
        for index, change in enumerate(changes.values()):
            for _ in range(-change):
                kernel.remove(self._nodes, index)
        for index, (name, change) in enumerate(changes.items()):
            for number in range(change):
                draw = self._further.random() if number else draws[index]
                if not kernel.place(self._nodes, index, float(draw)):
                    unmet[str(self._graph[name].region)] += 1
        return unmet

    def look_at(self, name: str) -> RegionReading:
        """What a look at a region's nodes shows."""
        index, count = self._places.names().index(name), self.nodes()[name]
        return RegionReading(
            nodes=count,
            idle=int(kernel.count_idle(self._nodes, index)),
            free=int(kernel.count_free(self._nodes, index)),
            replicas=int(self._nodes.used[index].sum()),
            requested=count,
        )

    def _bounded(self, name: str, wanted: Mapping[str, int]) -> int:
        module = self._graph[name]
        degree = wanted.get(name, self.replicas()[name])
        return min(max(degree, module.min_replicas), module.max_replicas)
