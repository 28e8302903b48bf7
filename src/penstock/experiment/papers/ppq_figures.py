"""The data of Fig. 9 to 18: one run of each step by step, and means over seeds."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from penstock.experiment.papers import ppq_plays as plays
from penstock.experiment.papers import ppq_printed as printed
from penstock.experiment.papers.ppq_curves import by_interval, by_slowdown, by_workers, known
from penstock.experiment.papers.ppq_outcome import Runs
from penstock.experiment.papers.ppq_runs import Course
from penstock.experiment.reproduction import Chart, Entry, Figure, Line

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
    named = (("two levels", elastic), ("{} and {}, fixed".format(*printed.STATIC), fixed))
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
    setpoint = np.full(len(course.at), printed.SETPOINT)
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
