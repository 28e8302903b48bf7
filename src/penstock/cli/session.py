"""A run from its first step to its report and its summary, the same on Spark and on the twin."""

from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from signal import Signals
from typing import TYPE_CHECKING, Any

from penstock.cli.interrupt import Interrupted, Interrupts
from penstock.cli.output import duration, number, percent, print_json, print_line, say
from penstock.cli.serve import beside
from penstock.cli.view import View, choose_view
from penstock.core.errors import FileError
from penstock.core.loop import control
from penstock.core.roles import Plant, Policy
from penstock.core.signals import Latency, Tick
from penstock.core.words import count_of, plural

if TYPE_CHECKING:
    from penstock.pipeline.file import PipelineFile
    from penstock.record import RunFolder, RunSettings, SloCheck, Summary


# How a run went, for people and for machines.


@dataclass(slots=True)
class Outcome:
    """What a run came to, however it ended."""

    ticks: list[Tick] = field(default_factory=list)
    results: dict[str, Any] = field(default_factory=dict)
    error: Exception | None = None
    stopped_by: Signals | None = None

    @property
    def exit_code(self) -> int:
        """What a shell expects of a process that a signal ended; 0 where none came."""
        return 0 if self.stopped_by is None else 128 + self.stopped_by


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a run left on the disk."""

    folder: Path
    report: Path
    summary: "Summary"


def print_outcome(
    args: Namespace, outcome: Outcome, settings: "RunSettings", written: Written
) -> int:
    """Print the summary; an error that ended the run is raised with it as details."""
    result = _for_machines(outcome, settings, written)
    if outcome.error is not None:
        if not isinstance(outcome.error, BrokenPipeError):  # the reader of the pipe has gone
            say(f"what ran before the error is in {written.folder}, with {written.report.name}")
        outcome.error.details = result  # type: ignore[attr-defined]  # for the message
        raise outcome.error
    if args.json:
        print_json(result)
    else:
        for line in lines(settings, written):
            print_line(line)
    return outcome.exit_code


def print_no_steps(args: Namespace, outcome: Outcome, logs: Path | None) -> int:
    """Say that no step was run; of a run that failed to start only the logs are left."""
    if outcome.error is not None:
        if logs is not None:
            outcome.error.details = {"logs": str(logs)}  # type: ignore[attr-defined]
            if str(logs) not in str(outcome.error):
                say(f"the run did not start; its logs are in {logs}")
        raise outcome.error
    name = outcome.stopped_by.name if outcome.stopped_by else None
    what = f"stopped by {name} before the first step" if name else "the run had no step"
    say(f"{what}; nothing was written")
    if args.json:
        print_json({"stopped_by": name, "steps": 0})
    return outcome.exit_code


def _for_machines(outcome: Outcome, settings: "RunSettings", written: Written) -> dict[str, Any]:
    return {
        "pipeline": settings.pipeline,
        "plant": settings.plant,
        "policy": settings.policy,
        "seed": settings.seed,
        "folder": str(written.folder),
        "report": str(written.report),
        "stopped_by": outcome.stopped_by.name if outcome.stopped_by else None,
        **written.summary.to_json(),
    }


def lines(settings: "RunSettings", written: Written) -> Iterator[str]:
    """The summary for people."""
    summary = written.summary
    where = "Spark" if settings.plant == "spark" else f"the {settings.plant}"
    dry = ", a dry run in which nothing was carried out" * settings.dry
    ran = f"{duration(summary.duration)}, {count_of(summary.steps, 'step')}{dry}"
    yield ""
    yield f"{settings.pipeline} on {where}: {ran}"
    files = (("folder", str(written.folder)), ("report", str(written.report)))
    for name, text in (*_rows(summary), *files):
        yield f"  {name:<15} {text}"


def _rows(summary: "Summary") -> Iterator[tuple[str, str]]:
    """Each line by its name; those about regions, stages, energy and cost where there are any."""
    from penstock.record.results import (
        LONGEST,
        describe_energy,
        describe_nodes,
        describe_requests,
        describe_silent_regions,
        results,
    )

    yield "rows", _flow(summary)
    yield "latency", _latency(summary.latency, summary.slo)
    yield (
        "executors",
        f"{number(summary.executors_min)} to {number(summary.executors_max)}, "
        f"{number(summary.executors_mean)} on average, "
        f"{number(summary.executor_seconds_total)} executor-seconds",
    )
    yield "changes", _changes(summary)
    if nodes := [*filter(None, (describe_nodes(summary), describe_silent_regions(summary)))]:
        yield "nodes", "; ".join(nodes)
    if summary.requests:
        yield "requests", describe_requests(summary)
    if stages := _stages(summary):
        yield "stages", "; ".join(stages)
    if summary.energy is not None:
        yield "energy", describe_energy(summary.energy, summary.duration)
    for name, module in summary.modules.items():
        if module.cost is not None:
            efficiency = f"efficiency {number(module.efficiency)}"
            yield (
                name,
                f"{number(module.throughput)} rows/s, {efficiency}, cost {number(module.cost)}",
            )
    if summary.cost is not None:
        yield "cost", f"{number(summary.cost)} in all"
    for name, value, words in results(summary):
        shown = "none" if _is_bare(value) else words
        yield name, shown if len(shown) <= LONGEST else "in the report"


def _flow(summary: "Summary") -> str:
    """Rows as the steps saw them, and what was left when the last ones had been waited for."""
    counts = f"{number(summary.rows_arrived)} came, {number(summary.rows_processed)} processed"
    most, last = number(summary.backlog_max), number(summary.backlog_final)
    if summary.left is None:
        return f"{counts}; backlog at most {most}, {last} at the end"
    return f"{counts}; backlog at most {most}, {last} at the last step, {_left(summary.left)}"


def _left(left: Mapping[str, int]) -> str:
    """What was left after the drain; not added up, because modules take in rows of their own kind.

    >>> _left({"splitter": 0, "counter": 12}), _left({"splitter": 0})
    ('12 before counter after the drain', 'none after the drain')
    """
    waiting = [f"{number(rows)} before {name}" for name, rows in left.items() if rows]
    return f"{' and '.join(waiting) or 'none'} after the drain"


def _stages(summary: "Summary") -> list[str]:
    """How loaded the stages were, how finely panes were split, how many windows came."""
    loads = [f"{name} {percent(load)}" for name, load in summary.load_mean.items()]
    return [
        *([f"load of {', '.join(loads)}"] if loads else []),
        *(
            f"{number(parts)} {plural(parts, 'part')} a pane"
            for parts in summary.splitting_mean.values()
        ),
        *(f"{number(rate)} windows/s" for rate in summary.results_rate_mean.values()),
    ]


def _latency(latency: Latency | None, slo: "SloCheck | None") -> str:
    """Quantiles, and how often the promise was kept; steps that may hide an overload apart.

    >>> from penstock.record import SloCheck
    >>> slo = SloCheck(latency_p95=10, met=25, violated=3, unknown=2, violated_share=3 / 28)
    >>> _latency(None, slo)
    'not measured; promised p95 10 s, kept in 25 of 28 steps (89 %), 2 more measured none'
    """
    measured = "not measured"
    if latency is not None:
        quantiles = ("p50", "p95", "p99")
        measured = ", ".join(f"{name} {duration(getattr(latency, name))}" for name in quantiles)
    if slo is None:
        return measured
    promised = f"{measured}; promised p95 {duration(slo.latency_p95)}"
    if slo.violated_share is None:
        return f"{promised}, which no step could measure"
    share = percent(slo.met / slo.measured)
    kept = f"{promised}, kept in {slo.met} of {slo.measured} steps ({share})"
    return f"{kept}, {slo.stalled} more measured none" if slo.stalled else kept


def _changes(summary: "Summary") -> str:
    from penstock.record.results import describe_changes

    steps, failed, gaps = summary.reconfigurations, summary.failed_tasks, summary.steps_with_gaps
    changed = f"in {count_of(steps, 'step')}: {describe_changes(summary)}" if steps else "none"
    return "; ".join(
        [
            changed,
            *([f"{count_of(failed, 'task')} failed"] if failed else []),
            *([f"{count_of(gaps, 'step')} lacked a measurement"] if gaps else []),
        ]
    )


def _is_bare(value: object) -> bool:
    """Whether a result lists things, and there are none.

    >>> _is_bare({"length": 5.0, "symbols": []}), _is_bare({"length": 5.0})
    (True, False)
    """
    lists = [v for v in value.values() if isinstance(v, list)] if isinstance(value, dict) else []
    return bool(lists) and not any(lists)


Opener = Callable[["RunFolder"], AbstractContextManager[Plant]]
"""Opens the plant of a run whose folder is there."""


def conduct(args: Namespace, file: "PipelineFile", *, plant: str, opener: Opener, note: str) -> int:
    """Run a pipeline on a plant, record it, show it, and print its summary.

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
            return print_no_steps(args, outcome, logs)
        if outcome.stopped_by:
            steps = count_of(len(outcome.ticks), "step")
            say(f"stopped by {outcome.stopped_by.name} after {steps}; writing what there is")
        written = _finish(file, policy, folder, outcome)
    return print_outcome(args, outcome, settings, written)


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
    from penstock.policy.rl.saved import learned
    from penstock.record import summarise
    from penstock.report.page import write_report

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
        raise outcome.error from None  # the first error is the one to report
