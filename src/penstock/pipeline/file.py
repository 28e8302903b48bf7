"""A pipeline file: the flow graph, what feeds it, what decides for it, and what was promised.

>>> file = load("wordcount", ["step=5s", "modules.splitter.max_replicas=8"])
>>> file.step, file.graph["splitter"].max_replicas
(5.0, 8)
>>> load("wordcount", ["step=5"])
Traceback (most recent call last):
...
penstock.core.errors.FileError: wordcount.yaml with step=5: step of the pipeline needs a unit, \
got 5; write 5s, 5ms or 5m
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Final

from penstock.core.errors import FileError
from penstock.pipeline import allocation, checks, feed, flow
from penstock.pipeline.find import Text, built_in, find
from penstock.pipeline.located import Draft, Mistake, read
from penstock.pipeline.overrides import override
from penstock.pipeline.resolve import resolve
from penstock.pipeline.sections import assemble, check_keys, kind, mapping
from penstock.pipeline.settings import APPLICATIONS, ClusterSettings, Part, PipelineFile, Slo

__all__ = [
    "APPLICATIONS",
    "Checked",
    "ClusterSettings",
    "Part",
    "PipelineFile",
    "Slo",
    "built_in",
    "check",
    "load",
]

SECTIONS: Final = (
    "pipeline",
    "step",
    "duration",
    "seed",
    "workload",
    "slo",
    "policy",
    "guards",
    "cluster",
    "source",
    "modules",
    "streams",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a check found: what sort of file it is, and all that is wrong with it."""

    name: str
    sort: str
    """`pipeline`, `graph` or `allocation graph`; the last two can be planned but not run."""
    mistakes: tuple[Mistake, ...]
    file: PipelineFile | None
    """None where there are mistakes, and for an allocation graph."""


def load(
    name_or_path: str | PurePath, overrides: Iterable[str] = (), *, to_run: bool = False
) -> PipelineFile:
    """The file at a path, or the built-in one of a name; `key.path=value` changes a setting.

    With `to_run` the file must name an application; a mere graph file will not do.
    """
    checked = check(name_or_path, overrides)
    if checked.mistakes:
        raise FileError(_first(checked, name_or_path))
    if checked.file is None:
        raise FileError(
            f"{checked.name} is an allocation graph, which can be planned but neither run nor "
            "simulated; those need a source with its module"
        )
    if to_run and not checked.file.runnable:
        raise FileError(
            f"{checked.name} is a graph file, which can be planned and simulated; to run it on "
            f"Spark, add `pipeline:` with one of {', '.join(APPLICATIONS)}"
        )
    return checked.file


def check(name_or_path: str | PurePath, overrides: Iterable[str] = ()) -> Checked:
    """Every mistake of a file that can be found; raises only where it cannot be read at all."""
    text = find(name_or_path)
    draft = _draft(text, overrides)
    if allocation.is_allocation(draft.value):
        allocation.check(draft)
        sort, file = "allocation graph", None
    else:
        file = _pipeline_file(draft, text)
        sort = "graph" if draft.at(("pipeline",)) is None else "pipeline"
    return Checked(name=text.name, sort=sort, mistakes=tuple(sorted(draft.mistakes)), file=file)


def _draft(text: Text, overrides: Iterable[str]) -> Draft:
    draft = read(text.content, name=text.name)
    if draft.value is not None and not isinstance(draft.value, dict):
        raise FileError(
            f"{text.name} must be a mapping with source, modules and streams, "
            f"got {kind(draft.value)}"
        )
    if not draft.value:
        raise FileError(f"{text.name} is empty; a pipeline file has at least source and modules")
    if not allocation.is_allocation(draft.value):
        draft.value.setdefault("guards", ["hold"])
    for setting in overrides:
        override(draft, setting)
    return draft


def _pipeline_file(draft: Draft, text: Text) -> PipelineFile | None:
    check_keys(draft, (), draft.value, SECTIONS, of="a pipeline file")
    timing = checks.read_timing(draft) or checks.Timing()
    source = flow.read_source(draft)
    graph = flow.read_graph(draft, source)
    application = checks.read_application(draft, graph)
    folder = Path(text.origin).parent
    workload = feed.read_workload(draft, source, timing.seed, folder)
    slo = _read_part(draft, "slo", Slo, like="{latency_p95: 5s}")
    cluster = _read_part(draft, "cluster", ClusterSettings, like="{workers: 2, cores: 8}")
    names = graph.names() if graph else ()
    policy, guards = checks.read_policy(draft, names), checks.read_guards(draft, names)
    if draft.mistakes or source is None or graph is None or workload is None:
        return None
    file = PipelineFile(
        name=application or Path(text.origin).stem,
        runnable=application is not None,
        graph=graph,
        step=timing.step,
        duration=timing.lasts,
        seed=timing.seed,
        source=source,
        workload=workload,
        policy=policy,
        guards=guards,
        slo=slo,
        cluster=cluster,
        origin=text.origin,
        text=text.content,
        resolved={},
    )
    return resolve(file, draft.value)


def _read_part(draft: Draft, name: str, part: type[Any], *, like: str) -> Any:
    given = mapping(draft, (name,), of=name, like=like)
    return assemble(draft, (name,), given, part, of=name)


def _first(checked: Checked, name_or_path: str | PurePath) -> str:
    more = len(checked.mistakes) - 1
    rest = f" (and {more} more, listed by `penstock validate {name_or_path}`)" if more else ""
    return f"{checked.mistakes[0]}{rest}"
