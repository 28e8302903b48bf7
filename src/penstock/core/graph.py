"""The flow graph: modules, and the streams between them.

>>> graph = FlowGraph(
...     source="split",
...     modules=(Module(name="split", service_time=0.003), Module(name="count")),
...     streams=(Stream(origin="split", target="count", selectivity=2.0),),
... )
>>> graph.visits()
{'split': 1.0, 'count': 2.0}
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import islice
from math import inf
from typing import Final

from penstock.core.errors import SettingError
from penstock.core.module import SCALINGS, Module

__all__ = ["SCALINGS", "FlowGraph", "GraphError", "Module", "Stream"]

_MOST_LISTED: Final = 10
"""Modules that a message lists before it counts the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Rows from one module to another."""

    origin: str
    target: str
    probability: float = 1.0
    """Share of the origin's output rows that take this way."""
    selectivity: float = 1.0
    """Rows that leave the origin for each row that it takes in, before they part ways."""


class GraphError(SettingError):
    """A graph that no row could cross, and the module or the stream that is to blame."""

    def __init__(
        self, sentence: str, *, module: str | None = None, stream: tuple[str, str] | None = None
    ) -> None:
        super().__init__(sentence)
        self.module = module
        self.stream = stream
        """Where it comes from and where it goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowGraph:
    """An acyclic graph of modules with one source, or several such graphs side by side."""

    source: str
    modules: tuple[Module, ...]
    streams: tuple[Stream, ...] = ()
    also: tuple[str, ...] = ()
    """Sources beside the first, one for each further pipeline that shares the cluster."""
    _by_name: Mapping[str, Module] = field(init=False, repr=False, compare=False)
    _outputs: Mapping[str, tuple[Stream, ...]] = field(init=False, repr=False, compare=False)
    _order: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse graphs that no row could cross, naming the module."""
        self._check_names()
        self._index()
        self._check_streams()
        self._check_sources()
        self._check_visits()

    def __getitem__(self, name: str) -> Module:
        """The module of that name."""
        return self._by_name[name]

    @property
    def sources(self) -> tuple[str, ...]:
        """Modules that rows come to from outside: one of each pipeline."""
        return (self.source, *self.also)

    def names(self) -> tuple[str, ...]:
        """Every module's name, in the order of the file."""
        return tuple(self._by_name)

    def order(self) -> tuple[str, ...]:
        """Every module's name, each after those that feed it."""
        return self._order

    def outputs(self, name: str) -> tuple[Stream, ...]:
        """Streams that leave a module."""
        return self._outputs[name]

    def sinks(self) -> tuple[str, ...]:
        """Modules that feed no other."""
        return tuple(name for name in self.names() if not self.outputs(name))

    def visits(self) -> dict[str, float]:
        """Rows that each module sees for one row of its source."""
        visits = dict.fromkeys(self.names(), 0.0) | dict.fromkeys(self.sources, 1.0)
        for name in self.order():
            for stream in self.outputs(name):
                visits[stream.target] += visits[name] * stream.selectivity * stream.probability
        return visits

    def _index(self) -> None:
        """Keep what is looked up by name: graphs may have thousands of modules."""
        outputs: dict[str, list[Stream]] = {module.name: [] for module in self.modules}
        for stream in self.streams:
            outputs[stream.origin].append(stream)
        by_name = {module.name: module for module in self.modules}
        object.__setattr__(self, "_by_name", by_name)
        object.__setattr__(self, "_outputs", {name: tuple(out) for name, out in outputs.items()})
        object.__setattr__(self, "_order", self._sorted())

    def _sorted(self) -> tuple[str, ...]:
        sorter: TopologicalSorter[str] = TopologicalSorter(dict.fromkeys(self.names(), ()))
        for stream in self.streams:
            sorter.add(stream.target, stream.origin)
        try:
            return tuple(sorter.static_order())
        except CycleError as error:
            raise self._cycle(error.args[1][1:]) from None

    def _cycle(self, circle: list[str]) -> GraphError:
        """The error about modules each of which feeds the next, and the last the first."""
        first = min(circle, key=self.names().index)
        turn = circle.index(first)
        path = [*circle[turn:], *circle[:turn], first]
        long = len(path) > _MOST_LISTED
        shown = [*path[:3], f"({len(path) - 4} more)", first] if long else path
        return GraphError(
            f"the streams form a cycle: {' -> '.join(shown)}; remove one of them",
            module=first,
            stream=(path[0], path[1]),
        )

    def _check_names(self) -> None:
        counts = Counter(module.name for module in self.modules)
        for name, count in counts.items():
            if count > 1:
                raise GraphError(f"module {name} is defined twice; give one another name")
        for source in self.sources:
            if source not in counts:
                raise GraphError(_no_module(source, counts))
        pairs = Counter((stream.origin, stream.target) for stream in self.streams)
        for pair, count in pairs.items():
            for end in pair:
                if end not in counts:
                    raise GraphError(_no_module(end, counts), stream=pair)
            if count > 1:
                raise GraphError(
                    f"stream {' -> '.join(pair)} is given {count} times; "
                    "keep one, with the probabilities added up",
                    stream=pair,
                )

    def _check_streams(self) -> None:
        for name in self.names():
            streams = self.outputs(name)
            for stream in streams:
                _check_stream(stream)
            total = sum(stream.probability for stream in streams)
            if streams and abs(total - 1) > 1e-6:
                raise GraphError(
                    f"the probabilities of the streams from {name} must sum to 1, got {total:g}",
                    stream=(name, streams[0].target),
                )

    def _check_sources(self) -> None:
        fed = {stream.target: stream for stream in self.streams}
        for source in self.sources:
            if source not in fed:
                continue
            before = fed[source].origin
            raise GraphError(
                f"source {source} is fed by module {before}; name as source the one module "
                "that no stream leads to",
                stream=(before, source),
            )
        for name in self.names():
            if name not in fed and name not in self.sources:
                raise GraphError(
                    f"no row can reach module {name} from {self.source}: no stream leads to "
                    f"{name}, and a graph has one source",
                    module=name,
                )

    def _check_visits(self) -> None:
        for name, visits in self.visits().items():
            if not 0 < visits < inf:
                raise GraphError(
                    f"module {name} sees {visits:g} rows for each row of {self.source}; "
                    "bring the probabilities and selectivities on the way nearer to 1",
                    module=name,
                )


def _check_stream(stream: Stream) -> None:
    ends = (stream.origin, stream.target)
    if not 0 < stream.probability <= 1:
        raise GraphError(
            f"probability of stream {' -> '.join(ends)} must be above 0 and at most 1, "
            f"got {stream.probability:g}",
            stream=ends,
        )
    if not 0 < stream.selectivity < inf:
        raise GraphError(
            f"selectivity of the streams from {stream.origin} must be above 0 and finite, "
            f"got {stream.selectivity:g}",
            stream=ends,
        )


def _no_module(name: str, names: Collection[str]) -> str:
    more = len(names) - _MOST_LISTED
    listed = ", ".join(islice(names, _MOST_LISTED))
    return f"there is no module {name!r}; there are {listed}{f' and {more} more' * (more > 0)}"
