"""The tournament: every policy on the same loads with the same seeds, on the twin or on Spark.

A `Round` is one load with one seed, played by every policy: the unit of a tournament.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from datetime import datetime
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np

from penstock.core.errors import PartError, SettingError, describe
from penstock.core.loop import control
from penstock.core.roles import Policy, Workload
from penstock.core.signals import Tick
from penstock.core.units import format_duration
from penstock.experiment.compare import clairvoyant, entrants
from penstock.experiment.compare.clairvoyant import Candidate, Problem, Schedule, deployed
from penstock.experiment.compare.entrants import Entrant, Load, check_rows
from penstock.experiment.compare.outcome import Played, Timeline, TournamentResult
from penstock.experiment.compare.scores import Yardstick, rows_of, scores, violations
from penstock.experiment.compare.track import (
    COMFORT,
    Prices,
    core_seconds,
    degrees,
    demand,
    follow,
    rates_by_step,
)
from penstock.experiment.workers import Progress, check_amounts, repeat, silent
from penstock.pipeline.compose import build_policy
from penstock.pipeline.settings import Part, PipelineFile
from penstock.pipeline.twins import open_twin
from penstock.record import RunFolder, RunSettings, summarise
from penstock.record import load as load_run
from penstock.record.measures import Column

Perform = Callable[[PipelineFile, Policy], Sequence[Tick]]
"""Runs a pipeline under a policy, on whatever plant."""
Policies = str | Sequence[Entrant] | None
Loads = Mapping[str, Workload] | Sequence[Load] | None


def on_twin(file: PipelineFile, policy: Policy) -> Sequence[Tick]:
    """On the twin that the file asks for."""
    return list(control(open_twin(file), policy))


@dataclass(frozen=True, slots=True)
class Round:
    """What is to be played."""

    file: PipelineFile
    load: Load
    seed: int
    _: KW_ONLY
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


def play(
    file: PipelineFile,
    policies: Policies = None,
    workloads: Loads = None,
    seeds: int | Sequence[int] = 5,
    *,
    guards: str = "own",
    prices: Prices | None = None,
    jobs: int = 1,
    tries: int = clairvoyant.TRIES,
    perform: Perform = on_twin,
    on: str = "twin",
    progress: Progress = silent,
) -> TournamentResult:
    """Play policies against each other, and against static-peak, static-mean and a clairvoyant.

    `file` says the graph, step, duration and promise, wherever it comes from; its own workload is
    played unless others are given. Seeds count from the file's. `perform` runs a pipeline under a
    policy where that is not to be the twin; then there is one job.

    >>> from penstock.pipeline.file import load
    >>> file = load("wordcount", ["workload=constant:200/s", "duration=20s"])
    >>> played = play(file, "threshold", seeds=1, tries=0)
    >>> played.names
    ('threshold', 'static-peak', 'static-mean', 'clairvoyant')
    """
    check_playable(file)
    if guards not in entrants.GUARDING:
        known = ", ".join(entrants.GUARDING)
        raise SettingError(f"guards must be one of {known}, got {guards!r}")
    field = _entrants(file, policies)
    entrants.check(field, file, guards)
    loads, numbers, prices = _loads(file, workloads), _seeds(file, seeds), prices or Prices()
    every = [(load, seed) for load in loads for seed in numbers]
    for load, seed in every:
        check_rows(load, seed, file.duration)
    rounds = [
        Round(file, load, seed, entrants=field, guards=guards, prices=prices, tries=tries)
        for load, seed in every
    ]
    on_a_twin = perform is on_twin
    return TournamentResult(
        pipeline=file.name,
        on=on,
        step=file.step,
        duration=file.duration,
        promised=rounds[0].promised,
        seeds=numbers,
        guards=guards,
        prices=prices,
        entrants=field,
        loads=tuple(load.name for load in loads),
        rounds=tuple(
            repeat(
                play_round if on_a_twin else partial(play_round, perform=perform),
                rounds,
                jobs=jobs if on_a_twin else 1,
                progress=progress,
            )
        ),
    )


def check_playable(file: PipelineFile) -> None:
    """Refuse pipelines whose policies could not be compared."""
    for refused, why in (
        (file.parts, "holds several pipelines that share a cluster; compare takes one"),
        (
            file.infrastructure is not None,
            "decides about nodes too; compare takes a pipeline without infrastructure",
        ),
        (
            file.slo.latency_p95 is None,
            "promises no latency, so there is none to break; add --set slo.latency_p95=10s or the "
            "like",
        ),
    ):
        if refused:
            raise SettingError(f"{file.name} {why}")


def _entrants(file: PipelineFile, policies: Policies) -> tuple[Entrant, ...]:
    if policies is None:
        return entrants.defaults(file)
    return entrants.read(policies, file) if isinstance(policies, str) else tuple(policies)


def _loads(file: PipelineFile, workloads: Loads) -> tuple[Load, ...]:
    if workloads is None:
        chosen = getattr(file.workload, "seed", file.seed) != file.seed
        return (Load(name=name_of(file), workload=file.workload, fixed=chosen),)
    if isinstance(workloads, Mapping):
        return tuple(Load(name=name, workload=one) for name, one in workloads.items())
    return tuple(workloads)


def name_of(file: PipelineFile) -> str:
    """What to call the file's own workload."""
    given = file.resolved.get("workload")
    kind = given.get("kind") if isinstance(given, Mapping) else given
    return str(kind or "its own workload")


