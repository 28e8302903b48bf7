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
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from types import SimpleNamespace
from typing import Any

from penstock.core.errors import FileError
from penstock.core.located import Draft, Mistake, read
from penstock.pipeline import sharing
from penstock.pipeline.format import allocation, rules
from penstock.pipeline.format.allocation import AllocationGraph
from penstock.pipeline.format.find import Text, built_in, find
from penstock.pipeline.format.model import STEPS, PipelineSections, Timing
from penstock.pipeline.format.overrides import Setting, override
from penstock.pipeline.format.preference import PreferenceQuery
from penstock.pipeline.format.resolve import resolve, resolve_shared
from penstock.pipeline.format.rules import Reading
from penstock.pipeline.format.sections import kind, read_sections
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
    written = _written(text)
    draft, sort, content = _examine(written, text, settings)
    mistakes = tuple(sorted(_with_culprits(draft.mistakes, written, text, settings)))
    return Checked(
        name=text.name,
        sort=sort,
        mistakes=mistakes,
        file=content if isinstance(content, PipelineFile) else None,
        graph=content if isinstance(content, AllocationGraph) else None,
    )


def _written(text: Text) -> Draft:
    """What the file says, before settings of the command line."""
    draft = read(text.content, name=text.name)
    if draft.value is not None and not isinstance(draft.value, dict):
        raise FileError(
            f"{text.name} must be a mapping with source, modules and streams, "
            f"got {kind(draft.value)}"
        )
    if not draft.value:
        empty = f"{text.name} is empty; a pipeline file has at least source and modules"
        raise FileError(str(next(iter(draft.mistakes), empty)))
    if not allocation.is_allocation(draft.value):
        draft.value.setdefault("guards", ["hold"])
    return draft


def _examine(
    written: Draft, text: Text, settings: Iterable[Setting]
) -> tuple[Draft, str, PipelineFile | AllocationGraph | None]:
    """The draft with its mistakes, what sort of file it is, and the file where it has none."""
    draft = deepcopy(written)
    for setting in settings:
        override(draft, setting)
    if sharing.is_shared(draft.value):
        return draft, "pipelines", _shared_file(draft, text)
    if allocation.is_allocation(draft.value):
        return draft, "allocation graph", allocation.read_allocation(draft)
    file = _pipeline_file(draft, text)
    return draft, "graph" if draft.at(("pipeline",)) is None else "pipeline", file


def _with_culprits(
    mistakes: Sequence[Mistake], written: Draft, text: Text, settings: Sequence[Setting]
) -> list[Mistake]:
    """The mistakes, each at the setting that brought it where the file itself is not to blame.

    A setting may contradict a line that was right before, such as a step that outlasts the run.
    """
    unclear = {mistake.sentence for mistake in mistakes if mistake.place.line}
    culprits: dict[str, Setting | None] = {}
    for count in range(len(settings)):
        if unclear <= culprits.keys():
            break
        for mistake in _examine(written, text, settings[:count])[0].mistakes:
            culprits.setdefault(mistake.sentence, settings[count - 1] if count else None)
    last = settings[-1] if settings else None
    return [_blaming(mistake, culprits.get(mistake.sentence, last)) for mistake in mistakes]


def _blaming(mistake: Mistake, culprit: Setting | None) -> Mistake:
    if culprit is None or mistake.place.line == 0:
        return mistake
    return Mistake(culprit.place, mistake.sentence)


def _pipeline_file(draft: Draft, text: Text) -> PipelineFile | None:
    sections = read_sections(draft, PipelineSections, of="a pipeline file", called="the pipeline")
    reading = _reading(draft, text, sections, sections.seed)
    fed = _fed(reading, text, sections)
    places = rules.read_places(reading)
    for rule in rules.OF_A_FILE:
        rule(reading)
    rules.check_control(reading, places)
    if draft.mistakes or fed is None:
        return None
    manager = sections.manager or (Part("conflicts") if sections.infrastructure else None)
    file = replace(fed, manager=manager, **_control(reading))
    if places is not None:
        given = sections.infrastructure
        file = replace(
            file,
            infrastructure=InfrastructureSettings(
                places=places,
                policy=reading.with_saved(given.policy, ("infrastructure", "policy")),
                manager=given.manager,
            ),
        )
    return resolve(file, draft.value)


