"""The tournament: every policy on the same loads with the same seeds."""

from collections.abc import Mapping, Sequence
from functools import partial

from penstock.core.errors import SettingError
from penstock.core.roles import Workload
from penstock.experiment.compare import entrants
from penstock.experiment.compare.clairvoyant import TRIES
from penstock.experiment.compare.entrants import Entrant, Load, check_rows
from penstock.experiment.compare.outcome import TournamentResult
from penstock.experiment.compare.round import Perform, Played, Round, on_twin, play_round
from penstock.experiment.compare.track import Prices
from penstock.experiment.workers import Progress, check_amounts, repeat, silent
from penstock.pipeline.settings import PipelineFile

Policies = str | Sequence[Entrant] | None
Loads = Mapping[str, Workload] | Sequence[Load] | None


def play(
    file: PipelineFile,
    policies: Policies = None,
    workloads: Loads = None,
    seeds: int | Sequence[int] = 5,
    *,
    guards: str = "own",
    prices: Prices | None = None,
    jobs: int = 1,
    tries: int = TRIES,
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
    entrants.check_guarding(guards)
    field = _entrants(file, policies)
    entrants.check(field, file, guards)
    loads, numbers = _loads(file, workloads), _seeds(file, seeds)
    for load in loads:
        for seed in numbers:
            check_rows(load, seed, file.duration)
    rounds = [
        Round(
            file=file,
            load=load,
            seed=seed,
            entrants=field,
            guards=guards,
            prices=prices or Prices(),
            tries=tries,
        )
        for load in loads
        for seed in numbers
    ]
    return TournamentResult(
        pipeline=file.name,
        on=on,
        step=file.step,
        duration=file.duration,
        promised=rounds[0].promised,
        seeds=numbers,
        guards=guards,
        prices=prices or Prices(),
        entrants=field,
        loads=tuple(load.name for load in loads),
        rounds=tuple(_played(rounds, perform, jobs, progress)),
    )


def check_playable(file: PipelineFile) -> None:
    """Refuse pipelines whose policies could not be compared."""
    if file.parts:
        raise SettingError(
            f"{file.name} holds several pipelines that share a cluster; compare takes one"
        )
    if file.infrastructure is not None:
        raise SettingError(
            f"{file.name} decides about nodes too; compare takes a pipeline without infrastructure"
        )
    if file.slo.latency_p95 is None:
        raise SettingError(
            f"{file.name} promises no latency, so there is none to break; add "
            "--set slo.latency_p95=10s or the like"
        )


def _played(
    rounds: Sequence[Round], perform: Perform, jobs: int, progress: Progress
) -> list[Played]:
    if perform is on_twin:
        return repeat(play_round, rounds, jobs=jobs, progress=progress)
    return repeat(partial(play_round, perform=perform), rounds, jobs=1, progress=progress)


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
    if isinstance(seeds, int):
        check_amounts(seeds=seeds)
        return tuple(range(file.seed, file.seed + seeds))
    check_amounts(seeds=len(seeds))
    return tuple(seeds)
