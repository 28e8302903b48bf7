"""A twin from a recording: measured values replace those that the pipeline file assumed.

Recordings that no twin can be fitted to are refused with the reason and the remedy. The rows of a
recording become a workload, the measurements become estimates, and both a pipeline file.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from math import ceil
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, Final

import numpy as np
import yaml

from penstock.core.errors import FileError, SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.core.roles import Workload
from penstock.core.signals import Tick
from penstock.experiment.fit.batches import MicroBatch, micro_batches
from penstock.experiment.fit.estimate import (
    Estimate,
    ModuleRecord,
    applied,
    estimated,
    flows,
    kept,
    service,
    start_up,
)
from penstock.pipeline.file import load_text
from penstock.pipeline.format.resolve import resolve
from penstock.pipeline.settings import PipelineFile
from penstock.policy import POLICIES
from penstock.record import Run
from penstock.record.measures import column, steps, times
from penstock.workload import WORKLOADS, Step
from penstock.workload.curve import Curve, Curved

FEWEST_STEPS: Final = 10
"""Steps that a recording must have."""


def check(run: Run) -> None:
    """Refuse a recording that is too short, in which nothing ran, or of which there is no twin."""
    if len(run.ticks) < FEWEST_STEPS:
        raise FileError(
            f"the recording {run.path} has {len(run.ticks)} steps, and a fit needs at least "
            f"{FEWEST_STEPS}; record a longer run"
        )
    before = 0.0
    for number, tick in enumerate(run.ticks, start=1):  # no run writes steps like these
        if not tick.seen.at > before or not tick.seen.step > 0:
            raise FileError(
                f"step {number} of the recording {run.path} lasts {tick.seen.step:g} s and ends at "
                f"{tick.seen.at:g} s, after one that ends at {before:g} s; was it edited?"
            )
        before = tick.seen.at
    why = _no_twin(run)
    if why is not None:
        raise FileError(f"the recording {run.path} is of {why}, and `fit` makes no twin of that")
    processed = (
        reading.processed_rate
        for tick in run.ticks
        for name, reading in tick.seen.modules.items()
        if name in run.settings.graph.sources
    )
    if not any(processed):
        raise FileError(
            f"in the recording {run.path} no row was processed; record a run with rows in it"
        )


def notes(run: Run) -> tuple[str, ...]:
    """What a reader should know of the recording before trusting the fit."""
    notes = []
    if run.incomplete:
        notes.append(f"{run.path}: {run.incomplete}")
    if run.settings.dry:
        notes.append(
            f"{run.path} is a dry run: no executor was asked for, so start-up delays are those of "
            "the file, and the twin is written without dry-run"
        )
    if run.settings.policy is not None and run.settings.policy not in POLICIES:
        notes.append(
            f"{run.path} was decided by {run.settings.policy}, which is no policy of Penstock's; "
            "threshold stands in for it"
        )
    return tuple(notes)


def _no_twin(run: Run) -> str | None:
    graph, file = run.settings.graph, run.settings.file
    if graph.also or "pipelines" in file:
        return "several pipelines on one cluster"
    if "infrastructure" in file:
        return "a pipeline whose nodes are decided about"
    if "query" in file:
        return "a preference query"
    keyed = [module.name for module in graph.modules if module.keys]
    return f"a pipeline with rows routed by key ({keyed[0]})" if keyed else None


@dataclass(frozen=True, slots=True)
class Recorded(Curved):
    """Rows as they came, evenly within each second; after the last second none come.

    >>> Recorded((2.0, 4.0)).times(np.array([0.0, 1.0, 2.0, 5.0, 6.0])).tolist()
    [0.5, 1.0, 1.25, 2.0, inf]
    """

    drawn: ClassVar[bool] = True

    counts: tuple[float, ...]
    """Rows that came in each second."""

    def curve(self, *, until: float = 0.0, rows: float = 0.0) -> Curve:  # noqa: ARG002  # it ends
        """A segment for each second."""
        return _curve(self.counts)

    def trace(self) -> str:
        """As a file that the workload `trace` reads."""
        lines = (f"{second} {count:.6g}" for second, count in enumerate(self.counts))
        return "# second, rows that came\n" + "\n".join(lines) + "\n"


@lru_cache(maxsize=32)
def _curve(counts: tuple[float, ...]) -> Curve:
    starts = np.arange(len(counts) + 1, dtype=np.float64)
    return Curve.through(starts=starts, rates=np.append(counts, 0.0))


def arrivals(run: Run) -> Workload:
    """What came to the source module.

    Within a step, the rows of Spark's own sources and of traces come evenly, as they did. Those of
    a twin that drew its rows at random, and of an application that was attached to, are drawn.
    """
    levels = _levels(run.ticks, run.settings.graph.source)
    step = Step(levels=levels)
    if not _even(run):
        return step
    seconds = ceil(run.ticks[-1].seen.at)
    edges = np.arange(seconds + 1, dtype=np.float64)
    counts = np.diff(step.arrivals(np.minimum(edges, run.ticks[-1].seen.at)))
    return Recorded(tuple(float(f"{count:.6g}") for count in counts))


def as_section(workload: Workload) -> dict[str, Any]:
    """The same as a section of a pipeline file, which needs no other file."""
    if isinstance(workload, Recorded):
        levels = {f"{second}s": f"{count!r}/s" for second, count in enumerate(workload.counts)}
        return {"kind": "step", "levels": levels}
    if not isinstance(workload, Step):
        raise TypeError(f"a recording gives no {type(workload).__name__}")
    return {"kind": "step", "levels": {f"{at!r}s": f"{rate!r}/s" for rate, at in workload.levels}}


def _levels(ticks: Sequence[Tick], source: str) -> tuple[tuple[float, float], ...]:
    """Rates and the moments from which they hold; those that are unknown lie between the others."""
    rates, ends = column(ticks, source, "arrival_rate"), times(ticks)
    known = ~np.isnan(rates)
    if not known.any():
        raise FileError(f"the recording has no arrival rate of {source}; record another run")
    filled = np.interp(ends, ends[known], rates[known])
    begins = np.maximum(ends - steps(ticks), 0.0)
    begins[0] = 0.0
    pairs = dict(zip(begins.tolist(), filled.tolist(), strict=True))
    return tuple((rate, at) for at, rate in sorted(pairs.items()))


def _even(run: Run) -> bool:
    given = run.settings.file.get("workload")
    if run.settings.plant == "spark":
        return given is not None
    kind = given.get("kind") if isinstance(given, Mapping) else WORKLOADS.split(str(given))[0]
    try:
        return bool(getattr(WORKLOADS.get(str(kind)), "drawn", False))
    except SettingError:  # a plug-in that is not installed here
        return False


# The pipeline file of a recording, with estimates in place of what the file assumed.


_TAKEN: Final = ("seed", "slo", "policy", "guards", "manager", "modules", "streams")
"""Sections of a recorded file that mean something to a twin."""


def make(run: Run, estimates: Sequence[Estimate], *, dry: bool = False) -> PipelineFile:
    """The pipeline of a run under its recorded load, with these estimates, perhaps of another run.

    A dry run becomes one that acts, unless `dry`.
    """
    workload, given = arrivals(run), run.settings.file
    known = {key: given[key] for key in _TAKEN if given.get(key) is not None}
    sections: dict[str, Any] = {
        **(known if "modules" in given else _attached(run)),
        "source": {"module": run.settings.graph.source},
        "workload": as_section(workload),
    }
    if not dry:
        sections["guards"] = [guard for guard in sections["guards"] if guard != "dry-run"]
    file = load_text(json.dumps(sections), name=f"the file of {run.path}")
    file = replace(
        file,
        name=run.settings.pipeline,
        graph=_fitted(run, estimates),
        workload=workload,
        step=fmean(tick.seen.step for tick in run.ticks),
        duration=run.ticks[-1].seen.at,
    )
    return resolve(file, sections)


def _attached(run: Run) -> dict[str, Any]:
    """An application that was attached to has no pipeline file: its graph and policy stand in."""
    graph, promised = run.settings.graph, run.settings.slo_latency_p95
    policy: dict[str, Any] = {"name": "threshold"}  # one of the user's own is not ours to build
    if knows_policy(run):
        given = run.settings.file.get("attached")
        options = given.items() if isinstance(given, Mapping) else ()
        ours = {k.removeprefix("policy."): v for k, v in options if k.startswith("policy.")}
        policy = {"name": run.settings.policy, **ours}
    return {
        "modules": {module.name: {} for module in graph.modules},
        "streams": [{"from": s.origin, "to": s.target} for s in graph.streams],
        "guards": ["hold", *(["dry-run"] if run.settings.dry else [])],
        "slo": {} if promised is None else {"latency_p95": f"{promised!r}s"},
        "policy": policy,
    }


def knows_policy(run: Run) -> bool:
    """Whether the policy of a run is one that a file can name."""
    return run.settings.policy in POLICIES


def _fitted(run: Run, estimates: Sequence[Estimate]) -> FlowGraph:
    graph = run.settings.graph
    names = {each.of for each in estimates if " -> " not in each.of}
    if names and names != set(graph.names()):
        raise FileError(
            f"the recording {run.path} has modules {', '.join(graph.names())}, and the twin "
            f"{', '.join(sorted(names))}; a twin predicts runs of its own pipeline"
        )
    modules = tuple(_module(run, module, estimates) for module in graph.modules)
    return replace(graph, modules=modules, streams=applied(graph.streams, estimates))


def _module(run: Run, module: Module, estimates: Sequence[Estimate]) -> Module:
    """A module as it was measured, with the replicas that it began with."""
    values: dict[str, Any] = {
        each.setting: each.value for each in estimates if each.of == module.name and not each.kept
    }
    if module.max_batch is not None and values.get("service_time") and module.service_time:
        # it stands for a number of rows, which the run had whatever these took
        values["max_batch"] = module.max_batch * values["service_time"] / module.service_time
    first = run.ticks[0].seen.modules.get(module.name)
    begun = (first.running if first else None) or module.initial_replicas
    begun = min(max(begun, module.min_replicas), module.max_replicas)
    return replace(module, **values, initial_replicas=begun)


AT_ONCE: Final = 0.1
"""Trigger of a module that forms micro-batches as soon as rows wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A twin that was fitted to a recording."""

    file: PipelineFile
    """The pipeline of the recording with what was measured, under the load that was recorded."""
    estimates: tuple[Estimate, ...]
    notes: tuple[str, ...]
    """What a reader should know of the recording before trusting it."""


def fit(run: Run) -> Fit:
    """Build a twin from a recording; one that cannot be fitted is refused.

    fit(load(Path("runs/demo"))).file
    """
    check(run)
    estimates = tuple(_estimates(run))
    return Fit(file=make(run, estimates), estimates=estimates, notes=notes(run))


def _estimates(run: Run) -> list[Estimate]:
    graph = run.settings.graph
    batches = {module.name: micro_batches(run, module) for module in graph.modules}
    modules = [_of_module(run.ticks, module, batches) for module in graph.modules]
    return [*chain.from_iterable(modules), *flows(run.ticks, graph, batches)]


def _of_module(
    ticks: Sequence[Tick], module: Module, batches: Mapping[str, Sequence[MicroBatch]]
) -> list[Estimate]:
    own = batches[module.name]
    trigger = kept(module, "trigger", "as the run had it")
    if own and not module.trigger:
        how = "micro-batches, one after the other"
        trigger = estimated(module, "trigger", AT_ONCE, len(own), how)
    timed = service(ModuleRecord(ticks, replace(module, trigger=trigger.value), own))
    return [*timed, *([trigger] if own else []), start_up(ticks, module)]


# A fitted twin as a pipeline file, for `penstock simulate` and `penstock compare`.


def write(fitted: Fit, path: Path, *, run: Path) -> tuple[Path, ...]:
    """Write the twin of a run; returns the file, and the trace beside it where there is one.

    Rows that came evenly are a trace. Those that the twin is to draw at random stand in the file
    itself, as rates.
    """
    sections, workload = dict(fitted.file.resolved), fitted.file.workload
    trace = path.with_suffix(".trace")
    if isinstance(workload, Recorded):
        sections["workload"] = {"kind": "trace", "path": trace.name}
    remark = (
        f"# Twin fitted by `penstock fit {run}`. It can be simulated and compared; to run the\n"
        "# pipeline on Spark, take the file of that run.\n"
    )
    texts = {path: remark + yaml.safe_dump(sections, sort_keys=False, allow_unicode=True)}
    if isinstance(workload, Recorded):
        texts[trace] = workload.trace()
    try:
        for file, text in texts.items():
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FileError(
            f"cannot write {error.filename} ({error.strerror}); give --out another file"
        ) from None
    return tuple(texts)
