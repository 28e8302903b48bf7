"""The sections of a pipeline file beside its graph, each read with all its mistakes.

Guards take some things from the run rather than from their settings:

| setting | is, unless it is given |
|---|---|
| `began` | the moment at which the run begins |
| `executor_memory` | that of the cluster |
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path as FilePath
from typing import Any, Final

from penstock.core.graph import FlowGraph
from penstock.core.interference import Interference
from penstock.core.located import Draft, Path
from penstock.core.settings import near, option_names
from penstock.guard import GUARDS
from penstock.model.keyed import too_many_keys
from penstock.pipeline.format.model import Timing
from penstock.pipeline.format.preference import PreferenceQuery
from penstock.pipeline.format.sections import assemble, beside, chosen, kind, mapping, sequence
from penstock.pipeline.settings import ClusterSettings, Part
from penstock.pipeline.shape import APPLICATIONS, AppSpec, Shape, misfits, misplaced_keys
from penstock.policy.static import Static


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
    taken = set(option_names(guard)) - written
    return {k: v for k, v in run.items() if k in taken and v is not None} | dict(settings)


_SOME_TIME: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""In place of the moment at which a run will begin."""
_BY_MODULE: Final = frozenset({"degrees", "low", "high", "bound"})
"""Settings of policies and guards that may differ from module to module."""


def read_timing(draft: Draft) -> Timing | None:
    """`step`, `duration` and `seed`."""
    names = [field.name for field in fields(Timing)]
    given = {name: draft.value[name] for name in names if draft.value.get(name) is not None}
    return assemble(draft, (), given, Timing, of="the pipeline")


def read_guards(
    draft: Draft, modules: Iterable[str], cluster: ClusterSettings | None = None
) -> tuple[Part, ...]:
    """`guards`: a list of names, or of names with their settings, innermost first."""
    like = "[hold, cooldown: {out: 4s, in: 8s}]"
    given = sequence(draft, ("guards",), of="guards", like=like)
    parts = [_read_guard(draft, ("guards", i), item, like, cluster) for i, item in enumerate(given)]
    for i, part in enumerate(parts):
        if part:
            check_names(draft, ("guards", i, part.name), part.settings, modules)
    return tuple(part for part in parts if part)


def _read_guard(
    draft: Draft, path: Path, item: object, like: str, cluster: ClusterSettings | None
) -> Part | None:
    if isinstance(item, str):
        item = {item: None}
    if not isinstance(item, dict) or len(item) != 1:
        draft.note(path, f"guards must be a list such as {like}, got {kind(item)} in it")
        return None
    name = next(iter(item))
    here = (*path, name)
    guard = chosen(draft, here, GUARDS, name, of="guard")
    if guard is None:
        return None
    settings = mapping(draft, here, of=f"guard {name}", like="{out: 4s}")
    known = with_run(guard, settings, cluster, _SOME_TIME)
    assemble(draft, here, known, guard, of=f"guard {name}", policy=Static())
    return Part(name, settings)


def check_names(
    draft: Draft, path: Path, settings: Mapping[str, Any], modules: Iterable[str]
) -> None:
    """Refuse executors for a module that there is not."""
    for key in _BY_MODULE & settings.keys():
        for name in settings[key] if isinstance(settings[key], dict) else ():
            if modules and name not in modules:
                draft.note((*path, key, name), f"there is no module {name!r}{near(name, modules)}")


def read_application(draft: Draft, graph: FlowGraph | None) -> AppSpec | None:
    """`pipeline`: the application, whose operators the modules must cover in their order."""
    name = draft.at(("pipeline",))
    if name is None:
        return None
    application = chosen(draft, ("pipeline",), APPLICATIONS, str(name), of="pipeline")
    if application is not None and graph is not None:
        _check_operators(draft, graph, application.shape)
    return application


def read_query(
    draft: Draft, application: AppSpec | None, folder: FilePath
) -> PreferenceQuery | None:
    """`query`: what a pipeline of preference queries is asked."""
    path = ("query",)
    if application is None or not application.takes_query:
        if draft.at(path) is not None:
            draft.note(path, "only the pipeline preference takes a query; leave it out")
        return None
    given = mapping(draft, path, of="query", like="{kind: skyline, window: 1s, slide: 200ms}")
    if isinstance(given.get("tuples"), str):
        given["tuples"] = str(beside(draft, (*path, "tuples"), folder) / given["tuples"])
        if not FilePath(given["tuples"]).is_file():
            draft.note((*path, "tuples"), f"there is no file {given['tuples']} with tuples")
    return assemble(draft, path, given, PreferenceQuery, of="query")


def read_interference(draft: Draft, cluster: ClusterSettings | None) -> Interference | None:
    """`interference`: busy processes beside the executors, which share the slots of the cluster."""
    path = ("interference",)
    given = mapping(draft, path, of="interference", like="{processes: 2, from: 40s, until: 100s}")
    if draft.at(path) != given:
        return None
    load = assemble(draft, path, given, Interference, of="interference")
    return load.among(cluster.workers * cluster.cores) if load and cluster else None


def _check_operators(draft: Draft, graph: FlowGraph, shape: Shape) -> None:
    for misfit in misfits(graph, shape) or misplaced_keys(_with_all_keys(draft, graph), shape):
        place = () if misfit.module is None else (misfit.module, misfit.setting)
        draft.note(("modules", *place), misfit.message)


def _with_all_keys(draft: Draft, graph: FlowGraph) -> FlowGraph:
    """The graph with the keys that were written for modules in whose place another stands."""
    given = {name: draft.at(("modules", name, "keys")) for name in graph.names()}
    some = {name for name, keys in given.items() if str(keys) not in ("None", "0")}
    modules = [replace(m, keys=m.keys or int(m.name in some)) for m in graph.modules]
    return replace(graph, modules=tuple(modules))


def check_sizes(draft: Draft, graph: FlowGraph | None) -> None:
    """Refuse more keys than fit into memory, whatever the file is for."""
    for module in graph.modules if graph else ():
        why = too_many_keys(module)
        if why:
            draft.note(("modules", module.name, "keys"), why)