def _control(reading: Reading) -> dict[str, Any]:
    """What decides about a file without mistakes, and where it runs."""
    given = reading.sections
    cores = given.cluster.workers * given.cluster.cores
    return {
        "policy": reading.with_saved(given.policy, ("policy",)),
        "guards": tuple(given.guards),
        "slo": given.slo,
        "cluster": given.cluster,
        "interference": given.interference and given.interference.among(cores),
    }


def _fed(reading: Reading, text: Text, timing: SimpleNamespace) -> PipelineFile | None:
    """The graph of a pipeline and what feeds it; nothing decides for it yet."""
    sections = reading.sections
    reading.graph = rules.read_graph(reading)
    workload = rules.read_workload(reading)
    for rule in rules.OF_A_PIPELINE:
        rule(reading)
    if sections.source is None or reading.graph is None or workload is None:
        return None
    step = timing.step or Timing.step
    application = reading.application
    takes_query = application is not None and application.takes_query
    return PipelineFile(
        name=application.name if application else Path(text.origin).stem,
        application=sections.pipeline,
        graph=reading.graph,
        step=step,
        duration=timing.duration or STEPS * step,
        seed=reading.seed,
        source=sections.source,
        workload=workload,
        policy=Part("static"),
        guards=(),
        slo=Slo(),
        cluster=ClusterSettings(),
        query=(sections.query or PreferenceQuery()) if takes_query else None,
        sink=sections.sink.kafka if sections.sink else None,
        weight=getattr(sections, "weight", None) or 1.0,
        origin=text.origin,
        text=text.content,
        resolved={},
    )


def _shared_file(draft: Draft, text: Text) -> PipelineFile | None:
    """Several pipelines on one cluster."""
    sharing.check_policy(draft)
    sections, drafts = sharing.read_whole(draft), sharing.drafts(draft)
    reading = _reading(draft, text, sections, sections.seed)
    reading.shared = {"cores": None, "weights": {}}  # the file has them, whatever they are
    read_parts = {
        # From one seed, but two pipelines that are alike do not have the same rows.
        name: _shared_part(part, text, sections, name, reading.seed + place)
        for place, (name, part) in enumerate(drafts.items())
    }
    parts = {name: part for name, part in read_parts.items() if part is not None}
    whole = None
    if parts and len(parts) == len(drafts) and sections.cores is not None:
        renamed = {name: sharing.renamed(name, part) for name, part in parts.items()}
        reading.graph = sharing.side_by_side(part.graph for part in renamed.values())
        whole = replace(
            next(iter(renamed.values())),
            name=Path(text.origin).stem,
            application=None,
            graph=reading.graph,
            parts=renamed,
            cores=sections.cores,
            executors=sections.executors or "own",
            query=None,
        )
        if sections.policy is not None:
            sharing.check_cores(draft, whole, sections.policy.name)
        reading.shared = sharing.given(whole)
        if draft.doubts(("cores",)):
            reading.shared |= {"cores": None}
    rules.check_control(reading)
    if draft.mistakes or whole is None:
        return None
    whole = replace(whole, **_control(reading))
    sharing.check_exchanges(draft, whole)
    values = {name: part.value for name, part in drafts.items()}
    return None if draft.mistakes else resolve_shared(whole, parts, values)


def _shared_part(
    draft: Draft, text: Text, whole: SimpleNamespace, name: str, seed: int
) -> PipelineFile | None:
    return _fed(_reading(draft, text, sharing.read_part(draft, name), seed), text, whole)


def _reading(draft: Draft, text: Text, sections: SimpleNamespace, seed: int | None) -> Reading:
    given = Timing.seed if seed is None else seed
    return Reading(draft=draft, folder=Path(text.origin).parent, sections=sections, seed=given)


def _first(checked: Checked, name_or_path: str | PurePath, overrides: Iterable[str]) -> str:
    more = len(checked.mistakes) - 1
    words = [str(name_or_path), *(word for one in overrides for word in ("--set", one))]
    listed = f"listed by `penstock validate {shlex.join(redact_words(words))}`"
    return f"{checked.mistakes[0]}{f' (and {more} more, {listed})' if more else ''}"
