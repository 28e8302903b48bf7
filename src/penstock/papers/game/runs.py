"""Runs of the service: every strategy under the same images with the same running times.

Strategies that have decided alike so far share one twin; where they part, it is copied. The same
decisions bring the same observations, so this changes nothing but the time that it takes.

How agents set up differently would have fared is computed from the same run. Arrivals and running
times do not depend on what is decided, so a run need not be repeated to learn how incentives of
another size, or gossip in place of the tree, would have fared: every decision is made again with
the model that it was made with.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.signals import Configuration, Decision, Observation
from penstock.model import FlowModel
from penstock.papers.game.setup import (
    COMPARED,
    SMOOTHING,
    STEP,
    STEPS,
    STRATEGIES,
    Shedding,
    inter_arrivals,
    open_service,
    player,
    service,
)
from penstock.policy.game import Plan, Topology, nash
from penstock.policy.game.agents import Conversation
from penstock.policy.game.bulk import push_sum
from penstock.policy.game.equilibrium import INCREMENT, MAX_ROUNDS, play
from penstock.policy.game.live import Estimates, Game

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


def play_case(case: Case) -> dict[str, Course]:
    """A run for each strategy, all from degrees that suit the workload's first step.

    >>> courses = play_case(Case(workload="trend", seed=1, steps=4))
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


Models = Sequence[FlowModel]

INCREMENTS: Final = (1 / 2, 1 / 5, 1 / 10, 1 / 20, 1 / 50, 1 / 100)
"""Of the price, by which incentives grow: game, Fig. 16."""
ITERATIONS: Final = 30
"""Of gossip, at most: game, Fig. 17a."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tuning:
    """Means over the steps of a run, for each increment."""

    rounds: Floats
    stability: Floats
    """Cost with incentives by cost without, both with whole replicas."""


def incentives(course: Course) -> Floats:
    """What each module was paid for a replica when it was decided on, as a share of its price.

    The last round is the one that did not help, and the degrees are those of the round before; its
    incentives are those that the rounds before it had led to.
    """
    return np.array(
        [_incentives(m, p.rounds - 2) for m, p in zip(course.models, course.plans, strict=True)]
    )


def tuning(models: Models) -> Tuning:
    """Rounds and costs with incentives that grow faster or more slowly."""
    selfish = np.array([_cost(model, player("nash").plan(model)) for model in models])
    rounds, stability = [], []
    for increment in INCREMENTS:
        plans = [player("incentive", increment=increment).plan(model) for model in models]
        costs = np.array([_cost(m, p) for m, p in zip(models, plans, strict=True)])
        rounds.append(float(np.mean([plan.rounds for plan in plans])))
        stability.append(float(np.mean(costs / selfish)))
    return Tuning(rounds=np.array(rounds), stability=np.array(stability))


def gossip_messages(models: Models) -> float:
    """Messages of a step, on average, where the cost of all is added up by gossip."""
    gossiping = player("incentive", aggregation="gossip")
    return float(np.mean([gossiping.plan(model).messages for model in models]))


def gossip_errors(models: Models) -> Floats:
    """By how much the agent that is worst informed is off, after 1, 2, 3... iterations.

    As a share of the cost of all at the equilibrium, on average over the models.
    """
    topology = Topology.of(models[0].neighbours)
    own = np.array(
        [list(nash(m, topology=topology, agents_up_to=0).costs.values()) for m in models]
    )
    exact = own.sum(axis=1)
    after = [push_sum(own.T, topology, n) for n in range(1, ITERATIONS + 1)]
    return np.array([np.abs(told / exact - 1.0).max(axis=0).mean() for told in after])


def _incentives(model: FlowModel, rounds: int) -> list[float]:
    talk = Conversation(model)
    if rounds > 0:
        play(talk, increment=INCREMENT, max_rounds=min(rounds, MAX_ROUNDS))
    return [agent.incentive / agent.model.price for agent in talk.agents]


def _cost(model: FlowModel, plan: Plan) -> float:
    """Of one step, with whole replicas."""
    return sum(model.costs({name: float(n) for name, n in plan.rounded.items()}).values())


# What is left of one repetition when its steps have been counted: what workers hand back.


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
    courses = play_case(task.case)
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
