"""The shape of the network of agents: its diameter, and a spanning tree of minimum height.

Both are computed once, when the application starts (game, Section 5.2), and exactly. Instead of a
search from every module, each search bounds how far every module is from its farthest one, until
the bounds leave no doubt; mostly a handful of searches is enough.

>>> chain = Topology.of({"a": ("b",), "b": ("a", "c"), "c": ("b", "d"), "d": ("c",)})
>>> chain.diameter, chain.height, chain.names[chain.root]
(3, 2, 'b')
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

# How far apart the modules of a graph are, by few breadth-first searches.
#
# The code runs on lists as it is, and on arrays once compiled.


def measure(
    starts: Any, near: Any, twins: Any, low: Any, high: Any, hops: Any, order: Any, searches: int
) -> bool:
    """Bound every module's hops to the farthest from it, searching from the most telling ones.

    With `far` hops to the farthest from where a search began, a module `d` hops away has at least
    `max(d, far - d)` and at most `far + d`; a twin, with the same neighbours, has exactly `far`.

    Returns whether so many searches left no doubt about the largest and the smallest number. If so,
    `hops` and `order` are those of a search from a centre, which has the smallest.
    """

    def search(root: int) -> int:
        for i in range(len(hops)):
            hops[i] = -1
        hops[root] = 0
        order[0] = root
        done, reached = 0, 1
        while done < reached:
            here = order[done]
            done += 1
            for k in range(starts[here], starts[here + 1]):
                other = near[k]
                if hops[other] < 0:
                    hops[other] = hops[here] + 1
                    order[reached] = other
                    reached += 1
        return hops[order[reached - 1]]  # type: ignore[no-any-return]  # lists and arrays alike

    def crowd(i: int) -> int:
        return starts[i + 1] - starts[i]  # type: ignore[no-any-return]

    for turn in range(searches + 1):
        widest, centre, least, most = 0, 0, 0, 0
        for i in range(len(low)):
            if low[i] > low[most]:
                most = i
            if high[i] < high[least] or (high[i] == high[least] and crowd(i) > crowd(least)):
                least = i
            if high[i] > high[widest] or (high[i] == high[widest] and crowd(i) > crowd(widest)):
                widest = i
            if low[i] < low[centre] or (low[i] == low[centre] and crowd(i) > crowd(centre)):
                centre = i
        wide, narrow = high[widest] > low[most], low[centre] < high[least]
        if not wide and not narrow:
            search(least)
            return True
        here = widest if wide and (turn % 2 == 0 or not narrow) else centre
        far = search(here)
        for i in range(len(low)):
            d = 0 if twins[i] == twins[here] else hops[i]
            low[i] = max(low[i], d, far - d)
            high[i] = min(high[i], far + d)
    return False


@cache
def compiled() -> Callable[..., bool]:
    """The same as machine code, kept on disk where there is a folder for it, if there is numba."""
    try:
        from numba import njit  # slow to import, and small graphs never need it
    except ImportError:
        return measure
    try:
        made: Callable[..., bool] = njit(cache=True)(measure)
    except RuntimeError:
        made = njit(measure)
    return made


Indices = NDArray[np.int64]

_PATIENCE: Final = 200_000
"""Modules that are visited in plain Python before it pays to compile the search."""


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
        names = tuple(neighbours)
        number = {name: i for i, name in enumerate(names)}
        near = np.array([number[o] for others in neighbours.values() for o in others], np.int64)
        starts = np.cumsum([0, *(len(others) for others in neighbours.values())])
        diameter, depth, order = _measured(starts, near, _twins(neighbours))
        return cls(
            names=names,
            starts=starts,
            near=near,
            diameter=diameter,
            root=int(order[0]),
            order=order,
            parent=_parents(starts, near, depth),
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


def _measured(starts: Indices, near: Indices, twins: Indices) -> tuple[int, Indices, Indices]:
    """The diameter, the hops from a centre to each module, and the modules in that order."""
    size = len(starts) - 1
    low, high = np.zeros(size, np.int64), np.full(size, 2 * size)
    hops, order = np.zeros(size, np.int64), np.zeros(size, np.int64)
    arrays = starts, near, twins, low, high, hops, order
    lists = tuple(array.tolist() for array in arrays)
    code: Callable[..., bool] = measure
    if code(*lists, max(_PATIENCE // size, 1)):
        _, _, _, low, _, hops, order = (np.array(filled) for filled in lists)
    else:
        compiled()(*arrays, size)
    return int(low.max()), hops, order


def _twins(neighbours: Mapping[str, tuple[str, ...]]) -> Indices:
    """The same number for modules with the same neighbours: they are equally far from all."""
    seen: dict[frozenset[str], int] = {}
    return np.array([seen.setdefault(frozenset(n), len(seen)) for n in neighbours.values()])


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
