"""Recordings that no twin can be fitted to, each refused with the reason and the remedy."""

from typing import Final

from penstock.core.errors import FileError
from penstock.policy import POLICIES
from penstock.record import Run

FEWEST_STEPS: Final = 10
"""Steps that a recording must have."""


def check(run: Run) -> None:
    """Refuse a recording that is too short, in which nothing ran, or of which there is no twin."""
    if len(run.ticks) < FEWEST_STEPS:
        raise FileError(
            f"the recording {run.path} has {len(run.ticks)} steps, and a fit needs at least "
            f"{FEWEST_STEPS}; record a longer run"
        )
    _check_times(run)
    why = _no_twin(run)
    if why is not None:
        raise FileError(f"the recording {run.path} is of {why}, and `fit` makes no twin of that")
    if not any(_worked(run, name) for name in run.settings.graph.sources):
        raise FileError(
            f"in the recording {run.path} no row was processed; record a run with rows in it"
        )


def _check_times(run: Run) -> None:
    """Refuse steps that take no time or go back in it: whoever wrote them was no run."""
    before = 0.0
    for number, tick in enumerate(run.ticks, start=1):
        if not tick.seen.at > before or not tick.seen.step > 0:
            raise FileError(
                f"step {number} of the recording {run.path} lasts {tick.seen.step:g} s and ends at "
                f"{tick.seen.at:g} s, after one that ends at {before:g} s; was it edited?"
            )
        before = tick.seen.at


def notes(run: Run) -> tuple[str, ...]:
    """What a reader should know of the recording before trusting the fit."""
    told = []
    if run.incomplete:
        told.append(f"{run.path}: {run.incomplete}")
    if run.settings.dry:
        told.append(
            f"{run.path} is a dry run: no executor was asked for, so start-up delays are those of "
            "the file, and the twin is written without dry-run"
        )
    if run.settings.policy is not None and run.settings.policy not in POLICIES:
        told.append(
            f"{run.path} was decided by {run.settings.policy}, which is no policy of Penstock's; "
            "threshold stands in for it"
        )
    return tuple(told)


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


def _worked(run: Run, name: str) -> bool:
    seen = [tick.seen.modules.get(name) for tick in run.ticks]
    return any(reading is not None and reading.processed_rate for reading in seen)
