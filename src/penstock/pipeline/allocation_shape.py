"""How the parts of an allocation graph fit together: names, ends, amounts at each end, cycles.

A source feeds the one module that its `to` names, by a stream that says how much that module
consumes of it; a source has no resource, so that such a stream produces nothing. A stream between
modules says both. Every module is fed by something, else its output would come from nowhere.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import islice, pairwise
from typing import Final

from penstock.core.settings import near
from penstock.pipeline.allocation_parts import Sink, Source, Stream
from penstock.pipeline.located import Draft, Path

_MOST_COMPARED: Final = 200
"""Names that a misspelt one is compared with; with more, the many mistakes of a file take long."""

_MOST_CYCLES: Final = 10
"""Cycles that are told at once; each takes a search of the whole graph."""

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
                told = f"there is a {taken[name]} {name} already; give the {sort} another name"
                draft.note((section, name), told)
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
        told = f"source {stream.from_} says `to: {source.to}`; make them agree"
        draft.note((*path, "to"), f"{stream} leads elsewhere than {told}")
    if stream.produces is not None:
        told = "comes from a source, which has no resource; leave produces out"
        draft.note((*path, "produces"), f"{stream} {told}")
    _check_consumes(draft, path, stream)


def _check_link(draft: Draft, path: Path, stream: Stream) -> None:
    if stream.produces is None:
        told = f"the flow that a unit of resource of {stream.from_} produces for {stream.to}"
        draft.note(path, f"{stream} needs produces, {told}")
    _check_consumes(draft, path, stream)


def _check_consumes(draft: Draft, path: Path, stream: Stream) -> None:
    if stream.consumes is None:
        told = f"the flow that a unit of resource of {stream.to} takes from {stream.from_}"
        draft.note(path, f"{stream} needs consumes, {told}")


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
            told = f"add {{from: {name}, to: {source.to}, consumes: 1.0}} to streams"
            draft.note(("sources", name), f"no stream leaves source {name}; {told}")
    fed = {stream.to for stream in (*shape.feeds.values(), *shape.links.values())}
    fed |= {source.to for source in shape.sources.values() if source}
    for name in shape.modules:
        if name not in fed:
            told = "add a source for it, or a stream from another module"
            draft.note(("modules", name), f"nothing feeds module {name}; {told}")


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
            told = f"no source stands above module {sink.from_}; add a source or a stream to it"
            draft.note(("sinks", name), f"nothing reaches sink {name}: {told}")
