"""What must hold between the sections of a file.

A rule looks at whatever could be read, notes what is wrong, and says nothing about what is unknown:
so no mistake hides another, and none is followed by others that only come from it.

Policies and guards take some things from the file rather than from their settings, wherever they
have a field or a parameter for them:

| setting | is, unless it is given |
|---|---|
| `graph`, `infrastructure` | those of the file |
| `slo` | the latency that 95 % of the rows were promised to keep |
| `seed` | that of the file |
| `began` | the moment at which the run begins |
| `executor_memory` | that of the cluster |
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path as FilePath
from types import SimpleNamespace
from typing import Any, Final, cast

from penstock.core.errors import SettingError, UserError
from penstock.core.graph import FlowGraph, GraphError, Module, Stream, graph_errors
from penstock.core.located import Draft, Path
from penstock.core.regions import Infrastructure, Region
from penstock.core.roles import Workload
from penstock.core.settings import choose, near, option_names, taken
from penstock.guard import GUARDS
from penstock.model.flow_graph import unpriced
from penstock.pipeline.format.kafka import NoWorkload
from penstock.pipeline.format.sections import assemble, beside, salvaged
from penstock.pipeline.settings import ClusterSettings, Part
from penstock.pipeline.shape import APPLICATIONS, AppSpec, misfits
from penstock.policy import NODE_POLICIES, POLICIES
from penstock.policy.fuzzy import Fuzzy
from penstock.policy.fuzzy.splitting import check_period
from penstock.policy.hierarchy import MANAGERS
from penstock.policy.static import SCHEDULERS, Static
from penstock.workload import WORKLOADS, parse, with_seed

_SOME_GRAPH: Final = FlowGraph(
    source="any",
    modules=tuple(
        Module(name=name, service_time=1.0, price=1.0, delay_cost=1.0) for name in ("any", "other")
    ),
    streams=(Stream(origin="any", target="other"),),
)
"""One that every policy can do with, so that mistakes in settings show beside those of a graph."""
_SOME_PLACES: Final = Infrastructure(regions=(Region(name="any"),))
_SOME_TIME: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""In place of the moment at which a run will begin."""
_BY_NAME: Final = frozenset({"degrees", "low", "high", "bound", "nodes"})
"""Settings of policies and guards that may differ from module to module, or region to region."""


@dataclass(kw_only=True)
class Reading:
    """What could be read of a file, or of one of several pipelines in it."""

    draft: Draft
    folder: FilePath
    """Of the file."""
    sections: SimpleNamespace
    """None for what is wrong."""
    graph: FlowGraph | None = None
    streams: list[Stream] | None = None
    """None unless both ends of all are known."""
    seed: int = 1
    """Of its rows."""
    shared: dict[str, object] = field(default_factory=dict)
    """What several pipelines have in common."""

    def note(self, path: Path, why: str) -> None:
        """Write down a mistake."""
        self.draft.note(path, why)

    def note_value(self, path: Path, why: str) -> None:
        """Write down why a value does not fit, unless it is unknown."""
        if not self.draft.doubts(path):
            self.draft.note(path, why)

    @cached_property
    def modules(self) -> dict[str, Module]:
        """Every module, with what is right of those that have a mistake."""
        given = getattr(self.sections, "modules", None) or {}
        return {name: module or self._salvaged(name) for name, module in given.items()}

    def with_saved(self, part: Part, path: Path) -> Part:
        """A part with the whole path of the tables that it begins with, where it names some."""
        saved = part.settings.get("load")
        if not isinstance(saved, str):
            return part
        whole = beside(self.draft, (*path, "load"), self.folder) / saved
        return Part(part.name, {**part.settings, "load": str(whole)})

    def _salvaged(self, name: str) -> Module:
        given = self.draft.at(("modules", name))
        right = salvaged(Module, given if isinstance(given, dict) else {}, {"name": name})
        try:
            return Module(name=name, **right)
        except SettingError:  # noted where the module was read
            return Module(name=name, operators=right.get("operators", ()))

    @property
    def lacks_application(self) -> bool:
        """Whether it names an application that there is not."""
        return self.sections.pipeline is None and self.draft.doubts(("pipeline",))

    @property
    def application(self) -> AppSpec | None:
        """What runs on Spark."""
        name = self.sections.pipeline
        return None if name is None else APPLICATIONS[name]


# The flow graph.


