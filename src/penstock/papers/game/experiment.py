"""The recognition service of Section 6, its workloads, and its runs: game, Fig. 10 and Tab. III.

Where the paper leaves a choice, it is made here.

The workloads of Section 6.2 are fitted to all that the paper prints of them. It draws them in Fig.
12 without figures. What it prints does not go together: denoiser-1 has 2 cores unless images are
more than 1.24 s apart, so it is `0.62 * images / 300` busy, and the 0.87 of Tab. IV are 421 images
a step, where Tab. V has 403. Here they are fitted to both:

- Slow phases, where images are more than 0.715 s apart and both strategies decide alike, are where
  the text has them: steps 200 to 400 of `cyclic`, 0 to 300 of `trend`, 0 to 100 and 400 to 550 of
  `rwalk`. They are slow by a few percent only, so that denoisers are busy.
- Fast phases are as fast as the images of the cooperative strategy ask for, and images are mostly
  either 0.62 to 0.72 s or less than 0.5 s apart: in between, rounding up wastes much of a core.
- Noise is such that degrees change about as often as in Tab. IV.

Strategies that have decided alike share one twin; where they part, it is copied. The same decisions
give the same observations, so this changes nothing but the time that it takes. Arrivals and running
times do not depend on what is decided, so a run need not be repeated to see how agents with other
incentives, or with gossip in place of the tree, decide: every decision is made again with the model
that it was made with.

>>> gaps = inter_arrivals("cyclic", seed=1)
>>> gaps.shape, bool(gaps[300] > 0.715 > gaps[100])
((600,), True)
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph
from penstock.core.settings import near
from penstock.core.signals import Configuration, Decision, ModuleReading, Observation
from penstock.model import FlowModel
from penstock.papers.data import published
from penstock.papers.framework import Options, Results, Run
from penstock.pipeline.file import load
from penstock.policy.game import Incentive, Nash, Plan, Social, Topology, nash
from penstock.policy.game.agents import MessageExchange
from penstock.policy.game.bulk import push_sum
from penstock.policy.game.equilibrium import INCREMENT, MAX_ROUNDS, play
from penstock.policy.game.live import Estimates, Game
from penstock.twin import Totals, Twin
from penstock.workload.curve import Curve, Curved

Floats = NDArray[np.float64]
Scenario = Callable[[Floats, np.random.Generator], Floats]

PUBLISHED: Final = published(__package__)
WORKLOADS: Final = tuple(PUBLISHED.workloads)
MODULES: Final = tuple(PUBLISHED.modules)
"""Those of Tab. IV: the dispatcher has one core, always."""
STEPS: Final = 600
STEP: Final = 300.0
"""Seconds."""
EQUILIBRIUM: Final = 0.715
"""Seconds between images at the Pareto-optimal equilibrium, however fast they come."""

_LULL: Final = 1.30
"""Images a second about step 300 of `cyclic`, where it is slowest."""
_SURGE: Final = 1.2
"""By how much faster it would be about steps 0 and 600,"""
_CLOSEST: Final = 0.465
"""if images could be less than so many seconds apart."""
_CYCLIC_NOISE: Final = 0.015

_TREND: Final = ((0, 0.74), (300, EQUILIBRIUM), (336, 0.47), (600, 0.465))
"""Steps, and seconds between images. No straight line has both phases and both numbers of images,
so it falls gently, then steeply, then gently."""
_TREND_NOISE: Final = 0.05

_WALK: Final = (
    (0, 0.745),
    (100, EQUILIBRIUM),
    (130, 0.47),
    (370, 0.47),
    (400, EQUILIBRIUM),
    (475, 0.755),
    (550, EQUILIBRIUM),
    (600, 0.47),
)
"""What the walk is drawn back to."""
_WALK_MOVE: Final = 0.02
_WALK_MEMORY: Final = 0.85
"""Share of its distance from there that the walk keeps in each step."""
_WALK_NOISE: Final = 0.06


def inter_arrivals(name: str, seed: int, steps: int = STEPS) -> Floats:
    """Mean seconds between images, for each step; fewer steps play the same phases faster."""
    if name not in SCENARIOS:
        raise SettingError(f"there is no workload {name!r} in Section 6.2{near(name, SCENARIOS)}")
    for what, value, least in (("steps", steps, 1), ("seed", seed, 0)):
        if value < least:
            raise SettingError(f"{what} of workload {name} must be at least {least}, got {value}")
    position = (np.arange(steps) + 0.5) * STEPS / steps
    random = np.random.default_rng([seed, tuple(SCENARIOS).index(name)])
    return SCENARIOS[name](position, random)


def _cyclic(position: Floats, random: np.random.Generator) -> Floats:
    # a wave with a narrow crest, which passes the rate of the equilibrium at steps 200 and 400
    sharpness = np.log(_SURGE / (1.0 / EQUILIBRIUM - _LULL)) / 1.5
    crest = np.exp(sharpness * (np.cos(2.0 * np.pi * position / STEPS) - 1.0))
    gaps = np.maximum(1.0 / (_LULL + _SURGE * crest), _CLOSEST)
    return _noisy(gaps, _CYCLIC_NOISE, random)


def _trend(position: Floats, random: np.random.Generator) -> Floats:
    return _noisy(_through(_TREND, position), _TREND_NOISE, random)


def _rwalk(position: Floats, random: np.random.Generator) -> Floats:
    away = np.zeros(len(position))
    for k, move in enumerate(random.standard_normal(len(position) - 1), start=1):
        away[k] = _WALK_MEMORY * away[k - 1] + _WALK_MOVE * move
    return _noisy(np.exp(away) * _through(_WALK, position), _WALK_NOISE, random)


def _through(knots: tuple[tuple[float, float], ...], position: Floats) -> Floats:
    steps, seconds = zip(*knots, strict=True)
    return np.asarray(np.interp(position, steps, seconds), np.float64)


def _noisy(gaps: Floats, spread: float, random: np.random.Generator) -> Floats:
    noisy: Floats = gaps * np.exp(spread * random.standard_normal(len(gaps)))
    return noisy


SCENARIOS: Final[dict[str, Scenario]] = {"cyclic": _cyclic, "trend": _trend, "rwalk": _rwalk}


SMOOTHING: Final = 0.3
"""Weight of the newest step in the EWMA, which the paper does not give. With 0.5 degrees change
about twice as often, because measured running times scatter."""
ROUNDING: Final = "up"
"""Section 4.2 rounds "up [...] to the nearest positive integers", and the recogniser levels off at
21 cores in Section 6.2, where 20.2 are ideal. Rounded to the nearest, a denoiser that should have
2.4 cores gets 2 and holds up all others."""
STRATEGIES: Final[dict[str, type[Game]]] = {
    "nash": Nash,
    "incentive": Incentive,
    "social": Social,
}
"""Non-cooperative, cooperative, and the optimum in closed form, which the paper does not have."""
COMPARED: Final = ("nash", "incentive")
"""Those of the paper."""


@cache
def service() -> FlowGraph:
    """The flow graph, from the file that is shipped beside this one.

    >>> service().names()
    ('dispatcher', 'denoiser-1', 'denoiser-2', 'edge-detector', 'recognizer')
    """
    with resources.as_file(resources.files(__package__) / "game.yaml") as path:
        return load(Path(path)).graph


def player(strategy: str, **settings: Any) -> Game:
    """A strategy as the experiment has it.

    Five agents come to the same plan, with the same messages counted, whether they really exchange
    them or not; computed at once it takes half the time.
    """
    given = {"smoothing": SMOOTHING, "rounding": ROUNDING, "agents_up_to": 0, **settings}
    return STRATEGIES[strategy](service(), **given)


class Shedding(Twin):
    """A twin at whose source nothing piles up: rows that could not enter in their step are gone.

    The paper has no queue before the dispatcher: its service time is the longer one of running
    time and inter-arrival time, so that images which come faster than the bottleneck takes them
    are never made up for in a later, slower phase.
    """

    turned_away = 0
    """Rows that came and could not enter."""

    def readings(self) -> Iterator[Observation]:
        """What each step measured; arrivals include the rows that are turned away after it."""
        for seen in super().readings():
            self._turn_away()
            yield seen

    def _begin_step(self) -> None:
        """No latencies are measured that would have to be forgotten."""

    def _observe(self) -> Observation:
        """What strategies ask for and no more: the rest would take a fifth of the time."""
        totals = self.totals()
        modules = {
            name: _reading(totals[name], self._before[name], pool.running)
            for name, pool in self.pools.items()
        }
        seen = Observation(at=self.at, step=self.at - self._seen_at, modules=modules)
        self._before, self._seen_at = totals, self.at
        return seen

    def _turn_away(self) -> None:
        clock = self._state.clock[0]
        source = self._state.stations[clock["source"]]
        lane, count = source["waiting"], int(source["waiting"]["count"])
        if not count:
            return
        self._state.rows["next"][lane["last"]] = clock["free"]
        clock["free"], clock["spare"] = lane["first"], clock["spare"] + count
        lane["count"] = 0
        source["totals"]["arrived"] -= count
        before = self._before[self.graph.source]  # of which the next step's arrivals are counted
        fewer = before._replace(arrived=before.arrived - count)
        self._before = {**self._before, self.graph.source: fewer}
        self.turned_away += count


def _reading(now: Totals, before: Totals, running: int) -> ModuleReading:
    """The same as any twin's, as far as it goes."""
    seconds, served = now.seconds - before.seconds, now.served - before.served
    excess = now.excess - before.excess
    return ModuleReading(
        arrival_rate=(now.arrived - before.arrived) / seconds,
        processed_rate=(now.finished - before.finished) / seconds,
        backlog=float(now.arrived - now.finished),
        service_time=now.nominal + excess / served if served else None,
        running=running,
    )


