"""Runs of the service: every strategy under the same images with the same running times.

Strategies that have decided alike so far share one twin; where they part, it is copied. The same
decisions bring the same observations, so this changes nothing but the time that it takes.
"""

from copy import deepcopy
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from penstock.core.signals import Configuration, Decision, Observation
from penstock.experiment.papers.game_service import (
    SMOOTHING,
    STRATEGIES,
    Shedding,
    open_service,
    player,
    service,
)
from penstock.experiment.papers.game_workloads import STEP, STEPS, inter_arrivals
from penstock.model import FlowModel
from penstock.policy.game import Plan
from penstock.policy.game.estimate import Estimates
from penstock.policy.game.live import Game

Floats = NDArray[np.float64]
Degrees = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What one repetition is about."""

    workload: str
    seed: int
    steps: int = STEPS
    strategies: tuple[str, ...] = tuple(STRATEGIES)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Course:
    """A run step by step; a column for each module, in the order of the graph."""

    degrees: Floats
    inter_departure: Floats
    """Seconds between two results."""
    efficiency: Floats
    cost: Floats
    rounds: Floats
    """Of the decision at the end of each step."""
    messages: Floats
    turned_away: int
    """Images that could not enter in their step."""
    plans: tuple[Plan, ...]
    models: tuple[FlowModel, ...]
    """What each decision was made with."""

    @property
    def images(self) -> Floats:
        """Completed in each step, by the last module."""
        completed: Floats = STEP / self.inter_departure[:, -1]
        return completed

    @property
    def reconfigurations(self) -> Floats:
        """Changes of each module's degree."""
        return np.asarray((np.diff(self.degrees, axis=0) != 0).sum(axis=0), np.float64)


@dataclass(slots=True, kw_only=True)
class Branch:
    """Strategies that have decided alike so far, on a twin of their own."""

    twin: Shedding
    estimates: Estimates
    players: dict[str, Game]
    seen: list[Observation] = field(default_factory=list)
    models: list[FlowModel] = field(default_factory=list)
    plans: dict[str, list[Plan]] = field(default_factory=dict)
    asked: Degrees = ()
    """What the twin was last asked for."""

    def decide(self, model: FlowModel) -> list["Branch"]:
        """Let each strategy decide, act on it, and return those that part from the first."""
        self.models.append(model)
        groups: dict[Degrees, list[str]] = {}
        for name, one in self.players.items():
            plan = one.plan(model)
            self.plans.setdefault(name, []).append(plan)
            groups.setdefault(tuple(plan.rounded.values()), []).append(name)
        (wanted, staying), *parting = groups.items()
        others = [self._copy(names, degrees) for degrees, names in parting]
        self._keep(staying)
        self._apply(wanted)
        return others

    def _copy(self, names: list[str], degrees: Degrees) -> "Branch":
        copy = Branch(
            twin=deepcopy(self.twin),
            estimates=deepcopy(self.estimates),
            players=dict(self.players),
            seen=list(self.seen),
            models=list(self.models),
            plans={name: list(plans) for name, plans in self.plans.items()},
            asked=self.asked,
        )
        copy._keep(names)
        copy._apply(degrees)
        return copy

    def _keep(self, names: list[str]) -> None:
        self.players = {name: self.players[name] for name in names}

    def _apply(self, degrees: Degrees) -> None:
        if degrees == self.asked:
            return
        self.asked = degrees
        wanted = dict(zip(service().names(), degrees, strict=True))
        configuration = Configuration(degrees=wanted)
        self.twin.apply(Decision(configuration=configuration, why="as the agents agreed"))

    def course(self, name: str) -> Course:
        """What became of one of the strategies."""
        plans = self.plans[name][1:]  # the first was made before anything was seen
        return _course(self, tuple(plans), tuple(self.models[1:]))


def play(case: Case) -> dict[str, Course]:
    """A run for each strategy, all from degrees that suit the workload's first step.

    >>> courses = play(Case(workload="trend", seed=1, steps=4))
    >>> {name: course.degrees.shape for name, course in courses.items()}
    {'nash': (4, 5), 'incentive': (4, 5), 'social': (4, 5)}
    """
    start = Branch(
        twin=open_service(case.workload, case.seed, case.steps),
        estimates=Estimates(service(), SMOOTHING),
        players={name: player(name) for name in case.strategies},
    )
    first = float(inter_arrivals(case.workload, case.seed, case.steps)[0])
    branches = [start, *start.decide(FlowModel.of(service(), inter_arrival=first))]
    for branch in branches:  # which grows while strategies part
        for seen in branch.twin.readings():
            branch.seen.append(seen)
            branch.estimates.take_in(seen)
            branches.extend(branch.decide(branch.estimates.model()))
    courses = {name: branch.course(name) for branch in branches for name in branch.players}
    return {name: courses[name] for name in case.strategies}


def _course(branch: Branch, plans: tuple[Plan, ...], models: tuple[FlowModel, ...]) -> Course:
    degrees = _column(branch.seen, "running")
    rate = _column(branch.seen, "processed_rate")
    modules = service().modules
    price = np.array([module.price for module in modules])
    delay_cost = np.array([module.delay_cost for module in modules])
    used = rate * _column(branch.seen, "service_time") / degrees
    return Course(
        degrees=degrees,
        inter_departure=1.0 / rate,
        efficiency=np.minimum(used, 1.0),
        cost=delay_cost / rate + price * degrees,  # game, Expr. 5 and 6
        rounds=np.array([plan.rounds for plan in plans], np.float64),
        messages=np.array([plan.messages for plan in plans], np.float64),
        turned_away=branch.twin.turned_away,
        plans=plans,
        models=models,
    )


def _column(seen: list[Observation], metric: str) -> Floats:
    names = service().names()
    return np.array([[getattr(o.modules[n], metric) for n in names] for o in seen], np.float64)