def read_graph(file: Reading) -> FlowGraph | None:
    """The graph, where source, modules and streams leave no doubt about it."""
    modules, source = file.modules, file.draft.at(("source", "module"))
    streams = {i: s for i in range(len(file.sections.streams)) if (s := _stream(file, i))}
    if not modules:
        return None
    known = isinstance(source, str) and source in modules
    if not known and source is not None:
        file.note_value(
            ("source", "module"), f"there is no module {str(source)!r}{near(str(source), modules)}"
        )
    origins = [file.draft.at(("streams", i, "from")) for i in range(len(file.sections.streams))]
    listed = not file.draft.doubts(("streams",))
    sure = all(isinstance(origin, str) and origin in modules for origin in origins)
    wrong = {
        str(origin)
        for i, origin in enumerate(origins)
        if i not in streams or file.sections.streams[i] is None
    }
    errors = graph_errors(
        [*modules],
        [str(source)] if known else [],
        [*streams.values()],
        whole=known and listed and len(streams) == len(origins),
        unsure=wrong if sure else modules,
    )
    for error in errors:
        file.note(_blamed(error, streams), str(error))
        known = False
    whole = known and listed and len(streams) == len(origins)
    file.streams = [*streams.values()] if whole else None
    if not whole or wrong:
        return None
    try:
        return FlowGraph(
            source=str(source), modules=tuple(modules.values()), streams=tuple(streams.values())
        )
    except GraphError as error:
        file.note(_blamed(error, streams), str(error))
        return None


def _stream(file: Reading, position: int) -> Stream | None:
    """One of the streams, whatever is wrong with its numbers; None where an end is unknown."""
    path: Path = ("streams", position)
    if not isinstance(file.draft.at(path), dict):
        return None
    ends = {key: file.draft.at((*path, key)) for key in ("from", "to")}
    for key, end in ends.items():
        if end is not None and file.modules and str(end) not in file.modules:
            why = f"there is no module {str(end)!r}{near(str(end), file.modules)}"
            file.note_value((*path, key), why)
    if not all(isinstance(end, str) and end in file.modules for end in ends.values()):
        return None
    return file.sections.streams[position] or Stream(origin=ends["from"], target=ends["to"])


def _blamed(error: GraphError, streams: Mapping[int, Stream]) -> Path:
    """Where the stream or the module stands that an error is about."""
    if error.stream is None:
        return ("modules", error.module) if error.module else ("modules",)
    # of two that are alike, the second
    return ("streams", max(i for i, s in streams.items() if (s.origin, s.target) == error.stream))


# What feeds a pipeline, and what runs it.


def read_workload(file: Reading) -> Workload | None:
    """`workload`, or the constant rate of the source."""
    draft, source, given = file.draft, file.sections.source, file.draft.at(("workload",))
    stated = [key for key in ("rate", "inter_arrival") if draft.at(("source", key)) is not None]
    if given is not None and stated and not _prefers_workload(draft, stated):
        file.note(("workload",), f"there is a workload and a {stated[0]} of source; keep one")
    if isinstance(given, str):
        return _workload_of_text(file, given)
    if given is not None:
        part = file.sections.workload
        return None if part is None else _workload_of_part(file, part)
    if not stated and draft.at(("source", "kafka")) is not None:
        topic = source.kafka.topic if source and source.kafka else "?"
        return NoWorkload(f"topic {topic} of Kafka")
    feeding = (("workload",), *(("source", key) for key in ("rate", "inter_arrival", "kafka")))
    if not stated and not file.lacks_application and not any(map(draft.doubts, feeding)):
        like = "workload: {kind: constant, rate: 100/s}"
        file.note((), f"workload is missing; write {like}, or give the source a rate")
    constant = source.rows_a_second() if source else None
    return parse({"kind": "constant", "rate": f"{constant!r}/s"}) if constant else None


def _prefers_workload(draft: Draft, stated: list[str]) -> bool:
    """Whether the workload was given on the command line; then the rate of the file goes."""
    if draft.place(("workload",)).line:
        return False
    for key in stated:
        del draft.value["source"][key]
    return True


def _workload_of_part(file: Reading, part: Part) -> Workload | None:
    path, kind, settings = ("workload",), choose(WORKLOADS, part.name, of="workload"), part.settings
    if part.name == "trace" and isinstance(settings.get("path"), str):
        whole = str(beside(file.draft, (*path, "path"), file.folder) / settings["path"])
        file.draft.value["workload"]["path"] = whole
        settings = {**settings, "path": whole}
    seeded = {**taken(kind, {"seed": file.seed}), **settings}
    return assemble(file.draft, path, seeded, kind, of=f"workload {part.name}")


def _workload_of_text(file: Reading, given: str) -> Workload | None:
    path = ("workload",)
    name, _, rest = given.partition(":")
    if name == "trace" and rest:
        given = f"trace:{beside(file.draft, path, file.folder) / rest}"
        file.draft.value["workload"] = given
    try:
        workload = parse(given)
    except UserError as error:
        file.note(path, str(error))
        return None
    return workload if "seed=" in rest else cast(Workload, with_seed(workload, file.seed))


