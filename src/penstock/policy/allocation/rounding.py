"""Whole cores: the best division among modules that each keep their bounds.

Where all divisions that differ in what they bring can be tried, they are (`exact_division`). A sink
that gets more than before does so because a module before it reached another whole core, so only
those levels of flow are worth trying. Pipelines have no module in common, so the best of each is
found for every number of cores it may get, and the cores are then packed as into a knapsack.

Where there are too many, a real-valued division is improved step by step (`local_search`). A sink
is raised to one of its next levels by more cores for the modules that hold it back, and the level
that brings most for its cores comes first. When nothing more fits, each sink in turn is lowered, to
see whether others make more of the cores that this frees.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, prod
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.core.graph import FlowGraph
from penstock.policy.allocation.network import Network, busy_resource
from penstock.policy.allocation.single_output import SinkNeeds, sink_needs

EXACTLY: Final = 1e-12
"""Share by which a number may miss a whole one and still be taken for it."""

Cores = NDArray[np.int64]
Flows = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Cores to divide, and the fewest and the most of each module.

    >>> bounds = Bounds(cores=8, low={"a": 1, "b": 1}, high={"a": 4, "b": 20})
    >>> bounds.room, bounds.within({"a": 6.0, "b": 2.5}), bounds.admits({"a": 5, "b": 1})
    (6, {'a': 4, 'b': 2}, False)
    """

    cores: int
    low: Mapping[str, int]
    high: Mapping[str, int]

    @classmethod
    def of(cls, graph: FlowGraph, cores: int) -> "Bounds":
        """Those of the modules of a graph."""
        return cls(
            cores=cores,
            low={module.name: module.min_replicas for module in graph.modules},
            high={module.name: module.max_replicas for module in graph.modules},
        )

    @property
    def room(self) -> int:
        """Cores beyond the fewest of all modules."""
        return self.cores - sum(self.low.values())

    def within(self, resource: Mapping[str, float]) -> dict[str, int]:
        """Whole cores of each module, rounded down and moved into the bounds."""
        return {
            name: min(max(floor(resource.get(name, 0.0) * (1 + EXACTLY)), low), self.high[name])
            for name, low in self.low.items()
        }

    def admits(self, division: Mapping[str, int]) -> bool:
        """Whether a division of all modules keeps to the bounds and to the cores."""
        inside = all(low <= division[name] <= self.high[name] for name, low in self.low.items())
        return inside and sum(division.values()) <= self.cores


def whole_up(resource: float) -> int:
    """The fewest whole cores that hold so much.

    >>> whole_up(2.1), whole_up(3.0 * (1 + 1e-15))
    (3, 3)
    """
    return ceil(resource * (1 - EXACTLY))


def best_division(
    network: Network, bounds: Bounds, *, start: Callable[[], Mapping[str, float]]
) -> dict[str, int]:
    """The division of cores that brings most, and no core that brings nothing.

    `start` finds a real-valued division; it is called only where there are too many to try.

    >>> from penstock.policy.allocation.network import Inflow, Outflow
    >>> network = Network(
    ...     budget=8.0,
    ...     modules=("fraud", "reports"),
    ...     inflows=(
    ...         Inflow("f", "fraud", consumes=20.0, rate=70.0),
    ...         Inflow("r", "reports", consumes=50.0, rate=150.0),
    ...     ),
    ...     outflows=(
    ...         Outflow("f", "fraud", produces=20.0, weight=5.0),
    ...         Outflow("r", "reports", produces=50.0),
    ...     ),
    ... )
    >>> bounds = Bounds(cores=6, low={"fraud": 1, "reports": 1}, high={"fraud": 9, "reports": 9})
    >>> best_division(network, bounds, start=dict)
    {'fraud': 4, 'reports': 2}
    """
    sinks = sink_needs(network)
    best = exact_division(sinks, bounds)
    return local_search(sinks, bounds, start=start()) if best is None else best


def with_spare_cores(
    division: Mapping[str, int], network: Network, bounds: Bounds
) -> dict[str, int]:
    """The division with every core that was left, each given to the busiest module then.

    They bring nothing yet; a rise of load finds them where it would hurt first.
    """
    busy = busy_resource(network, division)
    left = bounds.cores - sum(division.values())
    return _given(division, bounds, left, lambda name, cores: -busy.get(name, 0.0) / cores)


def even_division(bounds: Bounds) -> dict[str, int]:
    """The cores in equal numbers, as far as the bounds allow: what fair sharing would give.

    >>> even_division(Bounds(cores=7, low={"a": 1, "b": 1, "c": 1}, high={"a": 1, "b": 9, "c": 9}))
    {'a': 1, 'b': 3, 'c': 3}
    """
    return _given(bounds.low, bounds, bounds.room, lambda _, cores: cores)


def _given(
    division: Mapping[str, int], bounds: Bounds, cores: int, rank: Callable[[str, int], float]
) -> dict[str, int]:
    """The division with more cores, one after the other to the module that ranks lowest then."""
    given = dict(division)
    for _ in range(cores):
        below = [name for name in given if given[name] < bounds.high[name]]
        if not below:
            break
        given[min(below, key=lambda name: rank(name, given[name]))] += 1
    return given


