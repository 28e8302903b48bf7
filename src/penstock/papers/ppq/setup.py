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

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count as count_up
from math import inf
from pathlib import Path
from typing import Final

import numpy as np

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.interference import Interference
from penstock.core.panes import Panes
from penstock.core.roles import Policy, Workload
from penstock.core.settings import near
from penstock.papers.ppq.published import PEAK, RATE, SETPOINT, WORKLOADS
from penstock.policy.fuzzy import Fuzzy
from penstock.policy.fuzzy.splitting import SplittingControl
from penstock.policy.static import Static
from penstock.twin.panes.state import Costs
from penstock.twin.panes.twin import PaneTwin
from penstock.workload import LognormalWalk, Markovian, SelfSimilar, Step, Trace, drawn
from penstock.workload.trace import read_counts

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
PHASES: Final = (
    (40e3, 0.0),
    (50e3, 30.0),
    (70e3, 60.0),
    (75e3, 90.0),
    (60e3, 120.0),
    (45e3, 150.0),
)
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
    drawn = (_draw(name, RATE[name], _TRIES * seed + again) for again in count_up())
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
    return _KINDS[kind](number.removesuffix("k"), rate, seed)


def _map(number: str, rate: float, seed: int) -> Workload:
    return Markovian(dispersion=1e3 * float(number), rate_=rate, seed=seed)


def _self_similar(number: str, rate: float, seed: int) -> Workload:
    return SelfSimilar(hurst=float(number), rate_=rate, seed=seed)


def _walk(_: str, rate: float, seed: int) -> Workload:
    # start, bounds and moves of the published one
    start, low, high = 0.42 * rate, 0.28 * rate, 4.2 * rate
    return LognormalWalk(start=start, sigma=0.43, low=low, high=high, seed=seed)


def _game1(_: str, rate: float, seed: int) -> Workload:
    low, high = 0.5 * rate, 1.46 * rate
    return LognormalWalk(start=rate, sigma=0.12, period=1.0, low=low, high=high, seed=seed)


def _game2(_: str, rate: float, seed: int) -> Workload:
    low, high = 0.8 * rate, 1.17 * rate
    return LognormalWalk(start=rate, sigma=0.06, period=1.0, low=low, high=high, seed=seed)


_KINDS: Final[dict[str, Callable[[str, float, int], Workload]]] = {
    "rw": _walk,
    "map": _map,
    "ss": _self_similar,
    "game1": _game1,
    "game2": _game2,
}


def _typical(name: str, workload: Workload) -> bool:
    counts = np.diff(workload.arrivals(np.arange(SECONDS[name] + 1.0)))
    found = counts.mean(), counts.max() / counts.mean()
    wanted = RATE[name], PEAK[name]
    return all(abs(f / w - 1) <= n for f, w, n in zip(found, wanted, _NEAR, strict=True))


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
