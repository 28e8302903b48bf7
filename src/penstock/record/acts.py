"""What each turn of the loop asked to change: degrees, the clock, who has which key, and nodes.

>>> from penstock.core.signals import Configuration, Decision, ModuleReading, Observation
>>> reading = ModuleReading(requested=2)
>>> seen = Observation(at=4.0, step=4.0, modules={"match": reading}, frequency=2.0)
>>> slower = Configuration(degrees={"match": 2}, frequency=1.9)
>>> decided = Decision(configuration=slower, why="2 -> 1.9 GHz")
>>> [act] = acts([Tick(seen=seen, decided=decided, asked=slower)])
>>> act.clock, dict(act.degrees), bool(act)
(Change(before=2.0, after=1.9), {}, True)
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from penstock.core.graph import FlowGraph
from penstock.core.signals import Observation, Tick, current


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A module's degree, a region's nodes or the GHz of the clock, before and after a decision."""

    before: float | None
    """None where it was not known."""
    after: float

    @property
    def grows(self) -> bool:
        """Whether there is more of it."""
        return self.before is not None and self.after > self.before

    @property
    def shrinks(self) -> bool:
        """Whether there is less of it."""
        return self.before is not None and self.after < self.before

    @property
    def direction(self) -> str:
        """`out` for more, `in` for less, `set` where what was before is unknown."""
        if self.grows:
            return "out"
        return "in" if self.shrinks else "set"


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """What one turn asked for; a hold asks for nothing and is false."""

    degrees: Mapping[str, Change] = field(default_factory=dict)
    """By module, those that change."""
    clock: Change | None = None
    rerouted: tuple[str, ...] = ()
    """Modules of which keys change hands while all else stays."""
    nodes: Mapping[str, Change] = field(default_factory=dict)
    """By region, those that change."""

    def __bool__(self) -> bool:
        return self.reconfigures or bool(self.nodes)

    @property
    def reconfigures(self) -> bool:
        """Whether the application is changed, and not only the nodes below it."""
        return bool(self.degrees or self.clock or self.rerouted)

    @property
    def grows(self) -> bool:
        """Whether some module gets more executors."""
        return any(change.grows for change in self.degrees.values())

    @property
    def shrinks(self) -> bool:
        """Whether some module loses executors; one act may do both."""
        return any(change.shrinks for change in self.degrees.values())


def acts(ticks: Iterable[Tick], graph: FlowGraph | None = None) -> Iterator[Act]:
    """What each tick asked the plant to change, one for one as they come."""
    return map(ActReader(graph), ticks)


class ActReader:
    """Reads from one tick after the other what it asked the plant to change.

    What was before is what was last asked for, or what the plant reports before any asking; of
    nodes what it reports comes first, because some fail and are asked for again. Routing tables are
    not recorded: an ask that changes nothing else is one, where the graph has keys.
    """

    def __init__(self, graph: FlowGraph | None = None) -> None:
        self._keyed = tuple(module.name for module in graph.modules if module.keys) if graph else ()
        self._degrees: dict[str, int] = {}
        self._nodes: dict[str, int] = {}
        self._clock: float | None = None

    def __call__(self, tick: Tick) -> Act:
        """What the next tick asked for."""
        asked = tick.asked
        if asked is None:
            return Act()
        degrees = _changed({**current(tick.seen).degrees, **self._degrees}, asked.degrees)
        nodes = _changed(nodes_in_force(tick.seen, self._nodes), asked.nodes)
        before = self._clock or tick.seen.frequency
        clock = None
        if asked.frequency not in (None, before):
            clock = Change(before=before, after=asked.frequency)
        self._degrees.update(asked.degrees)
        self._nodes.update(asked.nodes)
        self._clock = asked.frequency or self._clock
        rerouted = () if degrees or clock or nodes else self._keyed
        return Act(degrees=degrees, clock=clock, rerouted=rerouted, nodes=nodes)


def nodes_in_force(seen: Observation, asked: Mapping[str, int] | None = None) -> dict[str, int]:
    """Nodes of each region, those to come included, where that is known.

    `asked` is what was last asked for; what a region says of that itself comes before it.

    >>> from penstock.core.signals import RegionReading
    >>> regions = {"dc1": RegionReading(nodes=2, requested=3), "dc2": RegionReading()}
    >>> seen = Observation(at=1, step=1, modules={}, regions=regions)
    >>> nodes_in_force(seen), nodes_in_force(seen, {"dc1": 9, "dc2": 4})
    ({'dc1': 3}, {'dc1': 3, 'dc2': 4})
    """
    last = asked or {}
    counts = {
        name: (region.requested, last.get(name), region.wanted, region.nodes)
        for name, region in seen.regions.items()
    }
    known = {name: [n for n in numbers if n is not None] for name, numbers in counts.items()}
    return {**last, **{name: numbers[0] for name, numbers in known.items() if numbers}}


def _changed(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, Change]:
    return {
        name: Change(before=before.get(name), after=degree)
        for name, degree in after.items()
        if before.get(name) != degree
    }
