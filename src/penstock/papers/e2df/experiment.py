"""The word count of the e2df paper, its three data centres, its load, and its runs.

The graph and the places (Section 8.1):

>>> graph().visits()
{'splitter': 1.0, 'filter': 5.0, 'counter': 2.0, 'consumer': 2.0}
>>> places().delay("dc1", "dc2"), places()["dc3"].max_slots
(0.002, 100)

The load (Fig. 3) has two humps a day; no data of it were published. Means by the hour are joined by
straight lines; a slow and a fast noise make no two days alike:

>>> day = rates(1440, seed=1)
>>> day.size, bool(day.min() >= 0), bool(day.max() <= MOST)
(1440, True, True)

A run has 100,000 minutes. A worker returns counts, and courses to draw: of the first and the last
five days by the half-hour, and costs.

>>> block_means(np.array([1.0, 3.0, 5.0, 7.0, 9.0]), 2)
array([2., 6., 9.])
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.regions import Infrastructure, Region
from penstock.experiment.results import Floats
from penstock.papers.data import published
from penstock.papers.e2df.closed_loop import Course, Levels, play
from penstock.papers.framework import Options, Results, Run, autoregression

PUBLISHED: Final = published(__package__)
INFRASTRUCTURES: Final[tuple[str, ...]] = tuple(PUBLISHED.infrastructures)
APPLICATIONS: Final[tuple[str, ...]] = tuple(PUBLISHED.applications)
WEIGHTS: Final[tuple[float, ...]] = tuple(PUBLISHED.weights)
WEIGHT: Final[float] = PUBLISHED.weight
SERVICE_RATE: Final = 330.0
"""Tuples a second that a replica serves."""
MAX_REPLICAS: Final = 20
MAX_NODES: Final = 50
SLOTS: Final = 2
LIMIT: Final = 0.060
"""Seconds of response time that were promised."""
STATIC_NODES: Final = 12
SLOT: Final = 60.0
"""Seconds between two decisions."""
SLOTS_OF_THE_PAPER: Final = 100_000
DELAYS: Final = {"dc1-dc2": 0.002, "dc1-dc3": 0.002, "dc2-dc3": 0.001}
PLACEMENT: Final = {"splitter": "dc1", "filter": "dc2", "counter": "dc3", "consumer": "dc3"}
"""The paper says only that all replicas of an operator are in one region."""
SELECTIVITIES: Final = (("splitter", "filter", 5.0), ("filter", "counter", 0.4))


def graph() -> FlowGraph:
    """Four operators in a row: five words a sentence, of which 60 % are dropped."""
    ways = (*SELECTIVITIES, ("counter", "consumer", 1.0))
    return FlowGraph(
        source="splitter",
        modules=tuple(_operator(name) for name in PLACEMENT),
        streams=tuple(Stream(origin=a, target=b, selectivity=s) for a, b, s in ways),
    )


def places(nodes: int = 1) -> Infrastructure:
    """Three regions with so many nodes at the start."""
    return Infrastructure(
        regions=tuple(
            Region(name=name, max_nodes=MAX_NODES, min_nodes=0, initial_nodes=nodes, slots=SLOTS)
            for name in ("dc1", "dc2", "dc3")
        ),
        delays=DELAYS,
    )


def _operator(name: str) -> Module:
    return Module(
        name=name,
        service_time=1 / SERVICE_RATE,
        max_replicas=MAX_REPLICAS,
        region=PLACEMENT[name],
    )


HOURS: Final = (
    *(326.0, 242.0, 183.0, 134.0, 99.0, 75.0, 148.0, 270.0, 360.0, 389.0, 372.0, 372.0),
    *(403.0, 398.0, 413.0, 415.0, 365.0, 396.0, 505.0, 532.0, 494.0, 468.0, 455.0, 400.0),
)
"""Rows a second at each full hour."""
MOST: Final = 600.0
SLOW: Final = 0.12
"""Standard deviation of the noise that lasts, as a share of the mean."""
FAST: Final = 0.04
"""Standard deviation of the noise that is drawn every minute."""
MEMORY: Final = 0.97
"""How much of the slow noise is left after a minute."""


def rates(slots: int, seed: int) -> Floats:
    """Rows a second in each of so many minutes."""
    random = np.random.default_rng(seed)
    slow = autoregression(random.standard_normal(slots), MEMORY)
    fast = random.standard_normal(slots)
    noise = 1 + SLOW * slow + FAST * fast
    clipped: Floats = np.clip(daily(slots) * noise, 0, MOST)
    return clipped


def daily(slots: int) -> Floats:
    """The pattern without noise.

    >>> daily(91)[[0, 60, 90]].tolist()
    [326.0, 242.0, 212.5]
    """
    hours = np.arange(slots) / 60
    pattern: Floats = np.interp(hours % 24, np.arange(25), (*HOURS, HOURS[0]))
    return pattern


# What is run for Tab. 1 and 2 of the e2df paper; the weight that both of them have runs once.


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """Who decides at either level."""

    infrastructure: str
    application: str
    demand_weight: float = WEIGHT
    """Of a region's cost; of no account unless regions learn."""

    @property
    def levels(self) -> Levels:
        """As the simulation takes them, with everything else as it is usually."""
        return Levels(
            application=self.application,
            infrastructure=self.infrastructure,
            demand_weight=self.demand_weight,
        )

    @property
    def places(self) -> Infrastructure:
        """The three regions, with the nodes that they begin with."""
        return places(STATIC_NODES) if self.infrastructure == "static" else places()

    @property
    def where(self) -> dict[str, str]:
        """By which to find it among the entries.

        >>> Play(infrastructure="rl", application="threshold").where
        {'infrastructure': 'rl', 'application': 'threshold', 'demand_weight': '0.7'}
        """
        return {
            "infrastructure": self.infrastructure,
            "application": self.application,
            "demand_weight": f"{self.demand_weight:g}",
        }


