"""A twin from a recording: what was measured takes the place of what the file assumed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from penstock.core.graph import Module
from penstock.core.signals import Tick
from penstock.experiment.fit import checks
from penstock.experiment.fit.batches import MicroBatch, micro_batches
from penstock.experiment.fit.estimate import Estimate, kept
from penstock.experiment.fit.flows import flows
from penstock.experiment.fit.making import make
from penstock.experiment.fit.service import service
from penstock.experiment.fit.starting import start_up
from penstock.pipeline.settings import PipelineFile
from penstock.record import Run

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
