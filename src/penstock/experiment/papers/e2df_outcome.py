"""What is left of one run when its minutes have been counted: what workers hand back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from penstock.experiment.closed_loop import Course, play
from penstock.experiment.papers.e2df_curves import Curves
from penstock.experiment.papers.e2df_plays import Play
from penstock.experiment.papers.e2df_setup import LIMIT, graph
from penstock.experiment.papers.e2df_workload import rates

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
