"""The streams of the ppq paper: Fig. 9's steps, and those of Tab. 3.

All are generated; seven were published as tuples a second, and `--data` plays these too. A
generated stream is drawn again until its mean rate and its busiest second are near Tab. 3. The two
games are walks with the bounds of the published ones.

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
from penstock.core.roles import Workload
from penstock.core.settings import near
from penstock.experiment.papers import ppq_printed as printed
from penstock.workload import LognormalWalk, Markovian, SelfSimilar, Step, Trace
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
    if name not in printed.WORKLOADS:
        raise SettingError(
            f"there is no workload {name!r} in the paper{near(name, printed.WORKLOADS)}"
        )
    if name == "steps":
        return _flow(name, Step(levels=PHASES))
    if rate is not None:
        return _flow(name, _draw(name, rate, seed))
    drawn = (_draw(name, printed.RATE[name], _TRIES * seed + again) for again in count_up())
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
    wanted = printed.RATE[name], printed.PEAK[name]
    return all(abs(f / w - 1) <= n for f, w, n in zip(found, wanted, _NEAR, strict=True))
