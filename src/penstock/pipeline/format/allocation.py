"""A graph file with joint inputs and a budget, for dividing a resource among modules.

Its streams say how much flow a unit of resource consumes and produces at either end; it can be
planned, and neither run nor simulated.

>>> from penstock.core.located import read
>>> text = '''
... budget: 2
... sources: {s: {rate: 3, to: a}}
... modules: {a: {}}
... streams: [{from: s, to: a, consumes: 0.5}]
... sinks: {o: {from: a, produces: 0.9}}
... '''
>>> graph = read_allocation(read(text, name="job.yaml"))
>>> graph.network.budget, graph.network.inflows[0].rate, graph.policy.name
(2.0, 3.0, 'cutting-plane')
>>> draft = read(text.replace("0.5", "lots").replace("to: a}}", "to: b}}"), name="job.yaml")
>>> read_allocation(draft)
>>> for mistake in draft.mistakes:
...     print(mistake)
job.yaml, line 5: consumes of stream s -> a must be a number, got 'lots'
job.yaml, line 3: there is no module 'b'; there are a
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf, nan
from typing import Annotated, Any, Final, TypeVar

from penstock.core.errors import SettingError
from penstock.core.graph import cycles, in_a_cycle
from penstock.core.located import Draft, Path
from penstock.core.schema import IN_FILE, Bounds, Like, Matches, Positive, Written
from penstock.core.schema import read as read_value
from penstock.core.settings import decode, near, settings_of
from penstock.core.units import parse_rate
from penstock.pipeline.format.sections import ByName, Sections, read_sections
from penstock.pipeline.settings import Part
from penstock.policy.allocation import PLANNERS
from penstock.policy.allocation.network import Inflow, Link, Network, Outflow
from penstock.policy.allocation.shrink import tree_nodes
from penstock.policy.allocation.single_output import only_sink

T = TypeVar("T")


def _flow(value: object) -> object:
    """A number, also as a rate with its unit."""
    is_rate = isinstance(value, str) and "/" in value
    return parse_rate(value) if is_rate else read_value(float, value)


Flow = Annotated[float, Written("a number", _flow), Bounds(above=0, endless=True)]
"""Flow a second, which may be endless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where flow comes from."""

    to: str
    rate: Flow = inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """What joins a source and a module, or two modules: flow per unit of resource at either end."""

    from_: str
    to: str
    produces: Positive | None = None
    consumes: Positive | None = None

    def __str__(self) -> str:
        return f"stream {self.from_} -> {self.to}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """Where flow leaves, and what a unit of it is worth."""

    from_: str
    produces: Positive
    weight: Positive = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A module, which has no settings here."""


BEST: Final = "cutting-plane"
"""The policy that divides unless another is named."""
_POLICY: Final = "policy of allocation graphs"
_NAME = Annotated[str, Matches(r"(?!\s*$)[^\x00-\x1f\x7f-\x9f]+", "a printable text")]


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What is divided."""

    budget: Positive = 1.0
    """Resource to divide."""


@dataclass(frozen=True, kw_only=True)
class AllocationSections(Budget, Sections):
    """A graph with a budget, which can be planned and neither run nor simulated."""

    policy: Annotated[object, ByName(PLANNERS, BEST, of=_POLICY, default=BEST)] = BEST
    """What divides it."""
    sources: Annotated[Mapping[_NAME, Annotated[Source, Like("{to: a}")]], Like("{s: {to: a}}")]
    """Where flow comes from, by name."""
    modules: Annotated[Mapping[_NAME, Annotated[Share, Like("{}")]], Like("{a: {}}")]
    """The modules by name; they have no settings here."""
    streams: Annotated[tuple[Stream, ...], Like("[{from: s, to: a, consumes: 0.3}]")]
    """What a unit of resource consumes and produces at either end."""
    sinks: Annotated[
        Mapping[_NAME, Annotated[Sink, Like("{from: a, produces: 0.9}")]],
        Like("{o: {from: a, produces: 0.9}}"),
    ]
    """Where flow leaves, by name."""


_RULES: Final = {
    ("sources", "to"): "a source feeds a module",
    ("sinks", "from"): "a sink takes from a module",
    ("streams", "from"): "a stream leads from a source or from a module",
    ("streams", "to"): "a stream leads to a module, and a sink names its own under `from`",
}
"""What may stand at each end."""

_SUITS: Final[dict[str, Callable[[Network], object]]] = {
    "shrink": tree_nodes,
    "single-output": only_sink,
}
"""Of policies that suit some networks only, what raises an error for others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationGraph:
    """What an allocation graph says: the network, and which policy divides its budget."""

    network: Network
    policy: Part


