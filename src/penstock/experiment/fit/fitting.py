"""A twin from a recording: what was measured takes the place of what the file assumed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import yaml

from penstock.core.errors import FileError
from penstock.core.graph import FlowGraph, Module
from penstock.core.signals import Tick
from penstock.experiment.fit import checks
from penstock.experiment.fit.arrivals import Recorded, arrivals, stated
from penstock.experiment.fit.batches import MicroBatch, micro_batches
from penstock.experiment.fit.estimate import Estimate, applied, flows, kept, service, start_up
from penstock.pipeline.file import load_text
from penstock.pipeline.format.resolve import resolve
from penstock.pipeline.settings import PipelineFile
from penstock.policy import POLICIES
from penstock.record import Run

# The pipeline file of a recording, with estimates in place of what the file assumed.


_TAKEN: Final = ("seed", "slo", "policy", "guards", "manager", "modules", "streams")
"""Sections of a recorded file that mean something to a twin."""


def make(run: Run, estimates: Sequence[Estimate], *, dry: bool = False) -> PipelineFile:
    """The pipeline of a run under its recorded load, with these estimates, perhaps of another run.

    A dry run becomes one that acts, unless `dry`.
    """
    workload = arrivals(run)
    sections = _sections(run, stated(workload))
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


def _sections(run: Run, workload: Mapping[str, Any]) -> dict[str, Any]:
    """The sections of the recorded file that a twin can do with, its workload replaced."""
    graph, given = run.settings.graph, run.settings.file
    known = {key: given[key] for key in _TAKEN if given.get(key) is not None}
    sections = known if "modules" in given else _attached(run)
    return {**sections, "source": {"module": graph.source}, "workload": dict(workload)}


def _attached(run: Run) -> dict[str, Any]:
    """An application that was attached to has no pipeline file: its graph and policy stand in."""
    graph = run.settings.graph
    return {
        "modules": {module.name: {} for module in graph.modules},
        "streams": [{"from": s.origin, "to": s.target} for s in graph.streams],
        "guards": ["hold", *(["dry-run"] if run.settings.dry else [])],
        "slo": _promise(run),
        "policy": _policy(run),
    }


def _policy(run: Run) -> dict[str, Any]:
    """The policy with its settings; one of the user's own is not ours to build."""
    if not knows_policy(run):
        return {"name": "threshold"}
    told = run.settings.file.get("attached")
    given = told if isinstance(told, Mapping) else {}
    options = {key: value for key, value in given.items() if key.startswith("policy.")}
    return {
        "name": run.settings.policy,
        **{key.removeprefix("policy."): value for key, value in options.items()},
    }


def knows_policy(run: Run) -> bool:
    """Whether the policy of a run is one that a file can name."""
    return run.settings.policy in POLICIES


def _promise(run: Run) -> dict[str, str]:
    promised = run.settings.slo_latency_p95
    return {} if promised is None else {"latency_p95": f"{promised!r}s"}


def _fitted(run: Run, estimates: Sequence[Estimate]) -> FlowGraph:
    graph = run.settings.graph
    names = {told.of for told in estimates if " -> " not in told.of}
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
        told.setting: told.value for told in estimates if told.of == module.name and not told.kept
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
    checks.check(run)
    estimates = tuple(_estimates(run))
    return Fit(file=make(run, estimates), estimates=estimates, notes=checks.notes(run))


def _estimates(run: Run) -> list[Estimate]:
    graph = run.settings.graph
    batches = {module.name: micro_batches(run, module) for module in graph.modules}
    found: list[Estimate] = []
    for module in graph.modules:
        found += _of_module(run.ticks, module, batches)
    return found + flows(run.ticks, graph, batches)


def _of_module(
    ticks: Sequence[Tick], module: Module, batches: Mapping[str, Sequence[MicroBatch]]
) -> list[Estimate]:
    told = batches[module.name]
    trigger = _trigger(module, told)
    timed = replace(module, trigger=trigger.value)
    return [*service(ticks, told, timed), *([trigger] if told else []), start_up(ticks, module)]


def _trigger(module: Module, batches: Sequence[MicroBatch]) -> Estimate:
    """As the file has it; where it has none and there are batches, they follow one another."""
    if module.trigger or not batches:
        return kept(module.name, "trigger", module.trigger, "as the run had it")
    how = "micro-batches, one after the other"
    return Estimate(
        of=module.name,
        setting="trigger",
        value=AT_ONCE,
        file=module.trigger,
        samples=len(batches),
        how=how,
    )


# A fitted twin as a pipeline file, for `penstock simulate` and `penstock compare`.


def write(fitted: Fit, path: Path, *, run: Path) -> tuple[Path, ...]:
    """Write the twin of a run; returns the file, and the trace beside it where there is one.

    Rows that came evenly are a trace. Those that the twin is to draw at random stand in the file
    itself, as rates.
    """
    sections, workload = dict(fitted.file.resolved), fitted.file.workload
    trace = path.with_suffix(".trace")
    written = [path]
    if isinstance(workload, Recorded):
        sections["workload"] = {"kind": "trace", "path": trace.name}
        written.append(trace)
    try:
        path.write_text(_text(sections, run), encoding="utf-8")
        if isinstance(workload, Recorded):
            trace.write_text(workload.trace(), encoding="utf-8")
    except OSError as error:
        raise FileError(
            f"cannot write {error.filename} ({error.strerror}); give --out another file"
        ) from None
    return tuple(written)


def _text(sections: dict[str, Any], run: Path) -> str:
    remark = (
        f"# Twin fitted by `penstock fit {run}`. It can be simulated and compared; to run the\n"
        "# pipeline on Spark, take the file of that run.\n"
    )
    return remark + yaml.safe_dump(sections, sort_keys=False, allow_unicode=True)