COMBINATIONS: Final = tuple(
    Play(infrastructure=infrastructure, application=application)
    for infrastructure in INFRASTRUCTURES
    for application in APPLICATIONS
)
"""Tab. 1, row by row."""
OBJECTIVES: Final = tuple(
    Play(infrastructure="rl", application=application, demand_weight=weight)
    for application in APPLICATIONS
    for weight in WEIGHTS
)
"""Tab. 2, row by row."""
PLAYS: Final = tuple(dict.fromkeys((*COMBINATIONS, *OBJECTIVES)))
"""All, each once."""


DAY: Final = 1440
"""Minutes."""
SHOWN: Final = 5
"""Days of Fig. 4 to 6."""
BLOCK: Final = 30
"""Minutes of a point."""
CEILING: Final = 0.2
"""Seconds at which longer response times are drawn, those without end among them."""
BEGINNING: Final = 10
"""Days of which the running cost is drawn."""
_HOUR: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Days:
    """Some days, a point for each half-hour."""

    at: Floats
    """Days since the beginning of the run."""
    response: Floats
    """Seconds, of the worst minute, at most the ceiling."""
    replicas: Floats
    """Mean,"""
    nodes: Floats
    """likewise."""

    @classmethod
    def of(cls, course: Course, begin: int, end: int) -> "Days":
        """Minutes from `begin` to `end`."""
        starts = np.arange(begin, end, BLOCK)
        worst = np.maximum.reduceat(course.response[begin:end], starts - begin)
        return cls(
            at=starts / DAY,
            response=np.minimum(worst, CEILING),
            replicas=block_means(course.replicas[begin:end], BLOCK),
            nodes=block_means(course.nodes[begin:end], BLOCK),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curves:
    """All that is drawn of a run."""

    first: Days
    last: Days
    running_cost: Floats
    """Mean cost of the regions from the beginning to each hour of the first days,"""
    daily_cost: Floats
    """and of each day."""

    @classmethod
    def of(cls, course: Course) -> "Curves":
        """Thin a course."""
        slots, shown = len(course.response), SHOWN * DAY
        cost = course.costs.mean(axis=1)
        return cls(
            first=Days.of(course, 0, min(shown, slots)),
            last=Days.of(course, max(slots - shown, 0), slots),
            running_cost=_running(cost[: BEGINNING * DAY]),
            daily_cost=block_means(cost, DAY),
        )


def block_means(values: np.ndarray, size: int) -> Floats:
    """Means of blocks; the last one may be shorter."""
    starts = np.arange(0, len(values), size)
    sizes = np.diff(np.append(starts, len(values)))
    means: Floats = np.add.reduceat(values.astype(np.float64), starts) / sizes
    return means


def _running(cost: Floats) -> Floats:
    """Mean from the beginning to the end of each hour; of all where there is no whole hour."""
    means: Floats = np.cumsum(cost) / np.arange(1, len(cost) + 1)
    return means[_HOUR - 1 :: _HOUR] if len(means) >= _HOUR else means[-1:]


LEARNING: Final = 5 * DAY
"""Minutes that pass, or half of a shorter run, before those of Tab. 1 and 2 are counted."""
LEARNED: Final = "after learning"
WHOLE: Final = "whole run"
FIRST: Final = "first day"
EARLY: Final = "days 2 to 5"
STRETCHES: Final = (LEARNED, WHOLE, FIRST, EARLY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A play with a seed, for so many minutes."""

    play: Play
    seed: int
    slots: int


def examine(task: Task) -> Run[Curves]:
    """Carry out one run, and count each of its stretches; the first seed is drawn, too."""
    offered = rates(task.slots, task.seed)
    course = play(graph(), task.play.places, offered, task.play.levels, seed=task.seed)
    return Run(
        [((task.play, s), counted(course, m)) for s, m in stretches(task.slots).items()],
        {task.play: Curves.of(course)} if task.seed == 1 else {},
    )


def counted(course: Course, minutes: slice) -> dict[str, float]:
    """Some minutes of a run in figures: shares of the minutes, means, and requests a day."""
    return {
        "violations": float((course.response[minutes] > LIMIT).mean()),
        "reconfigurations": float(course.reconfigured[minutes].mean()),
        "replicas": float(course.replicas[minutes].mean()),
        "nodes": float(course.nodes[minutes].mean()),
        "unmet": DAY * float(course.unmet[minutes].mean()),
        "cost": float(course.costs[minutes].mean()),  # over minutes and regions (Expr. 1)
    }


def stretches(slots: int) -> dict[str, slice]:
    """Minutes of a run that are counted apart, as far as it gets.

    >>> stretches(100_000)["after learning"], list(stretches(600))
    (slice(7200, 100000, None), ['after learning', 'whole run', 'first day'])
    """
    learned = min(LEARNING, slots // 2)
    limits = {
        LEARNED: (learned, slots),
        WHOLE: (0, slots),
        FIRST: (0, min(DAY, learned)),
        EARLY: (DAY, learned),
    }
    return {name: slice(begin, end) for name, (begin, end) in limits.items() if begin < end}


Measured = Results[Curves]
"""Subjects are a play and a stretch of its runs; details are the curves of plays."""


def tasks(options: Options) -> Iterator[Task]:
    """Every play with every seed."""
    for seed in range(1, options.seeds + 1):
        for one in PLAYS:
            yield Task(play=one, seed=seed, slots=options.steps or SLOTS_OF_THE_PAPER)
