"""The data of Fig. 11, 17 and 18: means over seeds, by what was varied."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from penstock.experiment.papers import ppq_plays as plays
from penstock.experiment.papers import ppq_printed as printed
from penstock.experiment.papers.ppq_entries import SPLITS, milliseconds
from penstock.experiment.papers.ppq_means import mean_of
from penstock.experiment.papers.ppq_outcome import Runs
from penstock.experiment.papers.ppq_query import Setup
from penstock.experiment.reproduction import Chart, Entry, Figure, Floats, Line

Place = dict[str, str]

_SPLITS: Final = {"even": "even parts", "pid": "PID"}


def by_workers(entries: Sequence[Entry]) -> Figure:
    """Fig. 11: panes split evenly, and as the PID has it."""
    at = np.array(plays.WORKERS, float)

    def line(split: str, quantity: str) -> Line:
        places = [{"table": "11", "workers": str(n), "split": split} for n in plays.WORKERS]
        return _line(entries, _SPLITS[split], at, places, quantity)

    def chart(title: str, unit: str, quantity: str) -> Chart:
        lines = tuple(line(split, quantity) for split in SPLITS.values())
        wide = "y" if quantity == "load" else ""
        return Chart(title=title, x="workers", y=unit, lines=lines, wide=wide)

    return Figure(
        number="11",
        title="Panes split evenly, and just enough, at 80,000 tuples/s",
        charts=known(
            chart("load", "", "load"),
            chart("parts of a pane", "", "splitting"),
            chart("tuples that go on to the window stage", "%", "kept"),
        ),
        notes=(f"The PID aims at {printed.SETPOINT:g}; workers are fixed in each run.",),
    )


def by_interval(entries: Sequence[Entry]) -> Figure:
    """Fig. 17: sensitivity to both intervals."""
    at = 1e3 * np.array(plays.SAMPLINGS)

    def chart(title: str, unit: str, quantity: str) -> Chart:
        lines = [
            _line(
                entries,
                f"every {interval:g} s",
                at,
                [
                    {"table": "17", "interval": f"{interval:g}s", "sampling": milliseconds(s)}
                    for s in plays.SAMPLINGS
                ],
                quantity,
            )
            for interval in plays.INTERVALS
        ]
        return Chart(title=title, x="ms", y=unit, lines=tuple(lines), wide="x")

    return Figure(
        number="17",
        title="Game1 by control interval and sampling period",
        charts=known(
            chart("mean load of the pane stage off the setpoint", "%", "error"),
            chart("its load in a step off what the PID aims at", "%", "distance"),
            chart("variation of throughput", "CV", "cv"),
        ),
        notes=("To the right, milliseconds of a sampling period.",),
    )


def by_slowdown(entries: Sequence[Entry], runs: Runs) -> Figure:
    """Fig. 18: load from outside."""
    at = np.array(plays.SLOWDOWNS)
    places = [{"table": "18", "slowdown": f"{slowdown:g}"} for slowdown in plays.SLOWDOWNS]
    ideal = Line(name="one for each slide", x=at, y=np.full(len(at), 1e6 / Setup().slide))

    def chart(title: str, unit: str, quantity: str, *more: Line) -> Chart:
        line = _line(entries, quantity, at, places, quantity)
        return Chart(title=title, x="times", y=unit, lines=(line, *more))

    return Figure(
        number="18",
        title="Game1 beside other applications, that make tuples take so many times as long",
        charts=known(
            chart("workers of both stages", "", "workers"),
            _over_time(runs),
            chart("throughput", "windows/s", "results", ideal),
        ),
    )


def _over_time(runs: Runs) -> Chart:
    ends = plays.SLOWDOWNS[0], plays.SLOWDOWNS[-1]
    found = [(s, runs.course(plays.beside(s, published=runs.published))) for s in ends]
    lines = [
        Line(name=f"{slowdown:g} times", x=course.begin, y=course.plq + course.wlq)
        for slowdown, course in found
        if course is not None
    ]
    title = "workers of both stages over time"
    return Chart(title=title, x="s", y="", stepped=True, lines=tuple(lines))


def _line(
    entries: Sequence[Entry], name: str, at: Floats, places: Sequence[Place], quantity: str
) -> Line:
    found = [mean_of(entries, **place, quantity=quantity) for place in places]
    return Line(name=name, x=at, y=np.array([np.nan if v is None else v for v in found]))


def known(*charts: Chart) -> tuple[Chart, ...]:
    """Those whose first line has anything to show."""
    return tuple(c for c in charts if c.lines and np.isfinite(c.lines[0].y).any())
