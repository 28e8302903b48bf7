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

Parts of an allocation graph as they are written, with their amounts checked.

>>> from penstock.core.located import read
>>> draft = read("{from: a, to: b, produces: -1, consumes: lots}", name="job.yaml")
>>> read_part(draft, (), draft.value, Stream, of="stream a -> b").to
'b'
>>> for mistake in draft.mistakes:
...     print(mistake)
job.yaml, line 1: produces of stream a -> b must be above 0, got -1
job.yaml, line 1: consumes of stream a -> b must be a number, got 'lots'

The policy that divides the budget of an allocation graph, and what can be set about it.

>>> from penstock.core.located import read
>>> draft = read("policy: {name: cutting-plane, tolerance: 0.01}", name="job.yaml")
>>> read_planner(draft)
Part(name='cutting-plane', settings={'tolerance': 0.01})

How the parts of an allocation graph fit together: names, ends, amounts at each end, cycles.

A source feeds the one module that its `to` names, by a stream that says how much that module
consumes of it; a source has no resource, so that such a stream produces nothing. A stream between
modules says both. Every module is fed by something, else its output would come from nowhere.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from inspect import signature
from itertools import islice, pairwise
from math import inf, nan
from typing import Annotated, Any, Final, TypeVar

from penstock.core.errors import SettingError
from penstock.core.located import Draft, Path
from penstock.core.schema import Bounds, Positive, Written
from penstock.core.schema import read as read_value
from penstock.core.settings import missing_settings, near
from penstock.core.units import parse_rate
from penstock.pipeline.format.sections import assemble, check_keys, kind, mapping, sequence
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
class Budget:
    """Resource to divide."""

    budget: Positive = 1.0


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

    def as_inflow(self, rate: float) -> Inflow:
        """What a source gives a module."""
        return Inflow(name=self.from_, target=self.to, consumes=_given(self.consumes), rate=rate)

    def as_link(self) -> Link:
        """What a module gives another."""
        produces, consumes = _given(self.produces), _given(self.consumes)
        return Link(origin=self.from_, target=self.to, produces=produces, consumes=consumes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """Where flow leaves, and what a unit of it is worth."""

    from_: str
    produces: Positive
    weight: Positive = 1.0

    def as_outflow(self, name: str) -> Outflow:
        """What a module gives the sink."""
        return Outflow(name=name, origin=self.from_, produces=self.produces, weight=self.weight)


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A module, which has no settings here."""


def read_part(
    draft: Draft, path: Path, given: Mapping[str, Any], part: type[T], *, of: str
) -> T | None:
    """A part, with its mistakes noted; None where it is unknown what it joins."""
    return assemble(draft, path, given, part, of=of) or _stand_in(given, part)


def _stand_in(given: Mapping[str, Any], part: type[T]) -> T | None:
    """A part in place of one whose amounts are wrong, so that this is not followed by others."""
    known = {name.rstrip("_"): name for name in (f.name for f in fields(part))}  # type: ignore[arg-type]  # a part is a dataclass
    ends = {known[key]: given.get(key) for key in ("from", "to") if key in known}
    if not ends or not all(isinstance(end, str) for end in ends.values()):
        return None
    if not given.keys() <= known.keys() or missing_settings(part, map(known.__getitem__, given)):
        return None
    amounts = {known[key]: nan for key in given if known[key] not in ends}
    return part(**ends, **amounts)


def _given(value: float | None) -> float:
    return nan if value is None else value  # which no network takes


_ANY: Final = Network(
    budget=1.0,
    modules=("any",),
    inflows=(Inflow(name="from", target="any", consumes=1.0),),
    outflows=(Outflow(name="to", origin="any", produces=1.0),),
)
"""One that every planner can do with."""

BEST: Final = "cutting-plane"
"""Which divides where nothing else is asked for."""


def read_planner(draft: Draft) -> Part:
    """`policy`: a name, or a mapping with the name and its settings."""
    given = draft.at(("policy",))
    if given is None:
        return Part(BEST)
    if isinstance(given, str):
        given = {"name": given}
    if not isinstance(given, dict):
        draft.note(("policy",), f"policy must be written as {BEST}, got {kind(given)}")
        return Part(BEST)
    name = str(given.get("name", BEST))
    planner = _planner(draft, name)
    settings = {key: value for key, value in given.items() if key != "name"}
    if planner is None:
        return Part(name)
    read = _read_settings(draft, name, settings, planner)
    _try(draft, name, read)
    return Part(name, read)


def _try(draft: Draft, name: str, settings: Mapping[str, Any]) -> None:
    """Write down the setting that a planner refuses, whatever the network."""
    if not settings:
        return
    try:
        PLANNERS[name](_ANY, **settings)
    except SettingError as error:
        blamed = next((key for key in settings if key in str(error)), "name")
        draft.note(("policy", blamed), f"{error} (policy {name})")


def check_suits(draft: Draft, network: Network, part: Part) -> None:
    """Note why a policy cannot divide the budget of this network, where that is quick to check."""
    checks: Mapping[str, Callable[[Network], object]] = {
        "shrink": tree_nodes,
        "single-output": only_sink,
    }
    if part.name not in checks:
        return
    try:
        checks[part.name](network)
    except SettingError as error:
        draft.note(("policy",), str(error))


def _planner(draft: Draft, name: str) -> Callable[..., Any] | None:
    if name not in PLANNERS:
        sentence = f"policy {name!r} does not divide the budget of an allocation graph"
        draft.note(("policy", "name"), f"{sentence}{near(name, PLANNERS)}")
    return PLANNERS.get(name)


def _read_settings(
    draft: Draft, policy: str, given: Mapping[str, Any], planner: Callable[..., Any]
) -> dict[str, Any]:
    known = settings_of(planner)
    read: dict[str, Any] = {}
    for key, value in given.items():
        if key not in known:
            draft.note(("policy", key), f"policy {policy} has no setting {key!r}{near(key, known)}")
            continue
        try:
            read[key] = read_value(known[key], value, what=f"{key} of policy {policy}")
        except SettingError as error:
            draft.note(("policy", key, *error.path), str(error))
    return read


def settings_of(planner: Callable[..., Any]) -> dict[str, type]:
    """What can be set about a planner, with its type: its keywords with a default."""
    parameters = signature(planner).parameters.values()
    return {p.name: type(p.default) for p in parameters if p.kind is p.KEYWORD_ONLY}


_MOST_COMPARED: Final = 200
"""Names that a misspelt one is compared with; with more, the many mistakes of a file take long."""

_MOST_CYCLES: Final = 10
"""Cycles reported at once; each takes a search of the whole graph."""

_RULES: Final = {
    ("sources", "to"): "a source feeds a module",
    ("sinks", "from"): "a sink takes from a module",
    ("streams", "from"): "a stream leads from a source or from a module",
    ("streams", "to"): "a stream leads to a module, and a sink names its own under `from`",
}
"""What may stand at each end."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The parts that could be read, by name; streams by their position in the file."""

    modules: Collection[str]
    sources: Mapping[str, Source | None]
    sinks: Mapping[str, Sink | None]
    streams: Mapping[int, Stream | None]

    @cached_property
    def links(self) -> dict[int, Stream]:
        """Streams between two modules."""
        return {i: s for i, s in self._sound() if s.from_ in self.modules}

    @cached_property
    def feeds(self) -> dict[int, Stream]:
        """Streams from a source to a module."""
        return {i: s for i, s in self._sound() if s.from_ in self.sources}

    def _sound(self) -> Iterator[tuple[int, Stream]]:
        return ((i, s) for i, s in self.streams.items() if s and s.to in self.modules)

    def whole(self) -> bool:
        """Whether every part could be read."""
        parts = (*self.sources.values(), *self.sinks.values(), *self.streams.values())
        return None not in parts

    def sort(self, name: str) -> str | None:
        """What else than a module a name belongs to."""
        return "source" if name in self.sources else "sink" if name in self.sinks else None


def check_shape(draft: Draft, shape: Shape) -> None:
    """Write down whatever does not fit together, and nothing that only follows from it."""
    _check_names(draft, shape)
    before = len(draft.mistakes)
    _check_ends(draft, shape)
    sound = len(draft.mistakes) == before and shape.whole()
    _check_pairs(draft, shape)
    for i, stream in shape.feeds.items():
        _check_feed(draft, ("streams", i), stream, shape.sources[stream.from_])
    for i, stream in shape.links.items():
        _check_link(draft, ("streams", i), stream)
    for i, cycle in islice(_cycles(shape), _MOST_CYCLES):
        draft.note(("streams", i), f"the streams form a cycle: {cycle}; remove one of them")
    if sound:
        _check_fed(draft, shape)
        _check_reached(draft, shape)


def _check_names(draft: Draft, shape: Shape) -> None:
    taken = dict.fromkeys(shape.modules, "module")
    for section, names in (("sources", shape.sources), ("sinks", shape.sinks)):
        for name in names:
            sort = section[:-1]
            if name in taken:
                sentence = f"there is a {taken[name]} {name} already; give the {sort} another name"
                draft.note((section, name), sentence)
            taken.setdefault(name, sort)


def _check_ends(draft: Draft, shape: Shape) -> None:
    for name, source in shape.sources.items():
        if source:
            _check_end(draft, ("sources", name, "to"), source.to, shape)
    for name, sink in shape.sinks.items():
        if sink:
            _check_end(draft, ("sinks", name, "from"), sink.from_, shape)
    for i, stream in shape.streams.items():
        if stream and stream.from_ not in shape.sources:
            _check_end(draft, ("streams", i, "from"), stream.from_, shape)
        if stream:
            _check_end(draft, ("streams", i, "to"), stream.to, shape)


def _check_end(draft: Draft, path: Path, name: str, shape: Shape) -> None:
    if name in shape.modules:
        return
    sort = shape.sort(name)
    rule = _RULES[str(path[0]), str(path[-1])]
    draft.note(path, f"{name} is a {sort}; {rule}" if sort else _no_module(name, shape.modules))


def _no_module(name: str, modules: Collection[str]) -> str:
    if len(modules) > _MOST_COMPARED:
        return f"there is no module {name!r} among the {len(modules)} of the file"
    return f"there is no module {name!r}{near(name, modules)}"


def _check_pairs(draft: Draft, shape: Shape) -> None:
    seen = set()
    for i, stream in shape.streams.items():
        if stream is None:
            continue
        if (stream.from_, stream.to) in seen:
            draft.note(("streams", i), f"{stream} is given twice; remove one of them")
        elif stream.from_ == stream.to:
            draft.note(("streams", i), f"{stream} leads back to where it begins; remove it")
        seen.add((stream.from_, stream.to))


def _check_feed(draft: Draft, path: Path, stream: Stream, source: Source | None) -> None:
    if source and source.to != stream.to:
        remedy = f"source {stream.from_} says `to: {source.to}`; make them agree"
        draft.note((*path, "to"), f"{stream} leads elsewhere than {remedy}")
    if stream.produces is not None:
        reason = "comes from a source, which has no resource; leave produces out"
        draft.note((*path, "produces"), f"{stream} {reason}")
    _check_consumes(draft, path, stream)


def _check_link(draft: Draft, path: Path, stream: Stream) -> None:
    if stream.produces is None:
        meaning = f"the flow that a unit of resource of {stream.from_} produces for {stream.to}"
        draft.note(path, f"{stream} needs produces, {meaning}")
    _check_consumes(draft, path, stream)


def _check_consumes(draft: Draft, path: Path, stream: Stream) -> None:
    if stream.consumes is None:
        meaning = f"the flow that a unit of resource of {stream.to} takes from {stream.from_}"
        draft.note(path, f"{stream} needs consumes, {meaning}")


def _cycles(shape: Shape) -> Iterator[tuple[int, str]]:
    """Cycles with no stream in common, each with the position of its last stream in the file."""
    left = {(s.from_, s.to): i for i, s in shape.links.items() if s.from_ != s.to}
    while path := _cycle(left):
        last = max(pairwise(path), key=left.__getitem__)
        yield left.pop(last), " -> ".join(path)


def _cycle(pairs: Collection[tuple[str, str]]) -> list[str]:
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for origin, target in pairs:
        sorter.add(target, origin)
    try:
        sorter.prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def _check_fed(draft: Draft, shape: Shape) -> None:
    leaving = {stream.from_ for stream in shape.feeds.values()}
    for name, source in shape.sources.items():
        if name not in leaving and source:
            remedy = f"add {{from: {name}, to: {source.to}, consumes: 1.0}} to streams"
            draft.note(("sources", name), f"no stream leaves source {name}; {remedy}")
    fed = {stream.to for stream in (*shape.feeds.values(), *shape.links.values())}
    fed |= {source.to for source in shape.sources.values() if source}
    for name in shape.modules:
        if name not in fed:
            remedy = "add a source for it, or a stream from another module"
            draft.note(("modules", name), f"nothing feeds module {name}; {remedy}")


def _check_reached(draft: Draft, shape: Shape) -> None:
    after: dict[str, list[str]] = {}
    for stream in shape.links.values():
        after.setdefault(stream.from_, []).append(stream.to)
    reached: set[str] = set()
    ahead = [source.to for source in shape.sources.values() if source]
    while ahead:
        module = ahead.pop()
        if module not in reached:
            reached.add(module)
            ahead += after.get(module, ())
    for name, sink in shape.sinks.items():
        if sink and sink.from_ not in reached:
            remedy = f"no source stands above module {sink.from_}; add a source or a stream to it"
            draft.note(("sinks", name), f"nothing reaches sink {name}: {remedy}")


SECTIONS: Final = ("budget", "policy", "sources", "modules", "streams", "sinks")

_PARTS: Final = {
    "sources": (Source, "{s: {to: a}}"),
    "modules": (Share, "{a: {}}"),
    "streams": (Stream, "[{from: s, to: a, consumes: 0.3}]"),
    "sinks": (Sink, "{o: {from: a, produces: 0.9}}"),
}
"""What each section holds, and how it is written."""


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
    check_keys(draft, (), draft.value, SECTIONS, of="an allocation graph")
    policy = read_planner(draft)
    budget = _read_budget(draft)
    shape = Shape(
        sources=_named(draft, "sources"),
        modules=_named(draft, "modules"),
        streams=dict(enumerate(_streams(draft))),
        sinks=_named(draft, "sinks"),
    )
    if shape.sources and shape.modules and shape.streams and shape.sinks:
        check_shape(draft, shape)
    if draft.mistakes:
        return None
    network = _network(budget, shape)
    check_suits(draft, network, policy)
    return None if draft.mistakes else AllocationGraph(network=network, policy=policy)


def _read_budget(draft: Draft) -> float:
    given = {key: draft.value[key] for key in ("budget",) if key in draft.value}
    made = read_part(draft, (), given, Budget, of="the allocation graph")
    return made.budget if made else nan


def _named(draft: Draft, section: str) -> dict[str, Any]:
    """The parts of a section by their names; None for one that cannot be read."""
    part, like = _PARTS[section]
    sort, inner = section[:-1], like.partition(": ")[2][:-1]
    _check_there(draft, section, {})
    parts: dict[str, Any] = {}
    for name in mapping(draft, (section,), of=section, like=like):
        path = (section, name)
        _check_name(draft, path)
        given = mapping(draft, path, of=f"{sort} {name}", like=inner)
        whole = draft.at(path) is None or given is draft.at(path)
        parts[name] = read_part(draft, path, given, part, of=f"{sort} {name}") if whole else None
    return parts


def _streams(draft: Draft) -> Iterator[Stream | None]:
    like = _PARTS["streams"][1]
    _check_there(draft, "streams", [])
    for i, given in enumerate(sequence(draft, ("streams",), of="streams", like=like)):
        if isinstance(given, dict):
            of = f"stream {given.get('from', '?')} -> {given.get('to', '?')}"
            yield read_part(draft, ("streams", i), given, Stream, of=of)
        else:
            sentence = f"a stream must be a mapping such as {like[1:-1]}, got {kind(given)}"
            draft.note(("streams", i), sentence)
            yield None


def _check_there(draft: Draft, section: str, empty: object) -> None:
    if draft.at((section,)) in (None, empty):
        draft.note((section,), f"{section} is missing; write {section}: {_PARTS[section][1]}")


def _check_name(draft: Draft, path: tuple[str, str]) -> None:
    section, name = path
    if not name.strip() or not name.isprintable():
        draft.note(path, f"the name of a {section[:-1]} must be printable, got {name!r}")


def _network(budget: float, shape: Shape) -> Network:
    """The network of parts that fit together."""
    rates = {name: source.rate for name, source in shape.sources.items() if source}
    return Network(
        budget=budget,
        modules=tuple(shape.modules),
        inflows=tuple(s.as_inflow(rates[s.from_]) for s in shape.feeds.values()),
        links=tuple(s.as_link() for s in shape.links.values()),
        outflows=tuple(sink.as_outflow(name) for name, sink in shape.sinks.items() if sink),
    )
