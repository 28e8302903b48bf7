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
from typing import Any, Final

from penstock.core.errors import UserError
from penstock.core.graph import FlowGraph
from penstock.core.located import Draft, read
from penstock.core.settings import near
from penstock.core.signals import Tick
from penstock.pipeline.format.find import Text, shipped_as
from penstock.pipeline.format.flow import NAME
from penstock.pipeline.format.model import SharedPart, Sharing, Worth, sections
from penstock.pipeline.format.sections import assemble, check_keys, mapping
from penstock.pipeline.settings import PipelineFile
from penstock.pipeline.shape import APPLICATIONS
from penstock.policy.static import SCHEDULERS
from penstock.record.measures import added, column, steps

SECTION: Final = "pipelines"
DIVIDES: Final = ("allocation", "static")
"""Policies whose degrees can be shares."""
OF_A_PART: Final = sections(SharedPart)
"""What each of several pipelines says for itself."""
_LIKE: Final = "{fraud: {pipeline: enrichment, weight: 5}, reports: {pipeline: enrichment}}"


def is_shared(value: Mapping[str, Any]) -> bool:
    """Whether a file holds several pipelines."""
    return SECTION in value


def check_sections(draft: Draft, known: Iterable[str]) -> None:
    """Write down sections that the whole does not have, and whose they are."""
    known = tuple(known)
    for key in draft.value:
        if key in OF_A_PART and key not in known:
            sentence = f"each of several pipelines says {key} for itself"
            draft.note((key,), f"{sentence}; write it as {SECTION}.NAME.{key}")
    own = [key for key in draft.value if key not in OF_A_PART]
    check_keys(draft, (), own, known, of="a file of several pipelines")


def read_sharing(draft: Draft) -> Sharing | None:
    """`cores` and `executors`: how many the pipelines share, and how."""
    names = ("cores", "executors")
    given = {key: draft.value[key] for key in names if draft.value.get(key) is not None}
    if "cores" not in given:
        draft.note((), "cores is missing; write how many executors the pipelines share: cores: 8")
        return None
    return assemble(draft, (), given, Sharing, of="the pipelines")


def drafts(draft: Draft) -> dict[str, Draft]:
    """Each pipeline as a file of its own, whose mistakes are mistakes of the whole."""
    given = mapping(draft, (SECTION,), of=SECTION, like=_LIKE)
    if draft.at((SECTION,)) in (None, {}):
        draft.note((SECTION,), f"pipelines is empty; write {SECTION}: {_LIKE}")
    sound = [name for name in given if _is_one(draft, name, given)]
    return {name: _part(draft, name) for name in sound}


def _is_one(draft: Draft, name: str, others: Mapping[str, Any]) -> bool:
    """Whether something is said of a pipeline at all; a mistyped name has hardly anything."""
    own = others[name]
    if isinstance(own, dict) and not {"pipeline", "modules"} & own.keys():
        known = [other for other in others if other != name]
        meant = near(name, known) if known else ""
        what = f"pipeline {name} has neither pipeline nor modules"
        draft.note((SECTION, name), f"{what}; write {name}: {{pipeline: wordcount}}{meant}")
        return False
    return True


def read_weight(part: Draft) -> float:
    """`weight` of a pipeline."""
    given = {key: part.value[key] for key in ("weight",) if key in part.value}
    made = assemble(part, (), given, Worth, of="the pipeline")
    return made.weight if made else 1.0


def _part(draft: Draft, name: str) -> Draft:
    path = (SECTION, name)
    if not NAME.fullmatch(name):
        rule = "begins with a letter and has letters, digits, - and _"
        draft.note(path, f"a pipeline's name {rule}, got {name!r}")
    given = mapping(draft, path, of=f"pipeline {name}", like="{pipeline: enrichment, weight: 5}")
    check_keys(draft, path, given, OF_A_PART, of=f"pipeline {name}")
    own = {key: value for key, value in given.items() if key in OF_A_PART}
    places = {at[2:]: place for at, place in draft.places.items() if at[:2] == path}
    whole = {key: draft.value[key] for key in ("step", "duration") if key in draft.value}
    return Draft(
        name=draft.name,
        value={**_inherited(own), **own, **whole},
        places=places,
        mistakes=draft.mistakes,
        _noted=draft._noted,
    )


def _inherited(own: Mapping[str, Any]) -> dict[str, Any]:
    """What a pipeline that names its application and no modules takes from the built-in one."""
    shipped = None if "modules" in own else _shipped(own.get("pipeline"))
    if shipped is None:
        return {}
    document = read(shipped.content, name=shipped.name).value
    return {key: document[key] for key in OF_A_PART if key in document}


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


def check_alone(draft: Draft, policy: str) -> None:
    """Refuse a policy that shares executors where the file has one pipeline."""
    if policy in SCHEDULERS:
        draft.note(
            ("policy",),
            f"policy {policy} shares executors among several pipelines and the file has one; "
            "write them under pipelines, or choose another policy",
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
