"""A run from its first step to its report, the same on Spark and on the twin."""

from argparse import Namespace
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.cli.interrupt import Interrupted, Interrupts
from penstock.cli.output import say
from penstock.cli.serve import beside
from penstock.cli.tell import Outcome, Written, tell, tell_nothing
from penstock.cli.view import View, choose_view
from penstock.core.errors import FileError
from penstock.core.loop import control
from penstock.core.roles import Plant, Policy

if TYPE_CHECKING:
    from penstock.pipeline.file import PipelineFile
    from penstock.record import RunFolder, RunSettings

Opener = Callable[["RunFolder"], AbstractContextManager[Plant]]
"""Opens the plant of a run whose folder is there."""


def conduct(args: Namespace, file: "PipelineFile", *, plant: str, opener: Opener, note: str) -> int:
    """Run a pipeline on a plant, record it, show it, and tell how it went.

    `note` is what the user sees until the first step is there.
    """
    from penstock.pipeline.compose import build_policy
    from penstock.record import RunFolder, run_path

    settings = _settings(args, file, plant)
    policy = build_policy(file, settings.started)
    path = Path(args.out) if args.out else _unused(run_path(file.name, settings.started))
    with (
        Interrupts() as interrupts,
        RunFolder.create(path, settings) as folder,
        beside(args, folder),
    ):
        with choose_view(args, file) as view:
            outcome = _drive(policy, folder, opener, view, interrupts, note)
        outcome.stopped_by = interrupts.signal
        if not outcome.ticks:
            logs = folder.withdraw(keep_logs=outcome.error is not None)
            return tell_nothing(args, outcome, logs)
        if outcome.stopped_by:
            steps = f"{len(outcome.ticks)} steps"
            say(f"stopped by {outcome.stopped_by.name} after {steps}; writing what there is")
        written = _finish(file, policy, folder, outcome)
    return tell(args, outcome, settings, written)


def _unused(path: Path) -> Path:
    """The path, or with a number where another run began in the same second."""
    others = (path.with_name(f"{path.name}-{n}") for n in count(2))
    return next(candidate for candidate in chain([path], others) if not candidate.exists())


def _settings(args: Namespace, file: "PipelineFile", plant: str) -> "RunSettings":
    from penstock.record import RunSettings

    return RunSettings(
        pipeline=file.name,
        plant=plant,
        started=datetime.now().astimezone(),
        graph=file.graph,
        command=("penstock", *args.words),
        policy=file.policy.name,
        seed=file.seed,
        slo_latency_p95=file.slo.latency_p95,
        file=file.resolved,
    )


def _drive(
    policy: Policy,
    folder: "RunFolder",
    opener: Opener,
    view: View,
    interrupts: Interrupts,
    note: str,
) -> Outcome:
    """Turn the loop until the run ends, fails or is stopped; the plant is closed in any case."""
    outcome = Outcome()
    plant: Plant | None = None
    try:
        view.note(note)
        with opener(folder) as plant:
            interrupts.install()  # Spark's session takes Ctrl-C for itself
            try:
                interrupts.check()
                for tick in control(plant, policy):
                    with interrupts.deferred():
                        folder.write(tick)
                        outcome.ticks.append(tick)
                        view.show(tick)
            finally:
                interrupts.hold()
    except (Interrupted, KeyboardInterrupt):
        interrupts.settle()
    except Exception as error:
        # What a signal tore down on its way here is no error of its own.
        outcome.error = None if interrupts.signal else error
    interrupts.hold()
    outcome.results = dict(getattr(plant, "results", None) or {})
    return outcome


def _worth(file: "PipelineFile", outcome: Outcome) -> dict[str, object]:
    """What left the pipelines while the run lasted, where several share a cluster."""
    from penstock.pipeline.sharing import weights, worth

    return worth(outcome.ticks, weights(file), outcome.results) if file.parts else {}


def _finish(file: "PipelineFile", policy: Policy, folder: "RunFolder", outcome: Outcome) -> Written:
    """Write what was learned, the summary and the report of what ran."""
    from penstock.policy.learning.saved import learned
    from penstock.record import summarise
    from penstock.report import write_report

    summary = summarise(
        outcome.ticks, file.slo.latency_p95, source=file.graph.source, graph=file.graph
    )
    summary = replace(summary, results={**outcome.results, **_worth(file, outcome)})
    try:
        folder.write_learned(learned(policy))
        folder.finish(summary)
        return Written(folder=folder.path, report=write_report(folder.path), summary=summary)
    except FileError:
        if outcome.error is None:
            raise
        raise outcome.error from None  # the first thing that went wrong is the one to tell
