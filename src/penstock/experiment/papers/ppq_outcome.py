"""What is left of one run when its steps have been counted: what workers hand back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.experiment.papers.ppq_printed import SETPOINT
from penstock.experiment.papers.ppq_runs import Course, Play, Task, carry_out

Floats = NDArray[np.float64]

START: Final = 60.0
"""Seconds that pass, or half of a shorter run, before loads count: both stages begin with one
worker and first have to catch up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One run in figures; NaN where nothing was measured."""

    plq: float
    """Workers of the pane stage on average,"""
    wlq: float
    """and of the window stage."""
    splitting: float
    """Parts of a pane."""
    delta: float
    """Time to the last window beyond the stream's own, as a share of that."""
    cv: float
    """Coefficient of variation of the windows that are done in a slide."""
    load: float
    """Of the pane stage after the start,"""
    window_load: float
    """and of the window stage;"""
    load_of_all: float
    """the same over the whole run."""
    window_load_of_all: float
    distance: float
    """Mean distance of a step's load from what the inner level aims at, as a share of that."""
    settled: float
    """Workers of the pane stage after the start."""
    busy: float
    """Share of their time that workers of the pane stage work."""
    idle: float
    """Share of their time that workers of the window stage do nothing."""
    merges: float
    """Share of the tasks that merge."""
    kept: float
    """Share of the tuples that go on to the window stage."""
    results: float
    """Windows a second."""

    @classmethod
    def of(cls, course: Course, *, aim: float) -> "Score":
        """Count; `aim` is the load that the inner level aims at."""
        totals, later = course.totals, course.at > min(START, course.duration / 2)
        return cls(
            plq=_mean(course.plq),
            wlq=_mean(course.wlq),
            splitting=_share(totals.parts, totals.panes),
            delta=course.ended / course.duration - 1.0,
            cv=_share(float(course.by_slide.std()), float(course.by_slide.mean())),
            load=_mean(course.load[later]),
            window_load=_mean(course.window_load[later]),
            load_of_all=_mean(course.load),
            window_load_of_all=_mean(course.window_load),
            distance=_mean(np.abs(course.load[later] / aim - 1.0)),
            settled=_mean(course.plq[later]),
            busy=_mean(course.busy),
            idle=_mean(course.idle),
            merges=_share(totals.merges, totals.tasks),
            kept=_share(totals.kept, totals.tuples - totals.dropped),
            results=totals.windows / course.ended,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """One run."""

    task: Task
    score: Score
    course: Course


def examine(task: Task) -> Outcome:
    """Carry out one run."""
    course = carry_out(task)
    aim = SETPOINT - (task.play.setup.margin or 0.0)
    return Outcome(task=task, score=Score.of(course, aim=aim), course=course)


@dataclass(frozen=True, slots=True)
class Runs:
    """All of them, to be asked what came of a play."""

    outcomes: Sequence[Outcome]

    @property
    def whole(self) -> bool:
        """Whether streams were played to their end, so that the paper's figures compare."""
        return all(outcome.task.seconds is None for outcome in self.outcomes)

    @property
    def published(self) -> bool:
        """Whether published streams are among them."""
        return any(outcome.task.play.published for outcome in self.outcomes)

    def of(self, play: Play) -> list[Outcome]:
        """One for each seed; none where it was not played."""
        return [outcome for outcome in self.outcomes if outcome.task.play == play]

    def values(self, play: Play, quantity: str) -> list[float]:
        """Of each seed, where it is known."""
        found = [getattr(outcome.score, quantity) for outcome in self.of(play)]
        return [value for value in found if not np.isnan(value)]

    def course(self, play: Play) -> Course | None:
        """Of the first seed."""
        return next((outcome.course for outcome in self.of(play)), None)


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else float("nan")