def is_allocation(value: Mapping[str, Any]) -> bool:
    """Whether a file divides a budget rather than describing replicas.

    >>> is_allocation({"budget": 1.0, "modules": {"a": {}}})
    True
    """
    return any(key in value for key in ("budget", "sources", "sinks"))


def read_allocation(draft: Draft) -> AllocationGraph | None:
    """The graph, with every mistake of it written down; None where there are any."""
    of, called = "an allocation graph", "the allocation graph"
    read = read_sections(draft, AllocationSections, of=of, called=called)
    if read.policy is not None:
        _check_policy(draft, read.policy)
    shape = Shape(
        sources=_parts(draft, "sources", read.sources, Source),
        modules=read.modules or {},
        streams=_parts(draft, "streams", dict(enumerate(read.streams or ())), Stream),
        sinks=_parts(draft, "sinks", read.sinks, Sink),
    )
    for path, mistake in list(shape.mistakes()) if shape.modules else ():
        draft.note(path, mistake)
    if draft.mistakes:
        return None
    network = shape.network(read.budget)
    try:
        _SUITS.get(read.policy.name, bool)(network)
    except SettingError as error:
        draft.note(("policy",), str(error))
        return None
    return AllocationGraph(network=network, policy=read.policy)


def _check_policy(draft: Draft, part: Part) -> None:
    planner, of, fixed = PLANNERS[part.name], f"policy {part.name}", {"network": ...}
    for path, mistake in decode(planner, part.settings, of=of, fixed=fixed, where=IN_FILE)[1]:
        draft.note(("policy", *path), mistake)


def _parts(
    draft: Draft, section: str, read: Mapping[Any, T | None] | None, part: type[T]
) -> dict[Any, T | None]:
    """The parts of a section; None where it is unknown what one joins.

    Where only amounts are wrong, a part without them stands in for it, so that the mistake is not
    followed by others.
    """
    return {
        key: made or _stand_in(draft, (section, key), part) for key, made in (read or {}).items()
    }


def _stand_in(draft: Draft, path: Path, part: type[T]) -> T | None:
    known = {setting.outer: setting for setting in settings_of(part)}
    ends = {known[end].name: draft.at((*path, end)) for end in ("from", "to") if end in known}
    if any(end is None or isinstance(end, dict | list) for end in ends.values()):
        return None
    given = {o for o, s in known.items() if s.required or draft.at((*path, o)) is not None}
    amounts = {s.name: nan for o, s in known.items() if o in given or draft.doubts((*path, o))}
    return part(**amounts | {name: str(end) for name, end in ends.items()})