def check_application(file: Reading) -> None:
    """The operators of an application are run by the modules, in their order."""
    if file.application is None or not file.modules:
        return
    unsure = any(file.draft.doubts(("modules", name, "operators")) for name in file.modules)
    for misfit in misfits(file.modules.values(), file.streams, file.application.shape):
        if misfit.module is not None:
            file.note_value(("modules", misfit.module, misfit.setting), misfit.message)
        elif not unsure:
            file.note(("modules",), misfit.message)


def check_query(file: Reading) -> None:
    """`query` belongs to pipelines of preference queries; its file of tuples is there."""
    given, path = file.draft.at(("query",)), ("query",)
    if given is None or file.lacks_application:
        return
    if file.application is None or not file.application.takes_query:
        file.note(path, "only the pipeline preference takes a query; leave it out")
    elif isinstance(given, dict) and isinstance(given.get("tuples"), str):
        whole = beside(file.draft, (*path, "tuples"), file.folder) / given["tuples"]
        given["tuples"] = str(whole)
        if not whole.is_file():
            file.note((*path, "tuples"), f"there is no file {whole} with tuples")


def check_kafka(file: Reading) -> None:
    """An application takes its rows from a topic, in this format."""
    source = file.sections.source.kafka if file.sections.source else None
    if source is None or file.application is None:
        return
    path, name = ("source", "kafka"), file.application.name
    if file.application.makes_own_rows:
        file.note(path, f"pipeline {name} makes its rows itself; leave kafka out of source")
    elif source.format == "text" and not file.application.one_text:
        why = f"rows of pipeline {name} have several columns; write format: json"
        file.note((*path, "format"), why)


# Regions.

_REGIONS: Final[Path] = ("infrastructure", "regions")
_DELAYS: Final[Path] = ("infrastructure", "delays")


def check_regions(file: Reading) -> None:
    """Modules are in regions of the file; in a file without them, in none."""
    regions, whole = tuple(_regions(file)), ("infrastructure",)
    there = f"there {'is' if len(regions) == 1 else 'are'} {', '.join(regions)}"
    for name in file.modules if regions or not file.draft.doubts(whole) else ():
        path, region = ("modules", name, "region"), file.draft.at(("modules", name, "region"))
        if file.draft.at(whole) is None and region is not None:
            file.note(
                path,
                f"module {name} is in region {region!r} and the file has no infrastructure; "
                f"add infrastructure: {{regions: {{{region}: {{}}}}}} or leave region out",
            )
        elif regions and region is None:
            file.note_value(path, f"module {name} needs a region; {there}")
        elif regions and str(region) not in regions:
            file.note_value(path, f"module {name} is in region {str(region)!r}; {there}")


def check_room(file: Reading) -> None:
    """The first nodes of a region can host the first replicas of its modules."""
    for name, region in _regions(file).items():
        hosted = [module for module in file.modules.values() if module.region == name]
        first = sum(module.initial_replicas for module in hosted)
        if region is not None and first > (room := region.initial_nodes * region.slots):
            file.note(
                (*_REGIONS, name),
                f"region {name} begins with room for {room} and "
                f"{', '.join(module.name for module in hosted)} with {first} replicas; "
                "raise its initial_nodes or slots, or lower initial_replicas",
            )


def _regions(file: Reading) -> dict[str, Region | None]:
    section = file.sections.infrastructure
    return (section and section.regions) or {}


def read_places(file: Reading) -> Infrastructure | None:
    """The regions with the delays between them; what is wrong with a region does not matter."""
    regions = _regions(file)
    if not regions:
        return None
    known = tuple(region or Region(name=name) for name, region in regions.items())
    delays = file.sections.infrastructure.delays or {}
    while True:
        try:
            return Infrastructure(regions=known, delays=delays)
        except SettingError as error:
            pair = error.path[-1]
            file.note((*_DELAYS, pair), str(error))
            delays = {other: delay for other, delay in delays.items() if other != pair}


# What decides.


def check_control(file: Reading, places: Infrastructure | None = None) -> None:
    """Guards, managers and policies can be made from their settings and from the file."""
    for i, guard in enumerate(file.sections.guards or ()):
        if guard is not None:
            _check_guard(file, ("guards", i, guard.name), guard)
    if file.sections.policy is not None:
        _check_policy(file, file.sections.policy)
    section = getattr(file.sections, "infrastructure", None)
    _check_manager(file, ("manager",), getattr(file.sections, "manager", None))
    if section is not None:
        _check_manager(file, ("infrastructure", "manager"), section.manager)
        if section.policy is not None:
            _check_node_policy(file, section.policy, places)


