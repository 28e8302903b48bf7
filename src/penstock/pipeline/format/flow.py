"""The flow graph of a file: its source, modules and streams."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, GraphError, Module, Stream
from penstock.core.located import Draft, Path
from penstock.core.schema import Bounds, Count, PositiveSeconds, Rate, Seconds, checked
from penstock.core.settings import near
from penstock.pipeline.format.kafka import KafkaSource, read_kafka_source
from penstock.pipeline.format.sections import assemble, kind, mapping, sequence

NAME: Final = re.compile(r"[^\W\d_][\w-]*")
"""Names of modules also name folders, streams and settings of the command line."""

_MOST_COMPARED: Final = 200
"""Names that a misspelt one is compared with; with more, the many mistakes of a file take long."""


@dataclass(frozen=True, slots=True, kw_only=True)
@checked("source")
class Source:
    """Where rows enter the graph, and how fast where there is no workload."""

    module: str
    """The module that takes them."""
    rate: Annotated[Rate, Bounds(above=0)] | None = None
    """Rows a second."""
    inter_arrival: PositiveSeconds | None = None
    """Seconds between two rows."""
    disorder: Annotated[Seconds, Bounds(least=0)] = 0.0
    """Rows are created up to this many seconds before they arrive, at random."""
    max_rows: Count | None = None
    """Most rows in one micro-batch on Spark; all that wait, unless given."""
    kafka: KafkaSource | None = None
    """The topic that rows come from on Spark, instead of from the workload."""

    def __post_init__(self) -> None:
        """Refuse two rates, or none at all."""
        if self.rate is not None and self.inter_arrival is not None:
            why = "source has both rate and inter_arrival; keep one of them"
            raise SettingError(why, fields=("rate", "inter_arrival"))

    def rows_a_second(self) -> float | None:
        """The constant rate, where one was given.

        >>> Source(module="split", inter_arrival=0.5).rows_a_second()
        2.0
        """
        return self.rate if self.inter_arrival is None else 1 / self.inter_arrival


def read_source(draft: Draft) -> Source | None:
    """The `source` section."""
    given = mapping(draft, ("source",), of="source", like="{module: splitter}")
    if draft.at(("source",)) in (None, {}):
        draft.note(("source",), "source is missing; write source: {module: NAME}")
    if not given:
        return None
    kafka = read_kafka_source(draft)
    rest = {key: value for key, value in given.items() if key != "kafka"}
    return assemble(draft, ("source",), rest, Source, of="source", kafka=kafka)


def read_graph(draft: Draft, source: Source | None) -> FlowGraph | None:
    """The graph, where source, modules and streams leave no doubt about it."""
    sound = source is not None
    modules = read_modules(draft)
    names = {module.name for module in modules}
    streams = [read_stream(draft, i, names) for i, _ in enumerate(_streams(draft))]
    if source and names and source.module not in names:
        draft.note(("source", "module"), _no_module(source.module, names))
        sound = False
    if not source or not sound or not modules or None in streams:
        return None
    return _connect(draft, source, modules, [stream for stream in streams if stream])


def read_modules(draft: Draft) -> list[Module]:
    """Every module, with something in the place of those that have a mistake."""
    like = "{splitter: {service_time: 3ms}}"
    given = mapping(draft, ("modules",), of="modules", like=like)
    if draft.at(("modules",)) in (None, {}):
        draft.note(("modules",), f"modules is missing; write modules: {like}")
    return [_read_module(draft, name) for name in given]


def _read_module(draft: Draft, name: str) -> Module:
    path = ("modules", name)
    given = mapping(draft, path, of=f"module {name}", like="{service_time: 3ms}")
    if not NAME.fullmatch(name):
        draft.note(
            path, f"a module's name is a letter, then letters, digits, - and _, got {name!r}"
        )
    if "min_replicas" in given:
        given = {"initial_replicas": given["min_replicas"], **given}
    if "name" in given:
        draft.note((*path, "name"), f"module {name} has its name before the colon; leave name out")
    known = {key: value for key, value in given.items() if key != "name"}
    module = assemble(draft, path, known, Module, of=f"module {name}", name=name)
    return module or _stand_in(name, given.get("operators"))


def _stand_in(name: str, operators: object) -> Module:
    """A module in place of one with a mistake, so that this is not followed by others."""
    given = operators if isinstance(operators, list) else []
    return Module(name=name, operators=tuple(str(operator) for operator in given))


def read_stream(draft: Draft, position: int, names: Collection[str]) -> Stream | None:
    """One of the streams; None where something is wrong with it."""
    path: Path = ("streams", position)
    like = "{from: splitter, to: counter}"
    given = draft.at(path)
    if not isinstance(given, dict):
        draft.note(path, f"a stream must be a mapping such as {like}, got {kind(given)}")
        return None
    ends = {key: given[key] for key in ("from", "to") if key in given}
    rest = {key: value for key, value in given.items() if key not in ends}
    if not _check_ends(draft, path, ends, names):
        assemble(draft, path, rest, Stream, of="the stream", origin="", target="")
        return None
    of = f"stream {ends['from']} -> {ends['to']}"
    return assemble(draft, path, rest, Stream, of=of, origin=ends["from"], target=ends["to"])


def _check_ends(draft: Draft, path: Path, ends: Mapping[str, Any], names: Collection[str]) -> bool:
    before = len(draft.mistakes)
    for key in ("from", "to"):
        if key not in ends:
            draft.note(path, f"a stream needs {key}; write {{from: splitter, to: counter}}")
        elif not isinstance(ends[key], str) or ends[key] not in names:
            draft.note((*path, key), _no_module(str(ends[key]), names))
    return len(draft.mistakes) == before


def _streams(draft: Draft) -> list[Any]:
    like = "[{from: splitter, to: counter}]"
    return sequence(draft, ("streams",), of="streams", like=like)


def _connect(
    draft: Draft, source: Source, modules: list[Module], streams: list[Stream]
) -> FlowGraph | None:
    try:
        return FlowGraph(source=source.module, modules=tuple(modules), streams=tuple(streams))
    except GraphError as error:
        draft.note(_blamed(error, streams), str(error))
        return None


def _blamed(error: GraphError, streams: list[Stream]) -> Path:
    """Where the stream or the module stands that an error is about."""
    if error.stream is None:
        return ("modules", error.module) if error.module else ("modules",)
    ends = [(stream.origin, stream.target) for stream in streams]
    last = len(ends) - 1 - ends[::-1].index(error.stream)  # of two that are alike, the second
    return ("streams", last)


def _no_module(name: str, names: Collection[str]) -> str:
    if len(names) > _MOST_COMPARED:
        return f"there is no module {name!r} among the {len(names)} of the file"
    return f"there is no module {name!r}{near(name, names)}"