class Recorded(Curved):
    """A workload whose curve is drawn once: the twin asks for it a few dozen times a run."""

    def __init__(self, curve: Curve) -> None:
        self._curve = curve

    def curve(self, **_: float) -> Curve:
        """The same whatever is asked."""
        return self._curve


def images(workload: str, seed: int, steps: int) -> Recorded:
    """The images that come, as the twin takes them."""
    gaps = inter_arrivals(workload, seed, steps)
    return Recorded(Curve.through(starts=STEP * np.arange(steps), rates=1.0 / gaps))


def open_service(workload: str, seed: int, steps: int) -> Shedding:
    """The service on the twin, before its first image."""
    return Shedding(
        service(),
        images(workload, seed, steps),
        step=STEP,
        duration=steps * STEP,
        seed=seed,
        arrivals="normal",
        service="normal",
    )


# Runs: every strategy under the same images with the same running times.


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
    """Strategies that have decided alike until now, on a twin of their own."""

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
            branch.estimates.observe(seen)
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
    return np.array([np.abs(sums / exact - 1.0).max(axis=0).mean() for sums in after])


def _incentives(model: FlowModel, rounds: int) -> list[float]:
    talk = MessageExchange(model)
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


def examine(case: Case) -> Run[Detail]:
    """Carry out one repetition with every strategy; the first seed is drawn step by step."""
    courses = play_case(case)
    details = {case.workload: _detail(case, courses)} if case.seed == 1 else {}
    return Run(list(_values(case.workload, courses)), details)


