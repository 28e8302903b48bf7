"""A fit in a terminal: what was estimated, what it predicts, and whether to trust it."""

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Final

from rich import box
from rich.console import Console
from rich.table import Table

from penstock.cli.words import UNKNOWN, duration, number

if TYPE_CHECKING:
    from penstock.experiment.fit import Estimate, Prediction
    from penstock.record import Run

_RATIOS: Final = ("selectivity", "probability", "service_cv", "overhead_cv")
_FIGURES: Final = {
    "latency_p50": "p50 latency",
    "latency_p95": "p95 latency",
    "latency_p99": "p99 latency",
    "executors_mean": "executors, mean",
    "executor_seconds": "executor-seconds",
    "throughput": "rows a second",
    "backlog_mean": "backlog, mean",
}


def lines(
    run: "Run",
    against: str | None,
    estimates: "Sequence[Estimate]",
    predictions: "Sequence[Prediction]",
    judged: "Prediction",
) -> Iterator[str]:
    """Every line that the command shows."""
    from penstock.experiment.fit import judgement

    yield f"{run.settings.pipeline}, fitted to {len(run.ticks)} steps of {run.path}"
    yield from _printed(_estimates(estimates))
    yield f"prediction of {against or 'the same run'}"
    yield from _printed(_predictions(predictions))
    yield judgement(judged)


def _estimates(estimates: "Sequence[Estimate]") -> Table:
    table = _table("of", "setting", "twin", "file", "samples", "how")
    for told in estimates:
        samples = UNKNOWN if told.kept else f"{told.samples:,}"
        how = f"kept: {told.how}" if told.kept else told.how
        cells = (_value(told.setting, told.value), _value(told.setting, told.file), samples)
        table.add_row(told.of, told.setting, *cells, how)
    return table


def _value(setting: str, value: float) -> str:
    """A setting as people write it.

    >>> _value("overhead", 0.35), _value("selectivity", 2.004)
    ('350 ms', '2')
    """
    return number(value) if setting in _RATIOS else duration(value)


def _predictions(predictions: "Sequence[Prediction]") -> Table:
    table = _table("", "recorded", *(f"by its {told.by}" for told in predictions))
    for place, figure in enumerate(predictions[0].figures):
        told = [prediction.figures[place] for prediction in predictions]
        shown = [f"{_figure(one.name, one.predicted)} ({_error(one.error)})" for one in told]
        table.add_row(_FIGURES[figure.name], _figure(figure.name, figure.recorded), *shown)
    return table


def _figure(name: str, value: float | None) -> str:
    return duration(value) if name.startswith("latency") else number(value)


def _error(error: float | None) -> str:
    """How far off, in percent.

    >>> _error(-0.123), _error(None)
    ('-12 %', '-')
    """
    return UNKNOWN if error is None or not isfinite(error) else f"{100 * error:+.0f} %"


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        right = name not in ("", "of", "setting", "how")
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    return table


def _printed(table: Table) -> Iterator[str]:
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=120)
    with console.capture() as shown:
        console.print(table)
    yield from (line.rstrip() for line in shown.get().splitlines())
