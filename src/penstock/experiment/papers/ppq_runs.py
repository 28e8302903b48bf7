"""One run of the query on a stream, control step by control step."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import nan

import numpy as np
from numpy.typing import NDArray

from penstock.core.signals import Observation
from penstock.experiment.papers.ppq_query import PLQ, WLQ, Setup, open_query, policy
from penstock.experiment.papers.ppq_streams import Flow, generated, published
from penstock.plant.twin.panes_observing import PaneTotals

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
