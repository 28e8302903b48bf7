"""The preference query of the ppq paper on the twin, its streams, and the ways in which it is run.

The streams are Fig. 9's steps and those of Tab. 3. All are generated; seven were published as
tuples a second, and `--data` plays these too. A generated stream is drawn again until its mean rate
and its busiest second are near Tab. 3. The two games are walks with the bounds of the published
ones.

>>> flow = generated("map-1k", seed=1)
>>> counts = np.diff(flow.workload.arrivals(np.arange(flow.duration + 1.0)))
>>> f"{counts.mean():,.0f} tuples/s, {counts.max() / counts.mean():.2f} in the busiest second"
'30,690 tuples/s, 1.58 in the busiest second'
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count as count_up
from math import inf, nan
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.interference import Interference
from penstock.core.panes import Panes
from penstock.core.roles import Policy, Workload
from penstock.core.settings import near
from penstock.core.signals import ModuleReading, Observation
from penstock.papers import data as file
from penstock.papers.framework import Collected, Options, Results, Run, Values, collect
from penstock.policy.fuzzy import Fuzzy
from penstock.policy.fuzzy.splitting import SplittingControl
from penstock.policy.static import Static
from penstock.twin.panes.observing import PaneTotals
from penstock.twin.panes.state import Costs
from penstock.twin.panes.twin import PaneTwin
from penstock.workload import LognormalWalk, Markovian, SelfSimilar, Step, Trace, drawn
from penstock.workload.trace import read_counts

Floats = NDArray[np.float64]

PUBLISHED: Final = file.published(__package__)
SETPOINT: Final[float] = PUBLISHED.setpoint
STREAMS: Final[tuple[str, ...]] = tuple(PUBLISHED.table_3)
"""Of Tab. 3 to 5."""
WORKLOADS: Final = ("steps", *STREAMS)
"""With the artificial scenario of Fig. 9."""
FILES: Final = {
    "rw": "arrivals_elastic.txt",
    "map-1k": "arrivals_map_i1K.txt",
    "map-2k": "arrivals_map_i2K.txt",
    "ss-0.6": "arrivals_pareto_h0.6.txt",
    "ss-0.7": "arrivals_pareto_h0.7.txt",
    "game1": "arrivals_Game1_2x.txt",
    "game2": "arrivals_Game2_2x.txt",
}
"""Those that were published."""
SECONDS: Final = {
    "steps": 180,
    "rw": 423,
    "map-1k": 329,
    "map-2k": 337,
    "map-3k": 330,
    "map-4k": 330,
    "ss-0.6": 390,
    "ss-0.7": 376,
    "ss-0.8": 384,
    "game1": 415,
    "game2": 192,
}
"""How long each lasts: as long as it was published, or as others of its kind."""
DISORDER: Final = 0.4
"""Seconds by which a tuple of a synthetic stream is late at most: 0.2 on average."""
DISORDER_OF_GAMES: Final = {"game1": 2 * 0.0171, "game2": 2 * 0.0141}
"""The same of the games, from their mean delays; the few that are seconds late are left out."""
PHASES: Final = tuple(zip((40e3, 50e3, 70e3, 75e3, 60e3, 45e3), range(0, 180, 30), strict=True))
"""Fig. 9: tuples a second, and from when on. The last three are drawn without figures."""
_NEAR: Final = (0.1, 0.25)
"""Shares within which mean rate and busiest second are those of Tab. 3."""
_TRIES: Final = 100_000
"""More than any seed ever takes: no two try the same stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """A stream, how long it lasts, and by how much its tuples are late."""

    workload: Workload
    duration: float
    disorder: float

    def first(self, seconds: float | None) -> "Flow":
        """Only so many seconds of it."""
        return replace(self, duration=min(self.duration, seconds or inf))


def generated(name: str, seed: int, rate: float | None = None) -> Flow:
    """A stream of the paper, drawn with a seed; at another mean rate, if one is given."""
    if name not in WORKLOADS:
        raise SettingError(f"there is no workload {name!r} in the paper{near(name, WORKLOADS)}")
    if name == "steps":
        return _flow(name, Step(levels=PHASES))
    if rate is not None:
        return _flow(name, _draw(name, rate, seed))
    drawn = (
        _draw(name, PUBLISHED.table_3[name]["rate"], _TRIES * seed + again) for again in count_up()
    )
    return _flow(name, next(workload for workload in drawn if _typical(name, workload)))


def published(name: str, data: str) -> Flow:
    """The same as its authors had it, by the second."""
    path = str(Path(data) / FILES[name])
    last, _ = read_counts(path)
    return replace(_flow(name, Trace(path)), duration=float(last[-1] + 1.0))


def _flow(name: str, workload: Workload) -> Flow:
    disorder = DISORDER_OF_GAMES.get(name, DISORDER)
    return Flow(workload=workload, duration=float(SECONDS[name]), disorder=disorder)


