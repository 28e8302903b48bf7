"""One run of the query on a stream, control step by control step."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import nan
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.signals import Observation
from penstock.papers.ppq.published import SETPOINT, STATIC, STREAMS
from penstock.papers.ppq.setup import (
    FILES,
    MARGIN,
    PLQ,
    WLQ,
    Flow,
    Setup,
    generated,
    open_query,
    policy,
    published,
)
from penstock.twin.panes.observing import PaneTotals

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """A way to run the query, and the stream that it meets."""

    workload: str
    setup: Setup = field(default_factory=Setup)
    published: bool = False
    """Whether the stream is the one of the authors, and not generated."""
    rate: float | None = None
    """Mean tuples a second; Tab. 3's unless given."""
    seconds: float | None = None
    """Only the first of them; all unless given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A play with a seed."""

    play: Play
    seed: int
    seconds: float | None = None
    """Only the first of them, whatever the play is about; all unless given."""
    data: str | None = None
    """Folder of the published streams."""

    def flow(self) -> Flow:
        """The stream that it meets."""
        play = self.play
        if play.published and self.data is not None:
            whole = published(play.workload, self.data)
        else:
            whole = generated(play.workload, self.seed, play.rate)
        return whole.first(play.seconds).first(self.seconds)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Course:
    """What was measured in each control step, NaN where nothing was, and of the whole run."""

    at: Floats
    """Seconds at the end of the step."""
    rate: Floats
    """Tuples a second that came."""
    plq: Floats
    """Workers."""
    wlq: Floats
    load: Floats
    """Of the pane stage,"""
    window_load: Floats
    """and of the window stage."""
    splitting: Floats
    """Parts of a pane."""
    busy: Floats
    """Share of the time that workers of the pane stage work."""
    idle: Floats
    """Share of the time that workers of the window stage do nothing."""
    results: Floats
    """Windows a second."""
    by_slide: Floats
    """Windows that were done in each slide of the run."""
    totals: PaneTotals
    duration: float
    ended: float
    """When the last window was done."""

    @property
    def begin(self) -> Floats:
        """Seconds at the beginning of each step."""
        return np.append(0.0, self.at[:-1])


def carry_out(task: Task) -> Course:
    """Run the query for as long as tuples come, and until their last window is done.

    >>> course = carry_out(Task(play=Play(workload="map-1k"), seed=1, seconds=7.5))
    >>> course.plq.tolist(), course.wlq.tolist()
    ([1.0, 2.0, 3.0], [1.0, 1.0, 2.0])
    """
    flow, setup = task.flow(), task.play.setup
    twin, decide = open_query(setup, flow, task.seed), policy(setup)
    seen = []
    for observation in twin.readings():
        seen.append(observation)
        twin.apply(decide(observation))
    ended = twin.drain()
    by_slide = _by_slide(twin.windows()[:, 1], setup.slide / 1e6)
    return _course(seen, twin.totals(), by_slide, flow.duration, ended)


def _by_slide(done: Floats, slide: float) -> Floats:
    counted = np.bincount((done / slide).astype(np.int64), minlength=1)
    return counted.astype(np.float64)


def _course(
    seen: Sequence[Observation], totals: PaneTotals, by_slide: Floats, duration: float, ended: float
) -> Course:
    return Course(
        at=np.array([o.at for o in seen]),
        rate=_column(seen, PLQ, "arrival_rate"),
        plq=_column(seen, PLQ, "running"),
        wlq=_column(seen, WLQ, "running"),
        load=_column(seen, PLQ, "load"),
        window_load=_column(seen, WLQ, "load"),
        splitting=_column(seen, PLQ, "splitting"),
        busy=_column(seen, PLQ, "utilisation"),
        idle=1.0 - _column(seen, WLQ, "utilisation"),
        results=_column(seen, WLQ, "results_rate"),
        by_slide=by_slide,
        totals=totals,
        duration=duration,
        ended=ended,
    )


def _column(seen: Sequence[Observation], module: str, quantity: str) -> Floats:
    found = (getattr(o.modules[module], quantity) for o in seen)
    return np.array([nan if value is None else value for value in found], np.float64)


# What is left of one run when its steps have been counted: what workers hand back.


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


# What is run for each figure and table of the ppq paper; what two of them ask for runs once.


