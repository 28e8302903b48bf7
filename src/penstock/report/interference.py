"""Load from outside: a band on the plots, and a sentence on what executors made of it."""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from penstock.core.errors import UserError
from penstock.core.interference import Interference
from penstock.core.settings import build
from penstock.core.words import count_of, duration, short_number
from penstock.record.load import Run
from penstock.record.measures import Column, column, held, modules, reporting, steps, times, total
from penstock.report.figures import Span, span

_MINUTES: Final = 300.0
"""Seconds from which a moment is given in minutes, as everywhere on the page."""


def sentence(run: Run) -> str:
    """What came from outside, and with how many executors it was met; nothing where none came."""
    during, felt = stretch(run), _felt(run)
    if during is None or felt is None:
        return ""
    when = _when(during, run)
    what = (
        f"Beside the executors ran {_processes(felt)} {when}"
        if run.settings.plant == "spark"
        else f"Rows took {_slowdown(felt)} times as long {when}, as beside {_processes(felt)}"
    )
    return f"{what}{_executors(run, during)}."


def _felt(run: Run) -> Interference | None:
    """The interference of the run; None where it had none or its plant knew none."""
    given = run.settings.file.get("interference")
    knows = run.settings.plant == "spark" or bool(reporting(run.ticks, "load"))
    if not isinstance(given, Mapping) or not knows:
        return None
    try:
        interference = build(Interference, given, of="interference")
    except UserError:  # a recording is shown whatever somebody made of its settings
        return None
    return interference if interference.processes else None


def stretch(run: Run) -> Span | None:
    """The part of it that the run lived to see."""
    felt = _felt(run)
    if felt is None or not run.ticks:
        return None
    first, last = span(run.ticks)
    start, end = max(felt.from_, first), min(felt.end, last)
    return Span(start, end, _words(run, felt)) if start < end else None


def _words(run: Run, felt: Interference) -> str:
    if run.settings.plant == "spark":
        return f"beside {_processes(felt)}"
    return f"rows take {_slowdown(felt)} times as long"


def _processes(felt: Interference) -> str:
    return count_of(felt.processes, "busy process")


def _slowdown(felt: Interference) -> str:
    return short_number(felt.pace(felt.from_))


def _when(stretch: Span, run: Run) -> str:
    first, last = span(run.ticks)
    if stretch.end < last:
        return f"from {_moment(stretch.start)} to {_moment(stretch.end)}"
    return f"from {_moment(stretch.start)} on" if stretch.start > first else "throughout"


def _moment(at: float) -> str:
    """A moment of the run.

    >>> _moment(100.0), _moment(600.0)
    ('100 s', '10 min')
    """
    return f"{short_number(at)} s" if at < _MINUTES else duration(at)


def _executors(run: Run, stretch: Span) -> str:
    """How many executors there were before, during and after it, where that is known."""
    known = list(_means(run, stretch))
    if not known:
        return ""
    (mean, when), *rest = known
    means = [f"{short_number(mean)} executors on average {when}"]
    means += [f"{short_number(mean)} {when}" for mean, when in rest]
    return f": {', '.join(means)}"


def _means(run: Run, stretch: Span) -> Iterator[tuple[float, str]]:
    (first, last), ticks = span(run.ticks), run.ticks
    columns = {name: held(column(ticks, name, "running")) for name in modules(ticks)}
    running = total(columns, len(ticks))
    for start, end, when in (
        (first, stretch.start, "before"),
        (stretch.start, stretch.end, "during"),
        (stretch.end, last, "after"),
    ):
        seconds = _seconds(run, start, end)
        known = ~np.isnan(running)
        if seconds[known].sum() > 0:
            yield float(np.average(running[known], weights=seconds[known])), when


def _seconds(run: Run, start: float, end: float) -> Column:
    """Of each step, how much lies between two moments."""
    ends = times(run.ticks)
    begins = ends - steps(run.ticks)
    within: Column = np.minimum(ends, end) - np.maximum(begins, start)
    return np.maximum(within, 0.0)
