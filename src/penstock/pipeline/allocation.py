"""A graph file with joint inputs and a budget, for dividing a resource among modules.

Its streams say how much flow a unit of resource consumes and produces at either end; it can be
planned, and neither run nor simulated.

>>> from penstock.pipeline.located import read
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
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import nan
from typing import Any, Final

from penstock.pipeline.allocation_parts import Budget, Share, Sink, Source, Stream, read_part
from penstock.pipeline.allocation_planner import check_suits, read_planner
from penstock.pipeline.allocation_shape import Shape, check_shape
from penstock.pipeline.located import Draft
from penstock.pipeline.sections import check_keys, kind, mapping, sequence
from penstock.pipeline.settings import Part
from penstock.policy.allocation.network import Network

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
    found: dict[str, Any] = {}
    for name in mapping(draft, (section,), of=section, like=like):
        path = (section, name)
        _check_name(draft, path)
        given = mapping(draft, path, of=f"{sort} {name}", like=inner)
        whole = draft.at(path) is None or given is draft.at(path)
        found[name] = read_part(draft, path, given, part, of=f"{sort} {name}") if whole else None
    return found


def _streams(draft: Draft) -> Iterator[Stream | None]:
    like = _PARTS["streams"][1]
    _check_there(draft, "streams", [])
    for i, given in enumerate(sequence(draft, ("streams",), of="streams", like=like)):
        if isinstance(given, dict):
            of = f"stream {given.get('from', '?')} -> {given.get('to', '?')}"
            yield read_part(draft, ("streams", i), given, Stream, of=of)
        else:
            told = f"a stream must be a mapping such as {like[1:-1]}, got {kind(given)}"
            draft.note(("streams", i), told)
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