def _draw(name: str, rate: float, seed: int) -> Workload:
    kind, _, number = name.partition("-")
    if kind == "map":
        return Markovian(dispersion=1e3 * float(number[:-1]), rate_=rate, seed=seed)
    if kind == "ss":
        return SelfSimilar(hurst=float(number), rate_=rate, seed=seed)
    start, low, high, walk = _WALKS[kind]
    return LognormalWalk(start=start * rate, low=low * rate, high=high * rate, seed=seed, **walk)


_WALKS: Final[dict[str, tuple[float, float, float, dict[str, float]]]] = {
    "rw": (0.42, 0.28, 4.2, {"sigma": 0.43}),
    "game1": (1.0, 0.5, 1.46, {"sigma": 0.12, "period": 1.0}),
    "game2": (1.0, 0.8, 1.17, {"sigma": 0.06, "period": 1.0}),
}
"""Start and bounds of a walk by its mean rate, and its moves: those of the published ones."""


def _typical(name: str, workload: Workload) -> bool:
    counts = np.diff(workload.arrivals(np.arange(SECONDS[name] + 1.0)))
    drawn = counts.mean(), counts.max() / counts.mean()
    pairs = zip(drawn, PUBLISHED.table_3[name].values(), _NEAR, strict=True)
    return all(abs(ours / paper - 1) <= near for ours, paper, near in pairs)


PLQ: Final = "plq"
WLQ: Final = "wlq"
TUPLE: Final = 22e-6
"""Seconds of a tuple in the pane stage, and"""
COMPARISON: Final = 0.2e-6
"""of each comparison with another. With these two as many workers are enough as in Fig. 9 (3 for
40,000 tuples/s, 4 for 50,000, 6 but not 5 for 70,000) and in Fig. 11 (7 for 80,000)."""
TASK: Final = 100e-6
"""Seconds of a task of the window stage besides its comparisons: next to nothing."""
FACTORS: Final = {"skyline": (1.0, 1.0), "top-delta": (2.25, 1.15)}
"""How many times as long a comparison takes in either stage. Of top-delta fitted to one row of
Tab. 5, MAP with a dispersion of 1,000."""
MARGIN: Final = 0.2
"""By how much lower the inner level aims than the outer one."""
POOL: Final = 59
"""Workers of both stages."""
WINDOW: Final = 1_000_000
"""Microseconds."""
STEP: Final = 2.5
"""Seconds between decisions,"""
SAMPLING: Final = 0.25
"""and between two looks of the inner level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One way to run the query; as it stands, with both levels as in Section 5.3."""

    query: str = "skyline"
    slide: int = 200_000
    """Microseconds."""
    outer: bool = True
    """Whether workers are decided."""
    margin: float | None = MARGIN
    """By how much lower the inner level aims; None leaves panes whole."""
    even: bool = False
    """Split all panes among all workers."""
    merging: bool = True
    windows: bool = True
    """Whether tasks of the window stage take their time; without, the pane stage is alone."""
    plq: int = 1
    """Workers at the start."""
    wlq: int = 1
    pool: int = POOL
    step: float = STEP
    sampling: float = SAMPLING
    slowdown: float = 1.0
    """How many times as long everything takes."""


def open_query(setup: Setup, flow: Flow, seed: int) -> PaneTwin:
    """The twin of a query that has seen nothing yet."""
    return PaneTwin(
        graph(setup),
        flow.workload,
        panes=Panes(window=WINDOW, slide=setup.slide),
        step=setup.step,
        duration=flow.duration,
        costs=costs(setup),
        splitting=splitting(setup),
        merging=setup.merging,
        disorder=flow.disorder,
        interference=Interference(processes=1, slowdown=setup.slowdown),
        seed=seed,
        arrivals="even" if drawn(flow.workload) else "poisson",
    )


def policy(setup: Setup) -> Policy:
    """The outer level, or none."""
    return _fuzzy(setup) if setup.outer else Static()


def graph(setup: Setup) -> FlowGraph:
    """Both stages, with workers that come at once."""
    most = setup.pool - 1
    return FlowGraph(
        source=PLQ,
        modules=(
            Module(name=PLQ, service_time=TUPLE, initial_replicas=setup.plq, max_replicas=most),
            Module(name=WLQ, service_time=TASK, initial_replicas=setup.wlq, max_replicas=most),
        ),
        streams=(Stream(origin=PLQ, target=WLQ),),
    )


def costs(setup: Setup) -> Costs:
    """What tuples and tasks take."""
    in_panes, in_windows = FACTORS[setup.query]
    return Costs(
        tuple_time=TUPLE,
        comparison=in_panes * COMPARISON,
        window_comparison=in_windows * COMPARISON if setup.windows else 0.0,
        task_time=TASK,
    )


def splitting(setup: Setup) -> SplittingControl | None:
    """The inner level; where panes are split evenly, one that always splits as far as it can."""
    if setup.even:
        return SplittingControl(period=setup.sampling, low=_ALWAYS - 1.0, high=_ALWAYS)
    return _fuzzy(setup).inner


def _fuzzy(setup: Setup) -> Fuzzy:
    return Fuzzy(
        graph(setup),
        setpoint=SETPOINT,
        margin=setup.margin or 0.0,
        split=setup.margin is not None,
        sampling=setup.sampling,
        pool=setup.pool,
    )


