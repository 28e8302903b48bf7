"""Several pipelines in one file: each with its own rows, all on one cluster.

>>> from penstock.pipeline.file import load
>>> file = load("shared")
>>> file.cores, file.graph.sources
(8, ('fraud.lookup', 'reports.lookup'))
>>> weights(file)
{'fraud.score': 5.0, 'reports.score': 1.0}
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Final

from penstock.core.errors import UserError
from penstock.core.graph import FlowGraph
from penstock.core.located import Draft, read
from penstock.core.settings import misspelt, near
from penstock.core.signals import Tick
from penstock.pipeline.format.find import Text, shipped_as
from penstock.pipeline.format.model import SharedPart, SharedSections, sections
from penstock.pipeline.format.sections import NAME, mapping, note_missing, read_sections
from penstock.pipeline.settings import PipelineFile
from penstock.pipeline.shape import APPLICATIONS
from penstock.policy.static import SCHEDULERS
from penstock.record.measures import added, column, steps

SECTION: Final = "pipelines"
DIVIDES: Final = ("allocation", "static")
"""Policies whose degrees can be shares."""
_LIKE: Final = "{fraud: {pipeline: enrichment, weight: 5}, reports: {pipeline: enrichment}}"


def is_shared(value: Mapping[str, Any]) -> bool:
    """Whether a file holds several pipelines."""
    return SECTION in value or ("cores" in value and "modules" not in value)


def read_whole(draft: Draft) -> SimpleNamespace:
    """What holds for all pipelines; sections that each says for itself are noted."""
    own, cores = sections(SharedPart), ("cores",)
    stray = [key for key in draft.value if key in own and key not in sections(SharedSections)]
    for key in stray:
        sentence = f"each of several pipelines says {key} for itself"
        draft.note((key,), f"{sentence}; write it as {SECTION}.NAME.{key}")
    rest = {key: value for key, value in draft.value.items() if key not in stray}
    missing = rest.get("cores") is None
    whole = replace(draft, value={**rest, "cores": 1} if missing else rest)
    of, called = "a file of several pipelines", "the pipelines"
    read = read_sections(whole, SharedSections, of=of, called=called, apart=(SECTION,))
    if missing:
        read.cores = None
        if not misspelt(draft.value, cores):
            why = "cores is missing; write how many executors the pipelines share: cores: 8"
            draft.note(cores, why)
    return read


def read_part(part: Draft, name: str) -> SimpleNamespace:
    """What one of them says for itself."""
    of = f"pipeline {name}"
    own = read_sections(part, SharedPart, of=of, called=of)
    if own.pipeline is not None or part.value.get("pipeline") is None:  # else it may inherit them
        note_missing(part, SharedPart, ("source", "modules"))
    return own


def drafts(draft: Draft) -> dict[str, Draft]:
    """Each pipeline as a file of its own, whose mistakes are mistakes of the whole."""
    given = mapping(draft, (SECTION,), of=SECTION, like=_LIKE)
    if not given and not draft.doubts((SECTION,)):
        draft.note((SECTION,), f"pipelines is empty; write {SECTION}: {_LIKE}")
    parts = {name: _part(draft, name, given) for name in given}
    return {name: part for name, part in parts.items() if part is not None}


def _part(draft: Draft, name: str, others: Mapping[str, Any]) -> Draft | None:
    """One of them, unless it is not said what runs: a mistyped name has hardly anything."""
    path, of = (SECTION, name), f"pipeline {name}"
    if NAME.refusal(name):
        draft.note(path, f"a pipeline's name is {NAME.words}, got {name!r}")
    given = mapping(draft, path, of=of, like="{pipeline: enrichment, weight: 5}")
    if draft.at(path) not in (None, given):
        return None
    places = {at[2:]: place for at, place in draft.places.items() if at[:2] == path}
    value = {**_inherited(given), **given}
    part = replace(draft, value=value, places=places, wrong=set())
    if {"pipeline", "modules"} & given.keys():
        return part
    read_sections(part, SharedPart, of=of, called=of)
    known = [other for other in others if other != name]
    meant = near(name, known) if known else ""
    if not part.doubts(("pipeline",)) and not part.doubts(("modules",)):
        what = f"{of} has neither pipeline nor modules"
        draft.note(path, f"{what}; write {name}: {{pipeline: wordcount}}{meant}")
    return None


def _inherited(own: Mapping[str, Any]) -> dict[str, Any]:
    """What a pipeline that names its application and no modules takes from the built-in one."""
    shipped = None if "modules" in own else _shipped(own.get("pipeline"))
    if shipped is None:
        return {}
    shipped_value = read(shipped.content, name=shipped.name).value
    return {key: shipped_value[key] for key in sections(SharedPart) if key in shipped_value}


def _shipped(name: object) -> Text | None:
    try:
        return shipped_as(name)
    except UserError:  # reported where the application is read
        return None


def renamed(name: str, part: PipelineFile) -> PipelineFile:
    """A pipeline whose modules bear its name, so that they differ from those of others."""
    graph = part.graph
    modules = tuple(
        replace(module, name=f"{name}.{module.name}", operators=module.operators or (module.name,))
        for module in graph.modules
    )
    streams = tuple(
        replace(stream, origin=f"{name}.{stream.origin}", target=f"{name}.{stream.target}")
        for stream in graph.streams
    )
    own = FlowGraph(source=f"{name}.{graph.source}", modules=modules, streams=streams)
    return replace(part, graph=own, source=replace(part.source, module=own.source))


def side_by_side(graphs: Iterable[FlowGraph]) -> FlowGraph:
    """One graph with the modules of all."""
    first, *others = graphs
    everyone = (first, *others)
    return FlowGraph(
        source=first.source,
        also=tuple(graph.source for graph in others),
        modules=tuple(module for graph in everyone for module in graph.modules),
        streams=tuple(stream for graph in everyone for stream in graph.streams),
    )


def weights(file: PipelineFile) -> dict[str, float]:
    """What a row that leaves is worth, by the module that it leaves."""
    return {sink: part.weight for part in file.parts.values() for sink in part.graph.sinks()}


def check_policy(draft: Draft) -> None:
    """Refuse, once and for good, what the policy would say of cores and weights beside the file."""
    section = draft.at(("policy",))
    for key, place in (("cores", "at the top of the file"), ("weights", "as weight of each")):
        if isinstance(section, dict) and key in section:
            draft.note(
                ("policy", key),
                f"{key} of several pipelines stands {place}; leave it out of policy",
            )
            del section[key]


def given(file: PipelineFile) -> dict[str, object]:
    """What a policy may take from a file of several pipelines."""
    return {"cores": file.cores, "weights": weights(file)} if file.parts else {}


def check_cores(draft: Draft, file: PipelineFile, policy: str) -> None:
    """Refuse a policy that cannot divide what there is, or would want more."""
    begins = sum(module.initial_replicas for module in file.graph.modules)
    most = sum(module.max_replicas for module in file.graph.modules)
    if policy in SCHEDULERS:
        return
    if begins > (file.cores or 0):
        draft.note(
            ("cores",),
            f"cores is {file.cores} and the modules begin with {begins}; "
            "raise cores or lower initial_replicas",
        )
    elif policy not in DIVIDES and file.executors == "shared":
        draft.note(
            ("policy",),
            f"policy {policy} scales executors and does not divide those that are shared; "
            f"take {', '.join(DIVIDES)}, {' or '.join(SCHEDULERS)}, or write executors: own",
        )
    elif policy not in DIVIDES and most > (file.cores or 0):
        draft.note(
            ("policy",),
            f"with policy {policy} the modules may grow to {most} executors and cores is "
            f"{file.cores}; lower max_replicas, or let policy allocation divide them",
        )


def check_exchanges(draft: Draft, file: PipelineFile) -> None:
    """Refuse two pipelines with executors of their own whose rows change places between these.

    All stages of such a module run under Spark's own profile, of which there is one.
    """
    exchanging = [
        name
        for name, part in file.parts.items()
        if part.application and APPLICATIONS[part.application].shape.exchanges
    ]
    if len(exchanging) > 1 and not shares_executors(file):
        draft.note(
            (SECTION, exchanging[1]),
            f"rows of {' and of '.join(exchanging)} change places between executors, and on one "
            "cluster Spark keeps such executors apart for a single pipeline; leave all but one of "
            "them out, or write executors: shared",
        )


def shares_executors(file: PipelineFile) -> bool:
    """Whether all modules use the same executors.

    >>> from penstock.pipeline.file import load
    >>> shares_executors(load("shared")), shares_executors(load("shared", ["executors=own"]))
    (True, False)
    """
    return file.executors == "shared" or uses_spark_scheduler(file)


def uses_spark_scheduler(file: PipelineFile) -> bool:
    """Whether Spark's scheduler alone divides the executors.

    >>> from penstock.pipeline.file import load
    >>> uses_spark_scheduler(load("shared", ["policy=fair"])), uses_spark_scheduler(load("shared"))
    (True, False)
    """
    return file.policy.name in SCHEDULERS


def worth(
    ticks: Iterable[Tick], values: Mapping[str, float], counted: Mapping[str, Any]
) -> dict[str, Any]:
    """Rows that left each of these modules in the steps of a run, and what all were worth.

    `counted` are results of the plant, which may have counted the rows; otherwise they follow from
    rates. If the rows of a module are unknown, so is the total value.
    """
    left = counted.get("rows_out") or _left(tuple(ticks), values)
    known = {name: values[name] * rows for name, rows in left.items() if rows is not None}
    value = sum(known.values()) if len(known) == len(left) else None
    return {"rows_out": left, "weighted_output": value}


def _left(ticks: Sequence[Tick], names: Iterable[str]) -> dict[str, float | None]:
    """From rates; None for a module without any, such as one that counts windows."""
    return {name: added(column(ticks, name, "processed_rate") * steps(ticks)) for name in names}
