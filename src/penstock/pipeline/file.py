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
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any, Final

from penstock.core.errors import FileError
from penstock.core.located import Draft, Mistake, read
from penstock.pipeline import sharing
from penstock.pipeline.format import allocation, checks, feed, flow, infrastructure, kafka
from penstock.pipeline.format.allocation import AllocationGraph
from penstock.pipeline.format.find import Text, built_in, find
from penstock.pipeline.format.model import PipelineSections, SharedSections, Timing, sections
from penstock.pipeline.format.overrides import Setting, override
from penstock.pipeline.format.policies import read_policy
from penstock.pipeline.format.resolve import resolve, resolve_shared
from penstock.pipeline.format.sections import assemble, check_keys, kind, mapping
from penstock.pipeline.settings import (
    ClusterSettings,
    InfrastructureSettings,
    Part,
    PipelineFile,
    Slo,
)
from penstock.pipeline.shape import APPLICATIONS
from penstock.record.settings import redact_words

__all__ = [
    "Checked",
    "ClusterSettings",
    "InfrastructureSettings",
    "Part",
    "PipelineFile",
    "Slo",
    "built_in",
    "check",
    "load",
    "load_allocation",
    "load_text",
]

SECTIONS: Final = sections(PipelineSections)

OF_SHARED: Final = sections(SharedSections)
"""Of a file with several pipelines, which say the rest for themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a check found: what sort of file it is, and all that is wrong with it."""

    name: str
    sort: str
    """`pipeline`, `pipelines` where several share a cluster, `graph` or `allocation graph`; the
    last two can be planned but not run."""
    mistakes: tuple[Mistake, ...]
    file: PipelineFile | None
    """None where there are mistakes, and for an allocation graph."""
    graph: AllocationGraph | None = None
    """Where the file is an allocation graph without mistakes."""


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
    checked = _sound(name_or_path, overrides, conf=conf)
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


def load_text(content: str, *, name: str) -> PipelineFile:
    """The file of a text that stands in no file yet, such as that of a twin that was fitted.

    >>> text = "{source: {module: count, rate: 9/s}, modules: {count: {service_time: 1ms}}}"
    >>> load_text(text, name="mine").graph.names()
    ('count',)
    """
    checked = _checked(Text(name=name, origin=name, content=content), [])
    if checked.mistakes or checked.file is None:
        raise FileError(str(next(iter(checked.mistakes), f"{name} is no pipeline file")))
    return checked.file


def load_allocation(name_or_path: str | PurePath, overrides: Iterable[str] = ()) -> AllocationGraph:
    """The allocation graph at a path; `key.path=value` changes a setting."""
    checked = _sound(name_or_path, overrides)
    if checked.graph is None:
        raise FileError(
            f"{checked.name} is no allocation graph; give it a budget, sources and sinks"
        )
    return checked.graph


def _sound(
    name_or_path: str | PurePath, overrides: Iterable[str], *, conf: Iterable[str] = ()
) -> Checked:
    overrides = tuple(overrides)
    checked = check(name_or_path, overrides, conf=conf)
    if checked.mistakes:
        raise FileError(_first(checked, name_or_path, overrides))
    return checked


def check(
    name_or_path: str | PurePath, overrides: Iterable[str] = (), *, conf: Iterable[str] = ()
) -> Checked:
    """Every mistake of a file that can be found; raises only where it cannot be read at all."""
    text = find(name_or_path)
    ours = [Setting.of_file(setting, text.name) for setting in overrides]
    return _checked(text, [*ours, *(Setting.of_spark(setting) for setting in conf)])


def _checked(text: Text, settings: Sequence[Setting]) -> Checked:
    draft, sort, content = _examine(text, settings)
    mistakes = tuple(sorted(_with_culprits(draft.mistakes, text, settings)))
    return Checked(
        name=text.name,
        sort=sort,
        mistakes=mistakes,
        file=content if isinstance(content, PipelineFile) else None,
        graph=content if isinstance(content, AllocationGraph) else None,
    )