_ALWAYS: Final = 20.0
"""Turns of the workers within a pane."""


# One run of the query on a stream, control step by control step.


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
    def workers(self) -> Floats:
        """Of both stages."""
        return self.plq + self.wlq

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
    slides = (twin.windows()[:, 1] / (setup.slide / 1e6)).astype(np.int64)
    return _course(
        seen,
        totals=twin.totals(),
        by_slide=np.bincount(slides, minlength=1).astype(np.float64),
        duration=flow.duration,
        ended=ended,
    )


def _course(seen: Sequence[Observation], **whole: Any) -> Course:
    columns: dict[str, Any] = {
        name: np.array([_known(o.modules[module], metric) for o in seen], np.float64)
        for name, (module, metric) in _COLUMNS.items()
    }
    columns["idle"] = 1.0 - columns["idle"]
    return Course(at=np.array([o.at for o in seen]), **columns, **whole)


def _known(reading: ModuleReading, metric: str) -> float:
    value = getattr(reading, metric)
    return nan if value is None else value


_COLUMNS: Final = {
    "rate": (PLQ, "arrival_rate"),
    "plq": (PLQ, "running"),
    "wlq": (WLQ, "running"),
    "load": (PLQ, "load"),
    "window_load": (WLQ, "load"),
    "splitting": (PLQ, "splitting"),
    "busy": (PLQ, "utilisation"),
    "idle": (WLQ, "utilisation"),  # which it is not
    "results": (WLQ, "results_rate"),
}
"""What a course has of each step, and where it is measured."""


# What is left of one run when its steps have been counted: what workers hand back.


START: Final = 60.0
"""Seconds that pass, or half of a shorter run, before loads count: both stages begin with one
worker and first have to catch up."""


def score(course: Course, *, aim: float) -> dict[str, float]:
    """One run in figures, NaN where nothing was measured; `aim` is the inner level's setpoint."""
    totals, later = course.totals, course.at > min(START, course.duration / 2)
    plq, wlq, whole = _mean(course.plq), _mean(course.wlq), _mean(course.load)
    return {
        "plq": plq,
        "wlq": wlq,
        "workers": plq + wlq,
        "splitting": _share(totals.parts, totals.panes),
        # the time to the last window beyond the stream's own, as a share of that
        "delta": course.ended / course.duration - 1.0,
        # of the windows that are done in a slide
        "cv": _share(float(course.by_slide.std()), float(course.by_slide.mean())),
        "load": _mean(course.load[later]),
        "window_load": _mean(course.window_load[later]),
        "load_of_all": whole,
        "window_load_of_all": _mean(course.window_load),
        "error": abs(whole / SETPOINT - 1.0),
        "distance": _mean(np.abs(course.load[later] / aim - 1.0)),
        "settled": _mean(course.plq[later]),
        "busy": _mean(course.busy),
        "idle": _mean(course.idle),
        "merges": _share(totals.merges, totals.tasks),
        "kept": _share(totals.kept, totals.tuples - totals.dropped),
        "results": totals.windows / course.ended,
    }


def examine(task: Task) -> Run[Course]:
    """Carry out one run; of the first seed its steps are drawn."""
    course = carry_out(task)
    return Run(measure(task.play, course), {task.play: course} if task.seed == 1 else {})


def measure(play: Play, course: Course) -> list[tuple[Hashable, dict[str, float]]]:
    """A run in figures; of Fig. 9 also its phases, by their rate."""
    aim = SETPOINT - (play.setup.margin or 0.0)
    phases = _phases(course) if play == artificial() else ()
    return [(play, score(course, aim=aim)), *phases]


def _phases(course: Course) -> Iterator[tuple[float, dict[str, float]]]:
    """Workers of each phase of Fig. 9."""
    ends = (*(begin for _, begin in PHASES[1:]), inf)
    for (rate, begin), end in zip(PHASES, ends, strict=True):
        within = (course.at > begin + SETTLING) & (course.at <= end)
        yield rate, {"plq": _mean(course.plq[within])}


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
    plq, wlq = PUBLISHED.static
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


SETTLING: Final = 10.0
"""Seconds of a phase of Fig. 9 before its workers count."""
Measured = Results[Course]
"""Subjects are plays; of Fig. 9 its phases, `merging` of what merges save."""


def check(options: Options) -> None:
    """Refuse a folder without the published streams."""
    if options.data is not None:
        for workload in FILES.keys() & set(options.workloads):
            published(workload, options.data)


def tasks(options: Options) -> Iterator[Task]:
    """Every play with every seed."""
    seconds = None if options.steps is None else options.steps * STEP
    for seed in range(1, options.seeds + 1):
        for play in plays(options.workloads, published=options.data is not None):
            yield Task(play=play, seed=seed, seconds=seconds, data=options.data)


def derive(_: Options, measured: Collected) -> Values:
    """By how much merges lower the idle time, seed by seed."""
    with_merges, without = (measured.get((merging(on=on), "idle"), []) for on in (True, False))
    pairs = zip(with_merges, without, strict=True) if with_merges and without else ()
    return collect(("merging", {"less idle": 1.0 - a / b}) for a, b in pairs if b > 0)
