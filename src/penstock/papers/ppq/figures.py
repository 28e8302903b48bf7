"""The data of Fig. 9 to 18: one run of each step by step, and means over seeds."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from penstock.experiment.results import Chart, Entry, Figure, Floats, Line
from penstock.papers.ppq import published
from penstock.papers.ppq import runs as plays
from penstock.papers.ppq.entries import SPLITS, mean_of, milliseconds
from penstock.papers.ppq.runs import Course, Runs
from penstock.papers.ppq.setup import Setup

# The data of Fig. 11, 17 and 18: means over seeds, by what was varied.


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
        notes=(f"The PID aims at {published.SETPOINT:g}; workers are fixed in each run.",),
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


_NAMES: Final = {"map-1k": "Markovian", "ss-0.6": "self-similar"}


def figures(entries: Sequence[Entry], runs: Runs) -> tuple[Figure, ...]:
    """Those that the workloads that ran can tell of."""
    made = (
        _artificial(runs),
        _bursty(runs, "10a", 1),
        _bursty(runs, "10b", 2),
        by_workers(entries),
        _merging(runs),
        _idle(runs),
        _game(runs),
        _throughput(runs),
        by_interval(entries),
        by_slowdown(entries, runs),
    )
    shown = (replace(figure, charts=known(*figure.charts)) for figure in made)
    return tuple(figure for figure in shown if figure.charts)


def _artificial(runs: Runs) -> Figure:
    course = runs.course(plays.artificial())
    return Figure(
        number="9",
        title="The pane stage, as the rate changes in steps",
        charts=tuple(_four(course)) if course else (),
        notes=("The rates of the last three phases are ours; the paper draws them only.",),
    )


def _four(course: Course) -> Iterator[Chart]:
    yield _steps("rate", "tuples/s", course, rate=course.rate)
    yield _steps(
        "workers and parts of a pane", "", course, workers=course.plq, parts=course.splitting
    )
    yield _loads("load", course)
    yield _steps("results", "windows/s", course, windows=course.results)


def _bursty(runs: Runs, number: str, levels: int) -> Figure:
    charts = []
    for workload in plays.BURSTY:
        if course := runs.course(plays.bursty(workload, levels=levels)):
            name = _NAMES[workload]
            charts.append(_loads(f"load, {name}", course))
            charts.append(
                _steps(
                    f"workers and parts of a pane, {name}",
                    "",
                    course,
                    workers=course.plq,
                    parts=course.splitting,
                )
            )
    what = "elasticity only" if levels == 1 else "two levels"
    return Figure(
        number=number, title=f"The pane stage at 80,000 tuples/s, {what}", charts=tuple(charts)
    )


def _merging(runs: Runs) -> Figure:
    both = _both_schedules(runs)
    return Figure(
        number="12",
        title="The window stage with and without tasks that merge, map-1k",
        charts=(
            _beside("workers", "", [(n, c.begin, c.wlq) for n, c in both]),
            _beside("load", "", [(n, c.begin, c.window_load) for n, c in both]),
        )
        if both
        else (),
    )


def _idle(runs: Runs) -> Figure:
    both = _both_schedules(runs)
    return Figure(
        number="13",
        title="Idle time of the window stage, map-1k",
        charts=(_beside("idle", "%", [(n, c.begin, c.idle) for n, c in both]),) if both else (),
    )


def _both_schedules(runs: Runs) -> list[tuple[str, Course]]:
    named = (("without merges", False), ("with merges", True))
    found = [(name, runs.course(plays.merging(on=on))) for name, on in named]
    return [(name, course) for name, course in found if course is not None]


def _game(runs: Runs) -> Figure:
    course = runs.course(plays.summary("game1", "skyline", published=runs.published))
    charts = (
        (
            _steps("rate", "tuples/s", course, rate=course.rate),
            _steps("pane stage", "", course, workers=course.plq, parts=course.splitting),
            _steps("window stage", "", course, workers=course.wlq),
        )
        if course
        else ()
    )
    return Figure(number="14", title="Game1 with two levels", charts=charts, notes=_source(runs))


def _throughput(runs: Runs) -> Figure:
    elastic = runs.course(plays.summary("game1", "skyline", published=runs.published))
    fixed = runs.course(plays.fixed(published=runs.published))
    named = (("two levels", elastic), ("{} and {}, fixed".format(*published.STATIC), fixed))
    lines = [(name, c.begin, c.results) for name, c in named if c is not None]
    return Figure(
        number="15",
        title="Windows a second of Game1",
        charts=(_beside("throughput", "windows/s", lines),) if len(lines) == 2 else (),
        notes=_source(runs),
    )


def _source(runs: Runs) -> tuple[str, ...]:
    return () if runs.published else ("A generated walk with the rates of Game1 (Tab. 3).",)


def _loads(title: str, course: Course) -> Chart:
    setpoint = np.full(len(course.at), published.SETPOINT)
    return _beside(
        title, "", [("load", course.begin, course.load), ("setpoint", course.begin, setpoint)]
    )


def _steps(title: str, unit: str, course: Course, **lines: np.ndarray) -> Chart:
    return _beside(title, unit, [(name, course.begin, values) for name, values in lines.items()])


def _beside(title: str, unit: str, lines: Sequence[tuple[str, np.ndarray, np.ndarray]]) -> Chart:
    return Chart(
        title=title,
        x="s",
        y=unit,
        stepped=True,
        lines=tuple(Line(name=name, x=at, y=values) for name, at, values in lines),
    )