_LEVELS: Final = 6
"""By which a sink is raised or lowered at once, at most."""
_EXCHANGES: Final = 500
"""Tried before the division is taken as it is."""
_BEYOND: Final = 1e9
"""More cores than any cluster has."""


def local_search(
    sinks: Sequence[SinkNeeds], bounds: Bounds, *, start: Mapping[str, float]
) -> dict[str, int]:
    """The best division on the way from a real-valued one.

    >>> fraud = SinkNeeds(sink="fraud", weight=5.0, unit={"read": 0.01, "match": 0.02}, most=90.0)
    >>> reports = SinkNeeds(sink="reports", weight=1.0, unit={"sum": 0.01}, most=1000.0)
    >>> one = dict.fromkeys(("read", "match", "sum"), 1)
    >>> bounds = Bounds(cores=6, low=one, high=dict.fromkeys(one, 8))
    >>> local_search([fraud, reports], bounds, start={"read": 0.9, "match": 1.8, "sum": 3.3})
    {'read': 1, 'match': 2, 'sum': 3}
    """
    search = _LocalSearch(sinks, bounds)
    trimmed = search.needed(search.flows(_row(bounds.within(start))))
    filled = [search.filled(at) for at in (search.low, trimmed) if at.sum() <= bounds.cores]
    best = search.exchanged(max(filled, key=search.value))
    return dict(zip(bounds.low, best.tolist(), strict=True))


class _LocalSearch:
    """Divisions as rows of whole numbers, and what they are worth."""

    def __init__(self, sinks: Sequence[SinkNeeds], bounds: Bounds) -> None:
        self.low, self._high, self._total = _row(bounds.low), _row(bounds.high), bounds.cores
        self._unit = np.array([[sink.unit.get(name, 0.0) for name in bounds.low] for sink in sinks])
        with np.errstate(divide="ignore"):
            self._carried = 1.0 / self._unit
            """Flow to a sink that a core of a module carries; inf where it is not on the way."""
        self._most = np.array([sink.most for sink in sinks])
        self._weight = np.array([sink.weight for sink in sinks])

    def flows(self, division: Cores) -> Flows:
        """What each sink gets under a division, or under each of many."""
        carried = (division[..., None, :] * self._carried).min(axis=-1)
        return np.asarray(np.minimum(carried, self._most))

    def value(self, division: Cores) -> float:
        return float(self._weight @ self.flows(division))

    def needed(self, flows: Flows) -> Cores:
        """The fewest cores that bring so much."""
        return np.maximum(_up((flows[:, None] * self._unit).max(axis=0)), self.low)

    def filled(self, division: Cores) -> Cores:
        """Raise sinks, the most worthwhile first, while cores are left."""
        while (raised := self._raised(division)) is not None:
            division = raised
        return division

    def exchanged(self, division: Cores) -> Cores:
        """Lower one sink for others while that helps."""
        others, value = self._lowered(division), self.value(division)
        for _ in range(_EXCHANGES):
            other = next(others, None)
            if other is None:
                break
            other = self.filled(other)
            if self.value(other) > value * (1 + EXACTLY):
                division, value = other, self.value(other)
                others = self._lowered(division)
        return division

    def _raised(self, division: Cores) -> Cores | None:
        """The division with the sink raised that brings most for its cores; None where none can."""
        best, most = None, 0.0
        before, spent = self.value(division), division.sum()
        sinks, flow = np.tile(division, (self._most.size, 1)), self.flows(division)
        going = flow < self._most
        for _ in range(_LEVELS):
            sinks = np.maximum(sinks, self._above(flow))
            going &= (sinks.sum(axis=1) <= self._total) & (sinks <= self._high).all(axis=1)
            if not going.any():
                break
            reached = self.flows(sinks)
            gains = (reached @ self._weight - before) / np.maximum(sinks.sum(axis=1) - spent, 1)
            place = int(np.argmax(np.where(going, gains, -1.0)))
            if gains[place] > most:
                best, most = sinks[place], float(gains[place])
            flow = reached.diagonal()
            going &= flow < self._most
        return best

    def _above(self, flow: Flows) -> Cores:
        """For each sink, cores with which it gets the next flow that fills a core somewhere."""
        steps = np.floor(flow[:, None] * self._unit * (1 + EXACTLY)) + 1
        return _up((steps * self._carried).min(axis=1)[:, None] * self._unit)

    def _lowered(self, division: Cores) -> Iterator[Cores]:
        """The division with each sink on each lower level, a few at most, and on its lowest."""
        flows, least = self.flows(division), self.flows(self.low)
        for sink, lowest in enumerate(least):
            lower = flows.copy()
            for _ in range(_LEVELS):
                if lower[sink] <= lowest:
                    break
                lower[sink] = max(self._below(sink, lower[sink]), lowest)
                yield self.needed(lower)
            else:
                lower[sink] = lowest
                yield self.needed(lower)

    def _below(self, sink: int, flow: float) -> float:
        """The next lower flow to a sink that fills a core somewhere."""
        unit = self._unit[sink][self._unit[sink] > 0]
        return float(((np.ceil(flow * unit * (1 - EXACTLY)) - 1) / unit).max())