def with_run(
    guard: type,
    settings: Mapping[str, Any],
    cluster: ClusterSettings | None,
    began: datetime | None,
) -> dict[str, Any]:
    """The settings of a guard with what it takes from the run.

    >>> from penstock.guard import Clamp, Quota
    >>> with_run(Quota, {"memory": "8g"}, ClusterSettings(), None)
    {'executor_memory': '512m', 'memory': '8g'}
    >>> with_run(Clamp, {"high": 8}, ClusterSettings(), None)
    {'high': 8}
    """
    memory = cluster.memory_of_executor() if cluster else None
    run = {"began": began, "executor_memory": memory}
    written = {str(name).replace("-", "_") for name in settings}
    named = set(option_names(guard)) - written
    return {k: v for k, v in run.items() if k in named and v is not None} | dict(settings)


def _check_guard(file: Reading, path: Path, part: Part) -> None:
    guard = choose(GUARDS, part.name, of="guard")
    known = with_run(guard, part.settings, file.sections.cluster, _SOME_TIME)
    assemble(file.draft, path, known, guard, of=f"guard {part.name}", policy=Static())
    _check_names(file, path, guard, part.settings)


def _check_policy(file: Reading, part: Part) -> None:
    path, policy = ("policy",), choose(POLICIES, part.name, of="policy")
    priced = getattr(policy, "needs_prices", False)
    for module, setting, why in unpriced(file.modules.values(), part.name) if priced else ():
        file.note_value(("modules", module, setting), why)
    graph = _SOME_GRAPH if priced or file.graph is None else file.graph
    given = {"graph": graph, "slo": _promised(file), **file.shared}
    settings = {**taken(policy, {"seed": file.seed}), **_loadable(file, path, part)}
    if file.graph is None:
        settings.pop("module", None)  # of which nothing is known beside a graph that stands in
    of = f"policy {part.name}"
    fixed: dict[str, Any] = taken(policy, given)
    assemble(file.draft, path, settings, policy, of=of, **fixed)
    if policy is Fuzzy and file.sections.step is not None:
        inner = {k: value for k, value in settings.items() if k in ("split", "sampling")}
        _check_sampling(file, salvaged(Fuzzy, inner, fixed))
    _check_names(file, path, policy, part.settings)


def _check_sampling(file: Reading, inner: Mapping[str, Any]) -> None:
    """The inner level is not slower than the outer one."""
    try:
        if inner.get("split", True):
            check_period(inner.get("sampling", Fuzzy.sampling), file.sections.step)
    except SettingError as error:
        file.note(("policy", "sampling"), str(error))


def _check_node_policy(file: Reading, part: Part, places: Infrastructure | None) -> None:
    path, of = ("infrastructure", "policy"), f"policy {part.name} of infrastructure"
    policy = choose(NODE_POLICIES, part.name, of="policy of infrastructure")
    given: dict[str, Any] = taken(
        policy, {"infrastructure": places or _SOME_PLACES, "slo": _promised(file)}
    )
    assemble(file.draft, path, _loadable(file, path, part), policy, of=of, **given)
    _check_names(file, path, policy, part.settings, places.names() if places else ())


def _check_manager(file: Reading, path: Path, part: Part | None) -> None:
    if part is not None:
        of = f"manager {part.name}{' of infrastructure' * (len(path) > 1)}"
        assemble(file.draft, path, part.settings, choose(MANAGERS, part.name, of="manager"), of=of)


def _promised(file: Reading) -> float | None:
    return file.sections.slo.latency_p95 if file.sections.slo else None


def _loadable(file: Reading, path: Path, part: Part) -> Mapping[str, Any]:
    """The settings, without saved tables where the file that these must fit has mistakes."""
    if not file.draft.mistakes:
        return file.with_saved(part, path).settings
    return {key: value for key, value in part.settings.items() if key != "load"}


def _check_names(
    file: Reading,
    path: Path,
    part: type,
    settings: Mapping[str, Any],
    regions: Collection[str] = (),
) -> None:
    """Executors are given to modules of the file, nodes to its regions."""
    sort, names = ("region", regions) if regions else ("module", _names(file))
    for key in _BY_NAME & settings.keys() & set(option_names(part)):
        for name in settings[key] if names and isinstance(settings[key], dict) else ():
            if name not in names:
                file.note((*path, key, name), f"there is no {sort} {name!r}{near(name, names)}")


def _names(file: Reading) -> Collection[str]:
    return file.graph.names() if file.graph else tuple(file.modules)


def check_alone(file: Reading) -> None:
    """A policy that shares executors has several pipelines to share them among."""
    policy = file.sections.policy
    if policy is not None and policy.name in SCHEDULERS:
        file.note(
            ("policy",),
            f"policy {policy.name} shares executors among several pipelines and the file has one; "
            "write them under pipelines, or choose another policy",
        )


OF_A_PIPELINE: Final = (check_application, check_query, check_kafka)
"""Rules of each pipeline, once its graph was read."""
OF_A_FILE: Final = (check_regions, check_room, check_alone)
"""Rules of a file with a single pipeline."""