def _seeds(file: PipelineFile, seeds: int | Sequence[int]) -> tuple[int, ...]:
    check_amounts(seeds=seeds if isinstance(seeds, int) else len(seeds))
    return tuple(range(file.seed, file.seed + seeds) if isinstance(seeds, int) else seeds)


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
    plans = {name: Schedule((n,) * len(rates), file.step) for name, n in fixed.items()}
    runs |= {name: _performed(file, name, plan, perform) for name, plan in plans.items()}
    best = _clairvoyant(one, file, rates, plans, runs if perform is on_twin else {})
    runs[entrants.CLAIRVOYANT] = _performed(file, entrants.CLAIRVOYANT, best.schedule, perform)
    busy = min(best.utilisation, 1.0)
    tracks = {name: follow(ticks) for name, ticks in runs.items()}
    by = Yardstick(
        graph=file.graph,
        promised=one.promised,
        prices=one.prices,
        demand=demand(file.graph, rates, busy),
        step=file.step,
        ideal=tracks[entrants.CLAIRVOYANT],
    )
    return Played(
        load=one.load.name,
        seed=one.seed,
        scores={name: scores(ticks, by) for name, ticks in runs.items()},
        errors=errors,
        utilisation=busy,
        found_by=best.by,
        statics=fixed,
        timelines={
            name: Timeline(at=track.at, running=track.supply) for name, track in tracks.items()
        },
        demand=np.sum(list(by.demand.values()), axis=0),
    )


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
) -> Candidate:
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
    rows = rows_of(ticks, file.graph, "processed_rate")
    broken = violations(ticks, promised, rows)["violations"]
    return (1.0 if broken is None else broken, core_seconds(follow(ticks)))


def _plan(ticks: Sequence[Tick], step: float) -> Schedule:
    """What a run asked for, as a plan."""
    asked = [{n: m.requested for n, m in tick.seen.modules.items()} for tick in ticks]
    known = [{n: k for n, k in degrees.items() if k is not None} for degrees in asked]
    return Schedule(tuple(known), step)


def on_spark(
    root: Path,
    clock: Callable[[], datetime],
    command: Sequence[str] = (),
    report: Callable[[str], None] = lambda text: None,  # noqa: ARG005
) -> Perform:
    """Runs pipelines on a cluster of our own, one after the other, each into a folder of `root`.

    Each is recorded as `penstock run` does it, and scored from that. Folders are numbered in the
    order of the runs and named after the policy; `report` receives a line about each.
    """
    numbers = count(1)

    def perform(file: PipelineFile, policy: Policy) -> Sequence[Tick]:
        resolved = file.resolved.get("policy")
        name = str(resolved.get("name")) if isinstance(resolved, dict) else file.policy.name
        path = root / f"{next(numbers):02}-{name}-seed-{file.seed}"
        report(f"{name} runs on Spark for {format_duration(file.duration)}, recorded in {path}")
        settings = RunSettings(
            pipeline=file.name,
            plant="spark",
            started=clock(),
            graph=file.graph,
            command=tuple(command),
            policy=name,
            seed=file.seed,
            slo_latency_p95=file.slo.latency_p95,
            file=file.resolved,
        )
        _record(file, policy, path, settings)
        return load_run(path).ticks

    return perform


def _record(file: PipelineFile, policy: Policy, path: Path, settings: RunSettings) -> None:
    from penstock.pipeline.deploy.launch import open_spark  # which imports pyspark
    from penstock.pipeline.interference import beside

    ticks: list[Tick] = []
    with RunFolder.create(path, settings) as folder:
        opened = open_spark(
            file,
            master=None,
            folder=folder.path,
            duration=file.duration,
            on_progress=folder.write_progress,
        )
        with beside(opened, file.interference, lasts=file.duration) as plant:
            for tick in control(plant, policy):
                folder.write(tick)
                ticks.append(tick)
        promised = file.slo.latency_p95
        folder.finish(summarise(ticks, promised, source=file.graph.source, graph=file.graph))