Mistake = tuple[Path, str]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How the parts that could be read fit together, by name; streams by position in the file.

    A source feeds the one module that its `to` names, by a stream that says how much that module
    consumes of it; a source has no resource, so that such a stream produces nothing. A stream
    between modules says both. Every module is fed by something.
    """

    modules: Collection[str]
    sources: Mapping[str, Source | None]
    sinks: Mapping[str, Sink | None]
    streams: Mapping[int, Stream | None]

    @cached_property
    def links(self) -> dict[int, Stream]:
        """Streams between two modules."""
        return self._from(self.modules)

    @cached_property
    def feeds(self) -> dict[int, Stream]:
        """Streams from a source to a module."""
        return self._from(self.sources)

    def _from(self, names: Collection[str]) -> dict[int, Stream]:
        streams = ((i, s) for i, s in self.streams.items() if s and s.to in self.modules)
        return {i: s for i, s in streams if s.from_ in names and s.from_ not in self.ambiguous}

    @property
    def ambiguous(self) -> set[str]:
        """Names that a source and a module have both."""
        return set(self.sources).intersection(self.modules)

    def network(self, budget: float) -> Network:
        """The network of parts that fit together, each with all its amounts."""
        rates = {name: source.rate for name, source in self.sources.items() if source}
        sinks = {name: sink for name, sink in self.sinks.items() if sink}
        return Network(
            budget=budget,
            modules=tuple(self.modules),
            inflows=tuple(
                Inflow(s.from_, s.to, consumes=s.consumes or nan, rate=rates[s.from_])
                for s in self.feeds.values()
            ),
            links=tuple(
                Link(s.from_, s.to, produces=s.produces or nan, consumes=s.consumes or nan)
                for s in self.links.values()
            ),
            outflows=tuple(
                Outflow(name, sink.from_, produces=sink.produces, weight=sink.weight)
                for name, sink in sinks.items()
            ),
        )

    def mistakes(self) -> Iterator[Mistake]:
        """Whatever does not fit together, and nothing that only follows from it."""
        yield from self._names()
        wrong_ends = list(self._ends())
        yield from wrong_ends
        yield from self._pairs()
        yield from self._amounts()
        links = {(s.from_, s.to): i for i, s in self.links.items() if s.from_ != s.to}
        for path, last in cycles(links):
            yield ("streams", links[last]), f"{in_a_cycle(path)}; remove one of them"
        parts = (*self.sources.values(), *self.streams.values())
        sure = self.sources and self.streams and None not in parts
        if sure and not wrong_ends and not self.ambiguous:
            yield from self._unfed()

    def _names(self) -> Iterator[Mistake]:
        taken = dict.fromkeys(self.modules, "module")
        for section, names in (("sources", self.sources), ("sinks", self.sinks)):
            for name in names:
                if name in taken:
                    remedy = f"give the {section[:-1]} another name"
                    yield (section, name), f"there is a {taken[name]} {name} already; {remedy}"
                taken.setdefault(name, section[:-1])

    def _ends(self) -> Iterator[Mistake]:
        ends: list[tuple[Path, str]] = []
        ends += [(("sources", n, "to"), s.to) for n, s in self.sources.items() if s]
        ends += [(("sinks", n, "from"), s.from_) for n, s in self.sinks.items() if s]
        for i, stream in self.streams.items():
            if stream and self.sources and stream.from_ not in self.sources:
                ends.append((("streams", i, "from"), stream.from_))
            if stream:
                ends.append((("streams", i, "to"), stream.to))
        for path, name in ends:
            if name not in self.modules:
                yield path, self._no_module(path, name)

    def _no_module(self, path: Path, name: str) -> str:
        for sort, names in (("source", self.sources), ("sink", self.sinks)):
            if name in names:
                return f"{name} is a {sort}; {_RULES[str(path[0]), str(path[-1])]}"
        return f"there is no module {name!r}{near(name, self.modules)}"

    def _pairs(self) -> Iterator[Mistake]:
        seen = set()
        for i, stream in self.streams.items():
            if stream is None:
                continue
            if (stream.from_, stream.to) in seen:
                yield ("streams", i), f"{stream} is given twice; remove one of them"
            elif stream.from_ == stream.to:
                yield ("streams", i), f"{stream} leads back to where it begins; remove it"
            seen.add((stream.from_, stream.to))

    def _amounts(self) -> Iterator[Mistake]:
        for i, stream in self.feeds.items():
            source = self.sources[stream.from_]
            if source and source.to != stream.to and source.to in self.modules:
                remedy = f"source {stream.from_} says `to: {source.to}`; make them agree"
                yield ("streams", i, "to"), f"{stream} leads elsewhere than {remedy}"
            if stream.produces is not None:
                reason = "comes from a source, which has no resource; leave produces out"
                yield ("streams", i, "produces"), f"{stream} {reason}"
        for i, stream in self.links.items():
            if stream.produces is None:
                produced = f"of {stream.from_} produces for {stream.to}"
                meaning = f"the flow that a unit of resource {produced}"
                yield ("streams", i), f"{stream} needs produces, {meaning}"
        for i, stream in {**self.feeds, **self.links}.items():
            if stream.consumes is None:
                meaning = f"the flow that a unit of resource of {stream.to} takes from"
                yield ("streams", i), f"{stream} needs consumes, {meaning} {stream.from_}"

    def _unfed(self) -> Iterator[Mistake]:
        leaving = {stream.from_ for stream in self.feeds.values()}
        sources = {name: source for name, source in self.sources.items() if source}
        for name, source in sources.items():
            if name not in leaving:
                remedy = f"add {{from: {name}, to: {source.to}, consumes: 1.0}} to streams"
                yield ("sources", name), f"no stream leaves source {name}; {remedy}"
        fed = {source.to for source in sources.values()}
        fed |= {stream.to for stream in (*self.feeds.values(), *self.links.values())}
        for name in self.modules:
            if name not in fed:
                remedy = "add a source for it, or a stream from another module"
                yield ("modules", name), f"nothing feeds module {name}; {remedy}"
