"""The shape of the network of agents: its diameter, and a spanning tree of minimum height.

Both are computed once, when the application starts (game, Section 5.2), and exactly. Instead of a
search from every module, each search bounds how far every module is from its farthest one, until
the bounds leave no doubt; mostly a handful of searches is enough.

>>> chain = Topology.of({"a": ("b",), "b": ("a", "c"), "c": ("b", "d"), "d": ("c",)})
>>> chain.diameter, chain.height, chain.names[chain.root]
(3, 2, 'b')
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]

_SHALLOW: Final = 30
"""Times as many modules as hops from which a search by arrays is the faster one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Topology:
    """The undirected graph between agents, by number."""

    names: tuple[str, ...]
    starts: Indices
    """Where each agent's neighbours begin in `near`; the last one ends it."""
    near: Indices
    diameter: int
    root: int
    """The agent from which the farthest is nearest."""
    order: Indices
    """Agents from the root outwards."""
    parent: Indices
    """Of each agent in the tree; -1 for the root."""
    depth: Indices
    """Hops from the root to each agent."""
    height: int
    """Of the tree: hops from the root to the farthest agent."""

    @classmethod
    def of(cls, neighbours: Mapping[str, tuple[str, ...]]) -> Self:
        """Measure a connected graph."""
        number = {name: i for i, name in enumerate(neighbours)}
        near = [[number[other] for other in others] for others in neighbours.values()]
        starts = np.cumsum([0, *map(len, near)])
        flat = np.array([other for others in near for other in others], np.int64)
        diameter, depth = _measured(near, starts, flat)
        order = np.argsort(depth, kind="stable")
        return cls(
            names=tuple(neighbours),
            starts=starts,
            near=flat,
            diameter=diameter,
            root=int(order[0]),
            order=order,
            parent=_parents(starts, flat, depth),
            depth=depth,
            height=int(depth.max()),
        )

    @property
    def size(self) -> int:
        """How many agents there are."""
        return len(self.names)

    @property
    def links(self) -> int:
        """Messages if every agent writes to each neighbour once: twice the streams."""
        return len(self.near)

    @property
    def degrees(self) -> Indices:
        """How many neighbours each agent has."""
        return np.diff(self.starts)

    def leading_to(self, members: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The agents on the way between the root and a member, both included."""
        if members.all():
            return members
        leading = members.copy()
        leading[self.root] = True
        for i in self.order[:0:-1].tolist():
            if leading[i]:
                leading[self.parent[i]] = True
        return leading


def _measured(near: Sequence[Sequence[int]], starts: Indices, flat: Indices) -> tuple[int, Indices]:
    """The diameter, and the hops from a centre of the graph to each module.

    With `far` hops to the farthest from where a search began, a module `d` hops away has at least
    `max(d, far - d)` to its farthest and at most `far + d`; a twin, with the same neighbours, has
    exactly `far`. The most telling modules are searched from, until there is no doubt left.
    """
    size, degrees = len(near), np.diff(starts)
    seen: dict[frozenset[int], int] = {}
    twins = np.array([seen.setdefault(frozenset(others), len(seen)) for others in near])
    low, high = np.zeros(size, np.int64), np.full(size, 2 * size)
    far = size
    for turn in range(size + 1):
        widest, centre = _largest(high, degrees), _largest(-low, degrees)
        wide, narrow = high[widest] > low.max(), low[centre] < high.min()
        if not wide and not narrow:
            break
        here = widest if wide and (turn % 2 == 0 or not narrow) else centre
        shallow = _SHALLOW * far < size
        hops = _hops_by_level(starts, flat, here) if shallow else _hops(near, here)
        far, apart = int(hops.max()), np.where(twins == twins[here], 0, hops)
        low = np.maximum(low, np.maximum(apart, far - apart))
        high = np.minimum(high, far + apart)
    return int(low.max()), _hops(near, _largest(-high, degrees))


def _largest(values: Indices, degrees: Indices) -> int:
    """The module of the largest value; of several the first with the most neighbours."""
    best = np.flatnonzero(values == values.max())
    return int(best[degrees[best].argmax()])


def _hops(near: Sequence[Sequence[int]], root: int) -> Indices:
    """From the root to each module, by breadth-first search."""
    hops, reached = [-1] * len(near), [root]
    hops[root] = 0
    for here in reached:
        for other in near[here]:
            if hops[other] < 0:
                hops[other] = hops[here] + 1
                reached.append(other)
    return np.array(hops)


def _hops_by_level(starts: Indices, flat: Indices, root: int) -> Indices:
    """The same with arrays, all modules that are equally far at once."""
    hops, reached, far = np.full(len(starts) - 1, -1), np.array([root]), 0
    hops[root] = 0
    while reached.size:
        counts, far = starts[reached + 1] - starts[reached], far + 1
        ends = np.cumsum(counts)
        others = flat[np.repeat(starts[reached] - ends + counts, counts) + np.arange(ends[-1])]
        hops[others[hops[others] < 0]] = far
        reached = np.flatnonzero(hops == far)
    return hops


def _parents(starts: Indices, near: Indices, depth: Indices) -> Indices:
    """For each module a neighbour that is one hop nearer to the root; -1 for the root.

    Of several it is the one with the most neighbours, so that fewer have anything to pass on.
    """
    degrees = np.diff(starts)
    child = np.repeat(np.arange(len(depth)), degrees)
    nearer = np.flatnonzero(depth[near] == depth[child] - 1)
    rising = nearer[np.argsort(degrees[near[nearer]], kind="stable")]
    parent = np.full(len(depth), -1)
    parent[child[rising]] = near[rising]  # the last one stays
    return parent
