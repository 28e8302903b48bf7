"""What is left of one repetition when its steps have been counted: what workers hand back."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.experiment.papers.game_replay import (
    Tuning,
    gossip_errors,
    gossip_messages,
    incentives,
    tuning,
)
from penstock.experiment.papers.game_runs import Case, Course, play
from penstock.experiment.papers.game_service import COMPARED
from penstock.experiment.papers.game_workloads import inter_arrivals

Floats = NDArray[np.float64]

_REPLAYED = 150
"""Steps, at most, that are decided again with each size of incentives."""
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Score:
    """A strategy over one run. Arrays have a value for each module."""

    reconfigurations: Floats
    efficiency: Floats
    cost: float
    """Of all modules and steps."""
    images: float
    """Completed in all steps."""
    throughput: float
    """Images completed in a step, on average."""
    turned_away: float
    """Share of the images that could not enter in their step."""
    rounds: float
    messages: float
    """Of a step, on average."""

    @classmethod
    def of(cls, course: Course) -> "Score":
        """Count the steps of a run."""
        images = float(course.images.sum())
        return cls(
            reconfigurations=course.reconfigurations,
            efficiency=course.efficiency.mean(axis=0),
            cost=float(course.cost.sum()),
            images=images,
            throughput=images / len(course.images),
            turned_away=course.turned_away / (course.turned_away + images),
            rounds=float(course.rounds.mean()),
            messages=float(course.messages.mean()),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Detail:
    """One run step by step, as the paper's figures show it."""

    inter_arrival: Floats
    """Mean seconds between images."""
    estimate: Floats
    """What the dispatcher expected it to be."""
    degrees: Mapping[str, Floats]
    costs: Mapping[str, Floats]
    incentives: Floats
    """As shares of the price."""
    gossip_errors: Floats
    gossip_messages: float
    tuning: Tuning | None
    """None where the paper has no such figure."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """One repetition, with every strategy."""

    case: Case
    scores: Mapping[str, Score]
    stability: float
    """Cost with incentives by cost without, on average over the steps."""
    alike: int | None
    """Steps in which `social` had the same degrees as `incentive`; None where it did not run."""
    dearer: int | None
    """Decisions of `social` that the model prices higher than those of `incentive`."""
    detail: Detail | None


@dataclass(frozen=True, slots=True)
class Task:
    """A repetition, and whether its steps are wanted or only their sums."""

    case: Case
    detailed: bool = False


def examine(task: Task) -> Outcome:
    """Carry out one repetition."""
    courses = play(task.case)
    selfish, cooperative = (courses[name] for name in COMPARED)
    ratios = cooperative.cost.sum(axis=1) / selfish.cost.sum(axis=1)
    best = courses.get("social")
    return Outcome(
        case=task.case,
        scores={name: Score.of(course) for name, course in courses.items()},
        stability=float(ratios.mean()),
        alike=None if best is None else _alike(best, cooperative),
        dearer=None if best is None else _dearer(best, cooperative),
        detail=_detail(task.case, courses) if task.detailed else None,
    )


def _alike(one: Course, other: Course) -> int:
    return int((one.degrees == other.degrees).all(axis=1).sum())


def _dearer(best: Course, other: Course) -> int:
    """Only decisions with the very same knowledge can be compared."""
    return sum(
        ours.cost > theirs.cost * (1.0 + _ROUNDING)
        for ours, theirs, known, theirs_known in zip(
            best.plans, other.plans, best.models, other.models, strict=True
        )
        if known is theirs_known
    )


def _detail(case: Case, courses: Mapping[str, Course]) -> Detail:
    cooperative = courses["incentive"]
    models = cooperative.models
    every = -(-len(models) // _REPLAYED)
    return Detail(
        inter_arrival=inter_arrivals(case.workload, case.seed, case.steps),
        estimate=np.array([model.modules[model.source].inter_arrival for model in models]),
        degrees={name: courses[name].degrees for name in COMPARED},
        costs={name: courses[name].cost for name in COMPARED},
        incentives=incentives(cooperative),
        gossip_errors=gossip_errors(models),
        gossip_messages=gossip_messages(models[::every]),
        tuning=tuning(models[::every]) if case.workload == "rwalk" else None,
    )