def _row(division: Mapping[str, int]) -> Cores:
    return np.array(list(division.values()), dtype=np.int64)


def _up(resource: Flows) -> Cores:
    """The fewest whole cores that hold so much, or more than there are."""
    return np.asarray(np.ceil(np.minimum(resource, _BEYOND) * (1 - EXACTLY)), dtype=np.int64)


MOST: Final = 300_000
"""Whole numbers that the combinations of levels in one pipeline may come to."""


class _Table(NamedTuple):
    """The best that a group of sinks can be worth with each number of cores beyond the fewest."""

    modules: tuple[str, ...]
    values: Flows
    divisions: Cores


def exact_division(sinks: Sequence[SinkNeeds], bounds: Bounds) -> dict[str, int] | None:
    """The division worth most, with the fewest cores; None where there are too many to try.

    >>> fraud = SinkNeeds(sink="fraud", weight=5.0, unit={"read": 0.01, "match": 0.02}, most=90.0)
    >>> reports = SinkNeeds(sink="reports", weight=1.0, unit={"sum": 0.01}, most=1000.0)
    >>> one = dict.fromkeys(("read", "match", "sum"), 1)
    >>> exact_division([fraud, reports], Bounds(cores=6, low=one, high=dict.fromkeys(one, 8)))
    {'read': 1, 'match': 2, 'sum': 3}
    """
    groups = [[(sink, _levels(sink, bounds)) for sink in group] for group in _groups(sinks)]
    for group in groups:
        modules = _modules(sink for sink, _ in group)
        if prod(levels.size for _, levels in group) * len(modules) > MOST:
            return None
    tables = [_table(group, bounds) for group in groups]
    best = dict(bounds.low)
    for table, cores in zip(tables, _packed(tables, bounds.room), strict=True):
        best |= zip(table.modules, table.divisions[cores].tolist(), strict=True)
    return best


def _modules(group: Iterable[SinkNeeds]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for sink in group for name in sink.unit))


def _groups(sinks: Iterable[SinkNeeds]) -> list[list[SinkNeeds]]:
    """Sinks that have modules in common, together."""
    groups: list[list[SinkNeeds]] = []
    for sink in sinks:
        near = [group for group in groups if not sink.unit.keys().isdisjoint(_modules(group))]
        groups = [group for group in groups if group not in near]
        groups.append([*(other for group in near for other in group), sink])
    return groups


def _levels(sink: SinkNeeds, bounds: Bounds) -> Flows:
    """Flow at a sink with each number of cores of each module before it, as far as it may go."""
    low, room = bounds.low, bounds.room
    tops = {name: min(bounds.high[name], low[name] + room) for name in sink.unit}
    steps = [np.arange(low[name], tops[name] + 1) / unit for name, unit in sink.unit.items()]
    least = min(low[name] / unit for name, unit in sink.unit.items())
    most = min(*(tops[name] / unit for name, unit in sink.unit.items()), sink.most)
    flows = np.unique(np.clip(np.concatenate(steps), min(least, most), most))
    return np.asarray(flows, dtype=np.float64)


def _table(group: Sequence[tuple[SinkNeeds, Flows]], bounds: Bounds) -> _Table:
    modules = _modules(sink for sink, _ in group)
    low = np.array([bounds.low[name] for name in modules])
    need, worth = _combined(group, modules, low)
    spent = need.sum(axis=1) - low.sum()
    order = np.lexsort((-worth, spent))
    each, first = np.unique(spent[order], return_index=True)
    best_for = dict(zip(each.tolist(), order[first].tolist(), strict=True))
    chosen = [best_for[0]]  # the fewest cores of all are always among the combinations
    for cores in range(1, bounds.room + 1):
        other = best_for.get(cores, chosen[-1])
        better = worth[other] > worth[chosen[-1]] * (1 + EXACTLY)
        chosen.append(other if better else chosen[-1])
    return _Table(modules, worth[chosen], need[chosen])


def _combined(
    group: Sequence[tuple[SinkNeeds, Flows]], modules: Sequence[str], low: Cores
) -> tuple[Cores, Flows]:
    """Cores and worth of every combination of levels."""
    places = np.indices([levels.size for _, levels in group]).reshape(len(group), -1)
    need, worth = np.broadcast_to(low, (places.shape[1], low.size)), np.zeros(places.shape[1])
    for (sink, levels), place in zip(group, places, strict=True):
        unit = np.array([sink.unit.get(name, 0.0) for name in modules])
        cores = np.ceil(np.outer(levels, unit) * (1 - EXACTLY)).astype(np.int64)
        need = np.maximum(need, cores[place])
        worth += sink.weight * levels[place]
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