def _values(
    workload: str, courses: Mapping[str, Course]
) -> Iterator[tuple[Hashable, dict[str, float]]]:
    names, totals = service().names(), {name: _totals(one) for name, one in courses.items()}
    for strategy, course in courses.items():
        yield (workload, strategy), totals[strategy]
        changes, efficiency = course.reconfigurations, course.efficiency.mean(axis=0)
        for module in MODULES:
            at = names.index(module)
            values = {"reconfigurations": changes[at], "efficiency": efficiency[at]}
            yield (workload, strategy, module), values
    selfish, cooperative = (courses[name] for name in COMPARED)
    steps = cooperative.cost.sum(axis=1) / selfish.cost.sum(axis=1)
    ratios = _ratios(totals, "incentive", "nash")
    yield (workload, BOTH), {"stability": float(steps.mean()), **ratios}
    if best := courses.get("social"):
        alike = (best.degrees == cooperative.degrees).all(axis=1).sum()
        counts = {"alike": float(alike), "dearer": float(_dearer(best, cooperative))}
        yield (workload, OPTIMUM), {**counts, **_ratios(totals, "social", "incentive")}


def _totals(course: Course) -> dict[str, float]:
    """Cost of all modules and images of all steps; images, rounds and messages of a step."""
    images = float(course.images.sum())
    return {
        "cost": float(course.cost.sum()),
        "images": images,
        "throughput": images / len(course.images),
        "turned_away": course.turned_away / (course.turned_away + images),  # a share
        "messages": float(course.messages.mean()),
        "rounds": float(course.rounds.mean()),
    }


def _ratios(totals: Mapping[str, Mapping[str, float]], one: str, other: str) -> dict[str, float]:
    compared = ("cost", "images", "messages")
    return {quantity: totals[one][quantity] / totals[other][quantity] for quantity in compared}


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


# What is run, and what is measured of it.


OPTIMUM_SEEDS: Final = 20
"""Of the seeds, those that are also run with `social`, which the paper does not have."""
BOTH: Final = "incentive/nash"
"""Ratios of the cooperative strategy to the selfish one, seed by seed."""
OPTIMUM: Final = "social/incentive"
"""Ratios of the optimum to the cooperative strategy; steps in which both had the same degrees
(`alike`), and decisions that the model prices higher (`dearer`)."""
Measured = Results[Detail]
"""Subjects are workload and strategy, for Tab. IV also the module; details are by workload."""


def tasks(options: Options) -> Iterator[Case]:
    """The first seed of each workload is drawn; those take longest and come first."""
    for seed in range(1, options.seeds + 1):
        for workload in options.workloads:
            strategies = tuple(STRATEGIES) if seed <= OPTIMUM_SEEDS else COMPARED
            steps = options.steps or STEPS
            yield Case(workload=workload, seed=seed, steps=steps, strategies=strategies)
