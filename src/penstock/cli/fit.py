"""`penstock fit`: a twin from a recorded run."""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from penstock.cli.options import Option
from penstock.cli.output import UNKNOWN, duration, number, print_json, print_line, say
from penstock.core.errors import UserError
from penstock.core.extras import require
from penstock.core.words import percent

if TYPE_CHECKING:
    from rich.table import Table

    from penstock.experiment.fit import Estimate, Prediction


HELP: Final = "build a twin from a recorded run and report how well it predicts"
EXAMPLES: Final = """\
examples:
  penstock fit runs/demo
  penstock fit runs/demo --out my-twin.yaml && penstock simulate ./my-twin.yaml
  penstock fit runs/monday --against runs/tuesday
  penstock fit runs/demo --json | jq .predictions.policy.latency_p95.error
"""


OPTIONS: Final = (
    Option("run", "RUN", "the folder of a run"),
    Option("--out", "FILE", "write the twin as a pipeline file, such as my-twin.yaml"),
    Option("--against", "RUN2", "predict this run instead, under its own load and policy"),
)


def execute(args: Namespace) -> int:
    """Fit, predict, and write and print the results."""
    require("twin", "fitting", "numba", "rich")
    from penstock.experiment.fit import decisive, fit, judgement, predict
    from penstock.experiment.fit.fitting import notes, write
    from penstock.experiment.fit.predicting import GOOD
    from penstock.record import load

    out = None if args.out is None else Path(args.out)
    if out is not None and out.suffix not in (".yaml", ".yml"):  # else a built-in pipeline
        raise UserError(f"--out needs a file that ends in .yaml, got {out}")
    run = load(Path(args.run))
    other = run if args.against is None else load(Path(args.against))
    fitted = fit(run)
    predictions = predict(other, fitted.estimates)
    judged = decisive(other, predictions)
    remarks = fitted.notes if args.against is None else (*fitted.notes, *notes(other))
    for note in remarks:
        say(note)
    written = () if out is None else write(fitted, out, run=run.path)
    if args.json:
        print_json(
            {
                "run": str(run.path),
                "against": args.against,
                "pipeline": run.settings.pipeline,
                "plant": run.settings.plant,
                "steps": len(run.ticks),
                "estimates": [asdict(estimate) for estimate in fitted.estimates],
                "predictions": {each.by: _figures(each) for each in predictions},
                "within": GOOD,
                "good": judged.good,
                "judgement": judgement(judged),
                "notes": list(remarks),
                "written": [str(path) for path in written],
            }
        )
        return 0
    print_line(f"{run.settings.pipeline}, fitted to {len(run.ticks)} steps of {run.path}")
    _print(_estimates(fitted.estimates))
    print_line(f"prediction of {args.against or 'the same run'}")
    _print(_predictions(predictions))
    print_line(judgement(judged))
    for path in written:
        print_line(f"written: {path}")
    return 0


def _figures(prediction: "Prediction") -> dict[str, Any]:
    return {
        figure.name: {
            "recorded": figure.recorded,
            "predicted": figure.predicted,
            "error": figure.error if figure.error is None or isfinite(figure.error) else None,
        }
        for figure in prediction.figures
    }


# A fit in a terminal: what was estimated, what it predicts, and whether to trust it.


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


def _estimates(estimates: "Sequence[Estimate]") -> "Table":
    table = _table("of", "setting", "twin", "file", "samples", "how")
    for each in estimates:
        samples = UNKNOWN if each.kept else f"{each.samples:,}"
        how = f"kept: {each.how}" if each.kept else each.how
        cells = (_value(each.setting, each.value), _value(each.setting, each.file), samples)
        table.add_row(each.of, each.setting, *cells, how)
    return table


def _value(setting: str, value: float) -> str:
    """A setting as people write it.

    >>> _value("overhead", 0.35), _value("selectivity", 2.004)
    ('350 ms', '2')
    """
    return number(value) if setting in _RATIOS else duration(value)


def _predictions(predictions: "Sequence[Prediction]") -> "Table":
    table = _table("", "recorded", *(f"by its {each.by}" for each in predictions))
    for place, figure in enumerate(predictions[0].figures):
        beside = [prediction.figures[place] for prediction in predictions]
        shown = [f"{_figure(one.name, one.predicted)} ({_error(one.error)})" for one in beside]
        table.add_row(_FIGURES[figure.name], _figure(figure.name, figure.recorded), *shown)
    return table


def _figure(name: str, value: float | None) -> str:
    return duration(value) if name.startswith("latency") else number(value)


def _error(error: float | None) -> str:
    """How far off, in percent.

    >>> _error(-0.123), _error(None)
    ('-12 %', '-')
    """
    return UNKNOWN if error is None or not isfinite(error) else percent(error, "+.0f")


def _table(*columns: str) -> "Table":
    from rich import box  # only who shows a table needs it
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        right = name not in ("", "of", "setting", "how")
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    return table


def _print(table: "Table") -> None:
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=120)
    with console.capture() as shown:
        console.print(table)
    for line in shown.get().splitlines():
        print_line(line.rstrip())
