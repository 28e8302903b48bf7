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

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Final

from penstock.core.errors import FileError
from penstock.pipeline import allocation, checks, feed, flow, infrastructure
from penstock.pipeline.find import Text, built_in, find
from penstock.pipeline.located import Draft, Mistake, read
from penstock.pipeline.overrides import Setting, override
from penstock.pipeline.policies import read_policy
from penstock.pipeline.resolve import resolve
from penstock.pipeline.sections import assemble, check_keys, kind, mapping
from penstock.pipeline.settings import (
    APPLICATIONS,
    ClusterSettings,
    InfrastructureSettings,
    Part,
    PipelineFile,
    Slo,
)
from penstock.record.secrets import redact_words

__all__ = [
    "APPLICATIONS",
    "Checked",
    "ClusterSettings",
    "InfrastructureSettings",
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
    "query",
    "workload",
    "slo",
    "policy",
    "guards",
    "manager",
    "infrastructure",
    "cluster",
    "interference",
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
    name_or_path: str | PurePath,
    overrides: Iterable[str] = (),
    *,
    conf: Iterable[str] = (),
    to_run: bool = False,
) -> PipelineFile:
    """The file at a path, or the built-in one of a name; `key.path=value` changes a setting.

    `conf` are settings of Spark's, as of `--conf`. With `to_run` the file must name an application;
    a mere graph file will not do.
    """
    overrides = tuple(overrides)
    checked = check(name_or_path, overrides, conf=conf)
    if checked.mistakes:
        raise FileError(_first(checked, name_or_path, overrides))
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


def check(
    name_or_path: str | PurePath, overrides: Iterable[str] = (), *, conf: Iterable[str] = ()
) -> Checked:
    """Every mistake of a file that can be found; raises only where it cannot be read at all."""
    text = find(name_or_path)
    ours = [Setting.of_file(setting, text.name) for setting in overrides]
    settings = [*ours, *(Setting.of_spark(setting) for setting in conf)]
    draft, sort, file = _examine(text, settings)
    mistakes = tuple(sorted(_with_culprits(draft.mistakes, text, settings)))
    return Checked(name=text.name, sort=sort, mistakes=mistakes, file=file)


def _examine(text: Text, settings: Iterable[Setting]) -> tuple[Draft, str, PipelineFile | None]:
    """The draft with its mistakes, what sort of file it is, and the file where it has none."""
    draft = _draft(text, settings)
    if allocation.is_allocation(draft.value):
        allocation.check(draft)
        return draft, "allocation graph", None
    file = _pipeline_file(draft, text)
    return draft, "graph" if draft.at(("pipeline",)) is None else "pipeline", file


def _with_culprits(
    mistakes: Iterable[Mistake], text: Text, settings: Sequence[Setting]
) -> list[Mistake]:
    """The mistakes, each at the setting that brought it where the file itself is not to blame.

    A setting may contradict a line that was right before, such as a step that outlasts the run.
    """
    if not settings or not any(mistake.place.line for mistake in mistakes):
        return list(mistakes)
    culprits: dict[str, Setting | None] = {}
    for count in range(len(settings) + 1):
        for found in _examine(text, settings[:count])[0].mistakes:
            culprits.setdefault(found.sentence, settings[count - 1] if count else None)
    return [_blaming(mistake, culprits[mistake.sentence]) for mistake in mistakes]


def _blaming(mistake: Mistake, culprit: Setting | None) -> Mistake:
    if culprit is None or mistake.place.line == 0:
        return mistake
    return Mistake(culprit.place, mistake.sentence)


def _draft(text: Text, settings: Iterable[Setting]) -> Draft:
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
    for setting in settings:
        override(draft, setting)
    return draft


def _pipeline_file(draft: Draft, text: Text) -> PipelineFile | None:
    check_keys(draft, (), draft.value, SECTIONS, of="a pipeline file")
    timing = checks.read_timing(draft) or checks.Timing()
    source = flow.read_source(draft)
    graph = flow.read_graph(draft, source)
    application = checks.read_application(draft, graph)
    checks.check_sizes(draft, graph)
    folder = Path(text.origin).parent
    workload = feed.read_workload(draft, source, timing.seed, folder)
    query = checks.read_query(draft, application, folder)
    slo = _read_part(draft, "slo", Slo, like="{latency_p95: 5s}")
    cluster = _read_part(draft, "cluster", ClusterSettings, like="{workers: 2, cores: 8}")
    interference = checks.read_interference(draft, cluster)
    guards = checks.read_guards(draft, graph.names() if graph else ())
    manager = infrastructure.read_manager(draft)
    regions = infrastructure.read_infrastructure(draft, graph, slo, folder)
    policy = read_policy(draft, graph, slo, folder)
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
        manager=manager,
        infrastructure=regions,
        slo=slo,
        cluster=cluster,
        query=query,
        interference=interference,
        origin=text.origin,
        text=text.content,
        resolved={},
    )
    return resolve(file, draft.value)


def _read_part(draft: Draft, name: str, part: type[Any], *, like: str) -> Any:
    given = mapping(draft, (name,), of=name, like=like)
    return assemble(draft, (name,), given, part, of=name)


def _first(checked: Checked, name_or_path: str | PurePath, overrides: Iterable[str]) -> str:
    more = len(checked.mistakes) - 1
    words = [str(name_or_path), *(word for one in overrides for word in ("--set", one))]
    listed = f"listed by `penstock validate {shlex.join(redact_words(words))}`"
    return f"{checked.mistakes[0]}{f' (and {more} more, {listed})' if more else ''}"