def _examine(
    text: Text, settings: Iterable[Setting]
) -> tuple[Draft, str, PipelineFile | AllocationGraph | None]:
    """The draft with its mistakes, what sort of file it is, and the file where it has none."""
    draft = _draft(text, settings)
    if sharing.is_shared(draft.value):
        return draft, "pipelines", _shared_file(draft, text)
    if allocation.is_allocation(draft.value):
        return draft, "allocation graph", allocation.read_allocation(draft)
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
        for earlier in _examine(text, settings[:count])[0].mistakes:
            culprits.setdefault(earlier.sentence, settings[count - 1] if count else None)
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
    timing = checks.read_timing(draft) or Timing()
    fed = _fed(draft, text, timing)
    graph = fed.graph if fed else None
    folder = Path(text.origin).parent
    slo = _read_part(draft, "slo", Slo, like="{latency_p95: 5s}")
    cluster = _read_part(draft, "cluster", ClusterSettings, like="{workers: 2, cores: 8}")
    interference = checks.read_interference(draft, cluster)
    guards = checks.read_guards(draft, graph.names() if graph else (), cluster)
    manager = infrastructure.read_manager(draft)
    regions = infrastructure.read_infrastructure(draft, graph, slo, folder)
    policy = read_policy(draft, graph, slo, folder, timing.seed)
    sharing.check_alone(draft, policy.name)
    if draft.mistakes or fed is None:
        return None
    file = replace(
        fed,
        policy=policy,
        guards=guards,
        manager=manager,
        infrastructure=regions,
        slo=slo,
        cluster=cluster,
        interference=interference,
    )
    return resolve(file, draft.value)


def _fed(draft: Draft, text: Text, timing: Timing) -> PipelineFile | None:
    """The graph of a pipeline and what feeds it; nothing decides for it yet."""
    source = flow.read_source(draft)
    graph = flow.read_graph(draft, source)
    application = checks.read_application(draft, graph)
    checks.check_sizes(draft, graph)
    folder = Path(text.origin).parent
    workload = feed.read_workload(draft, source, timing.seed, folder)
    query = checks.read_query(draft, application, folder)
    kafka.check_suits(draft, source.kafka if source else None, application)
    sink = kafka.read_sink(draft)
    if source is None or graph is None or workload is None:
        return None
    return PipelineFile(
        name=application.name if application else Path(text.origin).stem,
        application=draft.at(("pipeline",)),
        graph=graph,
        step=timing.step,
        duration=timing.lasts,
        seed=timing.seed,
        source=source,
        workload=workload,
        policy=Part("static"),
        guards=(),
        slo=Slo(),
        cluster=ClusterSettings(),
        query=query,
        sink=sink,
        origin=text.origin,
        text=text.content,
        resolved={},
    )


def _shared_file(draft: Draft, text: Text) -> PipelineFile | None:
    """Several pipelines on one cluster."""
    sharing.check_sections(draft, OF_SHARED)
    timing = checks.read_timing(draft) or Timing()
    shares = sharing.read_sharing(draft)
    drafts = sharing.drafts(draft)
    read_parts = {
        # From one seed, but two pipelines that are alike do not have the same rows.
        name: _shared_part(part, text, replace(timing, seed=timing.seed + place))
        for place, (name, part) in enumerate(drafts.items())
    }
    parts = {name: part for name, part in read_parts.items() if part is not None}
    if len(parts) < len(drafts) or not parts or shares is None:
        return None
    renamed = {name: sharing.renamed(name, part) for name, part in parts.items()}
    graph = sharing.side_by_side(part.graph for part in renamed.values())
    slo = _read_part(draft, "slo", Slo, like="{latency_p95: 5s}")
    cluster = _read_part(draft, "cluster", ClusterSettings, like="{workers: 2, cores: 8}")
    first = next(iter(renamed.values()))
    whole = replace(
        first,
        name=Path(text.origin).stem,
        application=None,
        graph=graph,
        parts=renamed,
        cores=shares.cores,
        executors=shares.executors,
        query=None,
        slo=slo,
        cluster=cluster,
        interference=checks.read_interference(draft, cluster),
        guards=checks.read_guards(draft, graph.names(), cluster),
    )
    folder = Path(text.origin).parent
    sharing.check_policy(draft)
    policy = read_policy(draft, graph, slo, folder, timing.seed, sharing.given(whole))
    whole = replace(whole, policy=policy)
    sharing.check_cores(draft, whole, policy.name)
    if not draft.mistakes:
        sharing.check_exchanges(draft, whole)
    if draft.mistakes:
        return None
    values = {name: part.value for name, part in drafts.items()}
    return resolve_shared(whole, parts, values)


def _shared_part(draft: Draft, text: Text, timing: Timing) -> PipelineFile | None:
    weight = sharing.read_weight(draft)
    fed = _fed(draft, text, timing)
    return replace(fed, weight=weight) if fed else None


def _read_part(draft: Draft, name: str, part: type[Any], *, like: str) -> Any:
    given = mapping(draft, (name,), of=name, like=like)
    return assemble(draft, (name,), given, part, of=name)


def _first(checked: Checked, name_or_path: str | PurePath, overrides: Iterable[str]) -> str:
    more = len(checked.mistakes) - 1
    words = [str(name_or_path), *(word for one in overrides for word in ("--set", one))]
    listed = f"listed by `penstock validate {shlex.join(redact_words(words))}`"
    return f"{checked.mistakes[0]}{f' (and {more} more, {listed})' if more else ''}"
