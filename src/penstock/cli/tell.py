"""How a run went, for people and for machines."""

from argparse import Namespace
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from signal import Signals
from typing import TYPE_CHECKING, Any

from penstock.cli.output import print_json, print_line, say
from penstock.cli.words import duration, number, percent
from penstock.core.signals import Latency, Tick

if TYPE_CHECKING:
    from penstock.record import RunSettings, SloCheck, Summary


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


def tell(args: Namespace, outcome: Outcome, settings: "RunSettings", written: Written) -> int:
    """Say how the run went; an error that ended it is raised with what there is to tell."""
    told = _for_machines(outcome, settings, written)
    if outcome.error is not None:
        if not isinstance(outcome.error, BrokenPipeError):  # whoever hung up wants to hear no more
            say(f"what ran before the error is in {written.folder}, with {written.report.name}")
        outcome.error.details = told  # type: ignore[attr-defined]  # for whoever explains it
        raise outcome.error
    if args.json:
        print_json(told)
    else:
        for line in lines(settings, written, outcome.results):
            print_line(line)
    return outcome.exit_code


def tell_nothing(args: Namespace, outcome: Outcome) -> int:
    """Say that no step was run, and that nothing was written."""
    if outcome.error is not None:
        raise outcome.error
    name = outcome.stopped_by.name if outcome.stopped_by else None
    say(f"stopped by {name} before the first step; nothing was written")
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


def lines(settings: "RunSettings", written: Written, results: Mapping[str, Any]) -> Iterator[str]:
    """The summary for people."""
    summary = written.summary
    where = "Spark" if settings.plant == "spark" else f"the {settings.plant}"
    yield ""
    yield f"{settings.pipeline} on {where}: {duration(summary.duration)}, {summary.steps} steps"
    yield _row("rows", _rows(summary))
    yield _row("latency", _latency(summary.latency, summary.slo))
    yield _row("executors", _executors(summary))
    yield _row("changes", _changes(summary))
    yield from (_row(name.replace("_", " "), _result(value)) for name, value in results.items())
    yield _row("folder", str(written.folder))
    yield _row("report", str(written.report))


def _row(name: str, text: str) -> str:
    return f"  {name:<16}{text}"


def _rows(summary: "Summary") -> str:
    return (
        f"{number(summary.rows_arrived)} came, {number(summary.rows_processed)} processed; "
        f"backlog at most {number(summary.backlog_max)}, {number(summary.backlog_final)} at the end"
    )


def _latency(latency: Latency | None, slo: "SloCheck | None") -> str:
    measured = "not measured"
    if latency is not None:
        levels = (("p50", latency.p50), ("p95", latency.p95), ("p99", latency.p99))
        measured = ", ".join(f"{name} {duration(value)}" for name, value in levels)
    if slo is None:
        return measured
    known = slo.met + slo.violated
    kept = None if slo.violated_share is None else 1 - slo.violated_share
    return (
        f"{measured}; promised p95 {duration(slo.latency_p95)}, "
        f"kept in {slo.met} of {known} steps ({percent(kept)})"
    )


def _executors(summary: "Summary") -> str:
    return (
        f"{number(summary.executors_min)} to {number(summary.executors_max)}, "
        f"{number(summary.executors_mean)} on average, "
        f"{number(summary.executor_seconds_total)} executor-seconds"
    )


def _changes(summary: "Summary") -> str:
    told = (
        f"{summary.reconfigurations}, of which {summary.scale_outs} out and {summary.scale_ins} in"
    )
    if summary.failed_tasks:
        told += f"; {summary.failed_tasks} tasks failed"
    if summary.steps_with_gaps:
        told += f"; {summary.steps_with_gaps} steps lacked a measurement"
    return told


def _result(value: Any) -> str:
    """A result in a line.

    >>> _result({"river": 12, "mill": 7})
    'river 12, mill 7'
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_result(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_result(item) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, int | float) else str(value)
