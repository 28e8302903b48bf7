"""Nodes of regions and the replicas on them: acquired and released, placed and removed.

All of a module's replicas are in one region. A new one goes to any node with a free slot; the one
that goes is on the emptiest node that has one, so that nodes become idle.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.core.graph import FlowGraph
from penstock.core.regions import Infrastructure
from penstock.model.compiling import compiled, entry, require_compiler

require_compiler("simulating")

Ints = NDArray[np.int64]


class Nodes(NamedTuple):
    """Every node that there can be, as arrays that are changed in place."""

    active: Ints
    """By region and node: 1 where it has been acquired."""
    used: Ints
    """By region and node: replicas that it hosts."""
    hosts: Ints
    """By module and node of its region: replicas of that module that it hosts."""
    replicas: Ints
    """By module."""
    region: Ints
    """By module, the index of its region."""
    slots: Ints
    """By region, replicas that a node can host."""


def first_nodes(graph: FlowGraph, places: Infrastructure) -> Nodes:
    """The nodes of the start, with the first replicas on them, one node filled after the other."""
    most = max(region.max_nodes for region in places.regions)
    names = graph.names()
    nodes = Nodes(
        active=np.zeros((len(places.regions), most), np.int64),
        used=np.zeros((len(places.regions), most), np.int64),
        hosts=np.zeros((len(names), most), np.int64),
        replicas=np.zeros(len(names), np.int64),
        region=np.array([places.names().index(str(graph[n].region)) for n in names], np.int64),
        slots=np.array([region.slots for region in places.regions], np.int64),
    )
    for index, region in enumerate(places.regions):
        nodes.active[index, : region.initial_nodes] = 1
    for index, name in enumerate(names):
        for _ in range(graph[name].initial_replicas):
            place(nodes, index, 0.0)
    return nodes


@entry
def place(nodes: Any, module: int, draw: float) -> bool:
    """Put one replica more on a node with a free slot, chosen by a number in [0, 1); False where
    there is none."""
    region = nodes.region[module]
    choices = _with_room(nodes, region)
    if choices == 0:
        return False
    wanted = min(int(draw * choices), choices - 1)
    for node in range(nodes.active.shape[1]):
        if _has_room(nodes, region, node):
            if wanted == 0:
                _move(nodes, module, node, 1)
                return True
            wanted -= 1
    return False


@entry
def remove(nodes: Any, module: int) -> None:
    """Take away one replica, from the emptiest node that hosts one."""
    region, best = nodes.region[module], -1
    for node in range(nodes.active.shape[1]):
        fewer = best < 0 or nodes.used[region, node] < nodes.used[region, best]
        if nodes.hosts[module, node] > 0 and fewer:
            best = node
    if best >= 0:
        _move(nodes, module, best, -1)


@entry
def acquire(nodes: Any, region: int) -> None:
    """One node more."""
    for node in range(nodes.active.shape[1]):
        if nodes.active[region, node] == 0:
            nodes.active[region, node] = 1
            return


@entry
def release(nodes: Any, region: int) -> bool:
    """Give up an idle node; False where there is none."""
    for node in range(nodes.active.shape[1]):
        if nodes.active[region, node] == 1 and nodes.used[region, node] == 0:
            nodes.active[region, node] = 0
            return True
    return False


@entry
def count_idle(nodes: Any, region: int) -> int:
    """Nodes that host nothing."""
    idle = 0
    for node in range(nodes.active.shape[1]):
        idle += nodes.active[region, node] == 1 and nodes.used[region, node] == 0
    return idle


@entry
def count_nodes(nodes: Any, region: int) -> int:
    """Nodes that have been acquired."""
    count = 0
    for node in range(nodes.active.shape[1]):
        count += nodes.active[region, node]
    return count


@entry
def count_free(nodes: Any, region: int) -> int:
    """Replicas that the nodes could still take."""
    free = 0
    for node in range(nodes.active.shape[1]):
        if nodes.active[region, node] == 1:
            free += nodes.slots[region] - nodes.used[region, node]
    return free


@compiled
def _with_room(nodes: Any, region: int) -> int:
    choices = 0
    for node in range(nodes.active.shape[1]):
        choices += _has_room(nodes, region, node)
    return choices


@compiled
def _has_room(nodes: Any, region: int, node: int) -> bool:
    room: bool = nodes.used[region, node] < nodes.slots[region]
    active: bool = nodes.active[region, node] == 1
    return active and room


@compiled
def _move(nodes: Any, module: int, node: int, change: int) -> None:
    nodes.used[nodes.region[module], node] += change
    nodes.hosts[module, node] += change
    nodes.replicas[module] += change


class NodePools:
    """The nodes of every region with the replicas on them."""

    counts: dict[str, dict[str, Any]]
    """What a look at the nodes of each region shows, by the names of a `RegionReading`."""
    replicas: dict[str, int]
    """Of each module."""

    def __init__(self, graph: FlowGraph, places: Infrastructure, seed: int) -> None:
        self._regions, self._names = {m.name: str(m.region) for m in graph.modules}, places.names()
        self._nodes = first_nodes(graph, places)
        self._first = np.random.default_rng(seed)
        self._further = np.random.default_rng([seed, 1])
        self._count()

    def nodes(self) -> dict[str, int]:
        """Of each region."""
        return {name: counts["nodes"] for name, counts in self.counts.items()}

    def change_nodes(self, wanted: Mapping[str, int]) -> None:
        """Acquire nodes, and release those that are idle."""
        for name, count in wanted.items():
            index, change = self._names.index(name), count - self.counts[name]["nodes"]
            for _ in range(change):
                acquire(self._nodes, index)
            for _ in range(-change):
                release(self._nodes, index)
        if wanted:
            self._count()

    def change_replicas(self, wanted: Mapping[str, int]) -> dict[str, int]:
        """Replicas go before others come; returns how many found no free slot, by region."""
        draws = self._first.random(len(self._regions)).tolist()
        changes = [wanted.get(name, n) - n for name, n in self.replicas.items()]
        for index, change in enumerate(changes):
            for _ in range(-change):
                remove(self._nodes, index)
        if min(changes) < 0:
            self._count()
        placed, free = False, {name: counts["free"] for name, counts in self.counts.items()}
        for index, (region, change) in enumerate(zip(self._regions.values(), changes, strict=True)):
            for number in range(change):
                draw = self._further.random() if number else draws[index]
                free[region] -= 1
                if free[region] >= 0:
                    placed = place(self._nodes, index, draw)
        if placed:
            self._count()
        return {region: max(-left, 0) for region, left in free.items()}

    def _count(self) -> None:
        active, used = self._nodes.active, self._nodes.used
        nodes, hosted = active.sum(axis=1), used.sum(axis=1)
        idle, free = (active > used).sum(axis=1), nodes * self._nodes.slots - hosted
        numbers = zip(nodes.tolist(), idle.tolist(), free.tolist(), hosted.tolist(), strict=True)
        self.counts = {
            name: {"nodes": n, "idle": i, "free": f, "replicas": r, "requested": n}
            for name, (n, i, f, r) in zip(self._names, numbers, strict=True)
        }
        self.replicas = dict(zip(self._regions, self._nodes.replicas.tolist(), strict=True))
