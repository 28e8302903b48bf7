"""One run of 100,000 minutes, and what a worker hands back of it: counts, and courses to draw.

Courses are those of the first and the last five days by the half-hour, and costs:

>>> import numpy as np
>>> block_means(np.array([1.0, 3.0, 5.0, 7.0, 9.0]), 2)
array([2., 6., 9.])
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from penstock.core.regions import Infrastructure
from penstock.experiment.results import Floats
from penstock.papers.e2df.closed_loop import Course, Levels, play
from penstock.papers.e2df.published import APPLICATIONS, INFRASTRUCTURES, WEIGHT, WEIGHTS
from penstock.papers.e2df.setup import LIMIT, STATIC_NODES, graph, places, rates

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


SHOWN: Final = 5
"""Days of Fig. 4 to 6."""
BLOCK: Final = 30
"""Minutes of a point."""
CEILING: Final = 0.2
"""Seconds at which longer response times are drawn, those without end among them."""
BEGINNING: Final = 10
"""Days of which the running cost is drawn."""
_DAY: Final = 1440
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
            at=starts / _DAY,
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
        slots, shown = len(course.response), SHOWN * _DAY
        cost = course.costs.mean(axis=1)
        return cls(
            first=Days.of(course, 0, min(shown, slots)),
            last=Days.of(course, max(slots - shown, 0), slots),
            running_cost=_running(cost[: BEGINNING * _DAY]),
            daily_cost=block_means(cost, _DAY),
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


DAY: Final = 1440
"""Minutes."""
LEARNING: Final = 5 * DAY
"""Minutes that pass, or half of a shorter run, before those of Tab. 1 and 2 are counted."""
LEARNED: Final = "after learning"
WHOLE: Final = "whole run"
FIRST: Final = "first day"
EARLY: Final = "days 2 to 5"
STRETCHES: Final = (LEARNED, WHOLE, FIRST, EARLY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Some minutes of a run in figures."""

    violations: float
    """Share of the minutes in which the response time is above its bound,"""
    reconfigurations: float
    """and of those in which at least one operator is scaled."""
    replicas: float
    """Mean of all operators together,"""
    nodes: float
    """and of all regions."""
    unmet: float
    """Requests a day that found no free slot."""
    cost: float
    """Mean over minutes and regions (Expr. 1)."""

    @classmethod
    def of(cls, course: Course, minutes: slice) -> "Counts":
        """Count."""
        return cls(
            violations=float((course.response[minutes] > LIMIT).mean()),
            reconfigurations=float(course.reconfigured[minutes].mean()),
            replicas=float(course.replicas[minutes].mean()),
            nodes=float(course.nodes[minutes].mean()),
            unmet=DAY * float(course.unmet[minutes].mean()),
            cost=float(course.costs[minutes].mean()),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A play with a seed, for so many minutes."""

    play: Play
    seed: int
    slots: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """One run."""

    task: Task
    counts: Mapping[str, Counts]
    """By the stretch of the run, as far as it got."""
    curves: Curves | None
    """Of the first seed only."""


def examine(task: Task) -> Outcome:
    """Carry out one run."""
    offered = rates(task.slots, task.seed)
    course = play(graph(), task.play.places, offered, task.play.levels, seed=task.seed)
    curves = Curves.of(course) if task.seed == 1 else None
    return Outcome(task=task, counts=counted(course), curves=curves)


def counted(course: Course) -> dict[str, Counts]:
    """Each stretch that has any minutes."""
    return {name: Counts.of(course, s) for name, s in stretches(len(course.response)).items()}


def stretches(slots: int) -> dict[str, slice]:
    """Minutes of a run that are counted apart.

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


@dataclass(frozen=True, slots=True)
class Runs:
    """All of them, to be asked what came of a play."""

    outcomes: Sequence[Outcome]
    whole: bool
    """Whether they are as long as the paper's, so that its figures compare."""

    def values(self, play: Play, stretch: str, quantity: str) -> list[float]:
        """Of each seed; none where a run did not get there."""
        found = (outcome for outcome in self.outcomes if outcome.task.play == play)
        return [getattr(o.counts[stretch], quantity) for o in found if stretch in o.counts]

    def curves(self, play: Play) -> Curves:
        """Of the first seed."""
        return next(o.curves for o in self.outcomes if o.task.play == play and o.curves)
