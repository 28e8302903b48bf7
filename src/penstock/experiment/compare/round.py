"""One load with one seed, played by every policy: the unit of a tournament."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from penstock.core.errors import PartError, describe
from penstock.core.loop import control
from penstock.core.roles import Policy
from penstock.core.signals import Tick
from penstock.experiment.compare import clairvoyant, entrants
from penstock.experiment.compare.clairvoyant import Degrees, Found, Problem, Schedule, deployed
from penstock.experiment.compare.entrants import Entrant, Load
from penstock.experiment.compare.scores import Scores, Yardstick, processed, scores, violations
from penstock.experiment.compare.track import (
    COMFORT,
    Prices,
    core_seconds,
    degrees,
    demand,
    follow,
    rates_by_step,
)
from penstock.pipeline.compose import build_policy
from penstock.pipeline.settings import Part, PipelineFile
from penstock.pipeline.twins import open_twin
from penstock.record.measures import Column

Perform = Callable[[PipelineFile, Policy], Sequence[Tick]]
"""Runs a pipeline under a policy, on whatever plant."""


def on_twin(file: PipelineFile, policy: Policy) -> Sequence[Tick]:
    """On the twin that the file asks for."""
    return list(control(open_twin(file), policy))


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What is to be played."""

    file: PipelineFile
    load: Load
    seed: int
    entrants: tuple[Entrant, ...]
    guards: str
    prices: Prices
    tries: int

    @property
    def fed(self) -> PipelineFile:
        """The pipeline with this load and this chance."""
        return replace(self.file, workload=self.load.drawn_with(self.seed), seed=self.seed)

    @property
    def promised(self) -> float:
        """Seconds of latency that 95 % of the rows were promised to keep."""
        assert self.file.slo.latency_p95 is not None  # noqa: S101  # play() has seen to it
        return self.file.slo.latency_p95


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Executors over time."""

    at: Column
    running: Column
    requested: Column
    """Or running, where that is more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What came of a round, by entrant."""

    load: str
    seed: int
    scores: Mapping[str, Scores]
    errors: Mapping[str, str]
    """What a policy raised, by its name; it has no scores then."""
    utilisation: float
    """At which the demand is computed: that of the clairvoyant's plan."""
    found_by: str
    """`search`, or the policy whose plan the clairvoyant took over."""
    statics: Mapping[str, Degrees]
    timelines: Mapping[str, Timeline] = field(default_factory=dict)
    demand: Column = field(default_factory=lambda: np.empty(0))
    """Executors needed in all, in each step."""


def play_round(one: Round, perform: Perform = on_twin) -> Played:
    """Each policy in turn with the same rows; then the clairvoyant, the baseline of all."""
    file, errors = one.fed, dict[str, str]()
    runs: dict[str, Sequence[Tick]] = {}
    for entrant in one.entrants:
        try:
            theirs = entrant.file(file, one.guards)
            runs[entrant.name] = perform(theirs, build_policy(theirs))
        except PartError as error:  # which names the policy, as the table does already
            errors[entrant.name] = describe(error.__cause__ or error)
        except Exception as error:
            errors[entrant.name] = f"{type(error).__name__}: {error}"
    rates = rates_by_step(file.workload, file.step, file.duration)
    fixed = {
        entrants.STATIC_PEAK: degrees(file.graph, float(rates.max()), COMFORT),
        entrants.STATIC_MEAN: degrees(file.graph, float(rates.mean()), COMFORT),
    }
    plans = {name: _constant(file, n, len(rates)) for name, n in fixed.items()}
    runs |= {name: _performed(file, name, plan, perform) for name, plan in plans.items()}
    best = _clairvoyant(one, file, rates, plans, runs if perform is on_twin else {})
    plan = best.schedule
    runs[entrants.CLAIRVOYANT] = _performed(file, entrants.CLAIRVOYANT, plan, perform)
    busy = min(best.utilisation, 1.0)
    needed = demand(file.graph, rates, busy)
    return Played(
        load=one.load.name,
        seed=one.seed,
        scores=_scored(one, runs, needed),
        errors=errors,
        utilisation=busy,
        found_by=best.by,
        statics=fixed,
        timelines={name: _timeline(ticks) for name, ticks in runs.items()},
        demand=np.sum(list(needed.values()), axis=0),
    )


def _constant(file: PipelineFile, degrees: Degrees, turns: int) -> Schedule:
    return Schedule((degrees,) * turns, file.step)


def _performed(file: PipelineFile, name: str, plan: Schedule, perform: Perform) -> Sequence[Tick]:
    """A plan that is in force from the first moment on."""
    graph = deployed(file.graph, plan.plan[0])
    named = Entrant(name=name, part=Part(name), kind="reference").file(file, "none")
    return perform(replace(named, graph=graph, policy=Part("static")), plan)


def _clairvoyant(
    one: Round,
    file: PipelineFile,
    rates: Column,
    plans: Mapping[str, Schedule],
    runs: Mapping[str, Sequence[Tick]],
) -> Found:
    tried: dict[str, clairvoyant.Cost] = {}

    def trial(plan: Schedule) -> clairvoyant.Cost:
        key = repr(plan.plan)
        if key not in tried:
            tried[key] = _cost(_performed(file, "plan", plan, on_twin), file, one.promised)
        return tried[key]

    problem = Problem(graph=file.graph, rates=rates, step=file.step, promised=one.promised)
    best = clairvoyant.search(problem, trial, tries=one.tries)
    theirs = {name: _plan(ticks, file.step) for name, ticks in runs.items()}
    taken = clairvoyant.better(best, {**plans, **theirs}.items(), trial)
    if taken is best:
        return best
    return clairvoyant.trimmed(taken, file.graph, trial, tries=one.tries)


def _cost(ticks: Sequence[Tick], file: PipelineFile, promised: float) -> clairvoyant.Cost:
    broken = violations(ticks, promised, processed(ticks, file.graph)).time
    return (1.0 if broken is None else broken, core_seconds(follow(ticks)))


def _plan(ticks: Sequence[Tick], step: float) -> Schedule:
    """What a run asked for, as a plan."""
    asked = [{n: m.requested for n, m in tick.seen.modules.items()} for tick in ticks]
    whole = [{n: k for n, k in degrees.items() if k is not None} for degrees in asked]
    return Schedule(tuple(whole), step)


def _scored(
    one: Round, runs: Mapping[str, Sequence[Tick]], needed: Mapping[str, Column]
) -> dict[str, Scores]:
    by = Yardstick(
        graph=one.file.graph,
        promised=one.promised,
        prices=one.prices,
        demand=needed,
        step=one.file.step,
        ideal=follow(runs[entrants.CLAIRVOYANT]),
    )
    return {name: scores(ticks, by) for name, ticks in runs.items()}


def _timeline(ticks: Sequence[Tick]) -> Timeline:
    track = follow(ticks)
    return Timeline(at=track.at, running=track.supply, requested=track.bill)
