"""The best whole division of cores, found among all of them.

A sink that gets more than before does so because a module before it reached another whole core: so
only those levels of flow are worth trying. Pipelines have no module in common, so the best of each
is found for every number of cores it may get, and the cores are then packed as into a knapsack.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.policy.allocation.bounds import EXACTLY, Bounds
from penstock.policy.allocation.reach import Reach

MOST: Final = 300_000
"""Whole numbers that the combinations of levels in one pipeline may come to."""

Levels = list[NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class _Table:
    """The best that a group of sinks can be worth with each number of cores beyond the fewest."""

    modules: tuple[str, ...]
    values: NDArray[np.float64]
    divisions: NDArray[np.int64]


def pack(sinks: Sequence[Reach], bounds: Bounds) -> dict[str, int] | None:
    """The division worth most, with the fewest cores; None where there are too many to try.

    >>> fraud = Reach(sink="fraud", weight=5.0, unit={"read": 0.01, "match": 0.02}, most=90.0)
    >>> reports = Reach(sink="reports", weight=1.0, unit={"sum": 0.01}, most=1000.0)
    >>> one = dict.fromkeys(("read", "match", "sum"), 1)
    >>> pack([fraud, reports], Bounds(cores=6, low=one, high=dict.fromkeys(one, 8)))
    {'read': 1, 'match': 2, 'sum': 3}
    """
    groups = _groups(sinks)
    levels = [[_levels(sink, bounds) for sink in group] for group in groups]
    if max((_size(*pair) for pair in zip(groups, levels, strict=True)), default=0) > MOST:
        return None
    tables = [_table(group, at, bounds) for group, at in zip(groups, levels, strict=True)]
    best = dict(bounds.low)
    for table, cores in zip(tables, _packed(tables, bounds.room), strict=True):
        best |= zip(table.modules, table.divisions[cores].tolist(), strict=True)
    return best


def _size(group: Sequence[Reach], levels: Levels) -> int:
    return prod(at.size for at in levels) * len(_modules(group))


def _modules(group: Iterable[Reach]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for sink in group for name in sink.unit))


def _groups(sinks: Iterable[Reach]) -> list[list[Reach]]:
    """Sinks that have modules in common, together."""
    groups: list[list[Reach]] = []
    for sink in sinks:
        near = [group for group in groups if not sink.unit.keys().isdisjoint(_modules(group))]
        groups = [group for group in groups if group not in near]
        groups.append([*(other for group in near for other in group), sink])
    return groups


def _levels(sink: Reach, bounds: Bounds) -> NDArray[np.float64]:
    """Flow at a sink with each number of cores of each module before it, as far as it may go."""
    low, room = bounds.low, bounds.room
    tops = {name: min(bounds.high[name], low[name] + room) for name in sink.unit}
    steps = [np.arange(low[name], tops[name] + 1) / unit for name, unit in sink.unit.items()]
    least = min(low[name] / unit for name, unit in sink.unit.items())
    most = min(*(tops[name] / unit for name, unit in sink.unit.items()), sink.most)
    flows = np.unique(np.clip(np.concatenate(steps), min(least, most), most))
    return np.asarray(flows, dtype=np.float64)


def _table(group: Sequence[Reach], levels: Levels, bounds: Bounds) -> _Table:
    modules, room = _modules(group), bounds.room
    low = np.array([bounds.low[name] for name in modules])
    need, worth = _combined(group, levels, modules, low)
    spent = need.sum(axis=1) - low.sum()
    order = np.lexsort((-worth, spent))
    each, first = np.unique(spent[order], return_index=True)
    best_for = dict(zip(each.tolist(), order[first].tolist(), strict=True))
    chosen = [best_for[0]]  # the fewest cores of all are always among the combinations
    for cores in range(1, room + 1):
        other = best_for.get(cores, chosen[-1])
        better = worth[other] > worth[chosen[-1]] * (1 + EXACTLY)
        chosen.append(other if better else chosen[-1])
    return _Table(modules, worth[chosen], need[chosen])


def _combined(
    group: Sequence[Reach], levels: Levels, modules: Sequence[str], low: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Cores and worth of every combination of levels."""
    places = np.indices([at.size for at in levels]).reshape(len(levels), -1)
    need, worth = np.broadcast_to(low, (places.shape[1], low.size)), np.zeros(places.shape[1])
    for sink, at, place in zip(group, levels, places, strict=True):
        unit = np.array([sink.unit.get(name, 0.0) for name in modules])
        cores = np.ceil(np.outer(at, unit) * (1 - EXACTLY)).astype(np.int64)
        need = np.maximum(need, cores[place])
        worth += sink.weight * at[place]
    return need, worth


def _packed(tables: Sequence[_Table], room: int) -> list[int]:
    """Cores beyond the fewest for each group, so that all are worth most; the fewest such."""
    total, picks = np.zeros(room + 1), []
    for table in tables:
        ways = [total[cores::-1] + table.values[: cores + 1] for cores in range(room + 1)]
        picks.append([int(np.argmax(way)) for way in ways])
        total = np.array([way.max() for way in ways])
    left = int(np.searchsorted(total, total[-1] * (1 - EXACTLY)))
    given = []
    for pick in reversed(picks):
        given.append(pick[left])
        left -= pick[left]
    return given[::-1]