QUERIES: Final = ("skyline", "top-delta")
BURSTY: Final = ("map-1k", "ss-0.6")
"""Streams of Fig. 10."""
WORKERS: Final = tuple(range(1, 13))
"""Of Fig. 11."""
INTERVALS: Final = (1.25, 2.5, 5.0, 10.0)
"""Seconds between decisions in Fig. 17,"""
SAMPLINGS: Final = (0.05, 0.125, 0.25, 0.625, 1.25)
"""and of the sampling periods."""
SLOWDOWNS: Final = (1.0, 1.25, 1.5, 1.75, 2.0)
"""Of Fig. 18."""
MARGINS: Final = (0.0, 0.1, MARGIN, 0.3)
"""By how much lower the inner level may aim: beyond the paper."""
_FAST: Final = 80e3
"""Tuples a second of Fig. 10 and 11, in"""
_BRIEF: Final = 60.0
"""so many seconds."""
_PANES: Final = 100_000
"""Microseconds of a pane in Fig. 9 to 11."""
_ALL: Final = 61
"""Workers, with which the pane stage can have the paper's 60."""


def artificial() -> Play:
    """Fig. 9."""
    return Play(workload="steps", setup=Setup(slide=_PANES, windows=False, plq=3))


def bursty(workload: str, *, levels: int) -> Play:
    """Fig. 10: elasticity only, or both levels."""
    usual = Setup(slide=_PANES, windows=False, pool=_ALL)
    alone = Setup(slide=_PANES, windows=False, pool=_ALL, margin=None)
    setup = usual if levels == 2 else alone
    return Play(workload=workload, setup=setup, rate=_FAST, seconds=_BRIEF)


def split(workers: int, *, even: bool) -> Play:
    """Fig. 11: so many workers all the time; panes are split evenly, or as the PID has it."""
    setup = Setup(slide=_PANES, windows=False, outer=False, margin=0.0, even=even, plq=workers)
    return Play(workload="map-1k", setup=setup, rate=_FAST, seconds=_BRIEF)


def merging(*, on: bool) -> Play:
    """Fig. 12 and 13."""
    return Play(workload="map-1k", setup=Setup(merging=on))


def summary(workload: str, query: str, *, published: bool) -> Play:
    """A row of Tab. 4 or 5."""
    return Play(workload=workload, setup=Setup(query=query), published=published)


def fixed(*, published: bool) -> Play:
    """Fig. 15: the workers that are enough for Game1, all the time."""
    plq, wlq = STATIC
    return Play(workload="game1", setup=Setup(outer=False, plq=plq, wlq=wlq), published=published)


def sensitivity(interval: float, sampling: float, *, published: bool) -> Play:
    """Fig. 17."""
    setup = Setup(step=interval, sampling=sampling)
    return Play(workload="game1", setup=setup, published=published)


def beside(slowdown: float, *, published: bool) -> Play:
    """Fig. 18."""
    return Play(workload="game1", setup=Setup(slowdown=slowdown), published=published)


def aimed(margin: float) -> Play:
    """Beyond the paper: both levels, the inner one aiming so much lower."""
    return Play(workload="map-4k", setup=Setup(margin=margin))


def plays(workloads: Sequence[str], *, published: bool) -> list[Play]:
    """All that these workloads take part in, each once.

    >>> [play.setup.query for play in plays(("rw",), published=False)]
    ['skyline', 'top-delta']
    """
    return [p for p in dict.fromkeys(_all(published=published)) if p.workload in workloads]


def _all(*, published: bool) -> Iterator[Play]:
    """Those that take longest come first."""
    for query in QUERIES:
        for workload in STREAMS:
            yield summary(workload, query, published=False)
            if published and workload in FILES:
                yield summary(workload, query, published=True)
    yield from (merging(on=on) for on in (True, False))
    yield artificial()
    yield from (bursty(workload, levels=levels) for workload in BURSTY for levels in (1, 2))
    yield from (split(workers, even=even) for workers in WORKERS for even in (True, False))
    yield fixed(published=published)
    for interval in INTERVALS:
        yield from (sensitivity(interval, s, published=published) for s in SAMPLINGS)
    yield from (beside(slowdown, published=published) for slowdown in SLOWDOWNS)
    yield from (aimed(margin) for margin in MARGINS)
