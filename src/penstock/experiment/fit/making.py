"""The pipeline file of a recording, with estimates in place of what the file assumed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, Final

from penstock.core.errors import FileError
from penstock.core.graph import FlowGraph, Module
from penstock.experiment.fit.arrivals import arrivals, stated
from penstock.experiment.fit.estimate import Estimate
from penstock.experiment.fit.flows import applied
from penstock.pipeline.file import load_text
from penstock.pipeline.resolve import resolve
from penstock.pipeline.settings import PipelineFile
from penstock.policy import POLICIES
from penstock.record import Run

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
