"""Section 6 of the game paper on the twin: Tab. IV and V, Fig. 12 to 17.

Images come to the recognition service for 600 steps of 300 s under three workloads. The degrees of
its five modules are decided by selfish agents, by agents with incentives, and by the closed form of
what is best for all.

>>> done = reproduce(Settings(seeds=1, steps=3, workloads=("trend",), jobs=1))
>>> done.paper, [table.title for table in done.tables][-1]
('game', 'Tab. V: cost and completed images')
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from penstock.experiment.results import Reproduction
from penstock.experiment.workers import Progress, check_amounts, check_workloads, repeat, silent
from penstock.papers.game.claims import claims
from penstock.papers.game.entries import entries
from penstock.papers.game.figures import figures
from penstock.papers.game.published import WORKLOADS
from penstock.papers.game.runs import Case, Outcome, Task, examine
from penstock.papers.game.setup import (
    COMPARED,
    ROUNDING,
    SMOOTHING,
    STEP,
    STEPS,
    STRATEGIES,
    service,
)
from penstock.papers.game.tables import tables

SEEDS: Final = 100
OPTIMUM_SEEDS: Final = 20
"""Of them also with `social`, which the paper does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How much of it to do."""

    seeds: int = SEEDS
    steps: int = STEPS
    workloads: tuple[str, ...] = WORKLOADS
    jobs: int = 1

    def __post_init__(self) -> None:
        """Refuse nothing to do, and what there is not."""
        check_amounts(seeds=self.seeds, steps=self.steps, jobs=self.jobs)
        check_workloads(self.workloads, WORKLOADS)


def reproduce(settings: Settings, progress: Progress = silent) -> Reproduction:
    """Repeat the simulation with many seeds, and set its figures beside the paper's."""
    outcomes = run(settings, progress)
    found = entries(outcomes)
    return Reproduction(
        paper="game",
        title="A game-theoretic approach for elastic distributed data stream processing",
        settings={
            "seeds": settings.seeds,
            "seeds_of_social": min(settings.seeds, OPTIMUM_SEEDS),
            "steps": settings.steps,
            "seconds_per_step": STEP,
            "workloads": list(settings.workloads),
            "rounding": ROUNDING,
            "smoothing": SMOOTHING,
        },
        entries=found,
        tables=tables(found),
        figures=figures(found, outcomes),
        claims=claims(found, outcomes),
        remarks=tuple(_remarks(settings)),
    )


def run(settings: Settings, progress: Progress) -> list[Outcome]:
    """Every repetition, in the same order whatever the number of jobs."""
    first = Case(workload=settings.workloads[0], seed=1, steps=1, strategies=COMPARED)
    return repeat(
        examine,
        list(_tasks(settings)),
        jobs=settings.jobs,
        progress=progress,
        compile_with=Task(first),
    )


def _tasks(settings: Settings) -> Iterator[Task]:
    """The first seed of each workload in detail; those take longest and come first."""
    for seed in range(1, settings.seeds + 1):
        for workload in settings.workloads:
            strategies = tuple(STRATEGIES) if seed <= OPTIMUM_SEEDS else COMPARED
            case = Case(workload=workload, seed=seed, steps=settings.steps, strategies=strategies)
            yield Task(case, detailed=seed == 1)


def _remarks(settings: Settings) -> Iterator[str]:
    yield (
        f"{settings.seeds} seeds, {settings.steps} steps of {STEP:g} s each, simulated image by "
        "image; every strategy meets the same images with the same running times."
    )
    yield (
        "Images that cannot enter in their step are turned away and never made up for, as in the "
        "paper, where the dispatcher's service time is max(T_1, T_a); at most "
        f"{service()['recognizer'].buffer:g} images wait before each module."
    )
    yield f"Degrees are rounded {ROUNDING}, and the newest step weighs {SMOOTHING:g} in the EWMA."
    if settings.seeds > OPTIMUM_SEEDS:
        yield f"The optimum (policy social) ran with the first {OPTIMUM_SEEDS} seeds."
    if settings.steps != STEPS:
        yield (
            f"The paper has {STEPS} steps: its totals are left out, and the workloads are played "
            f"in {settings.steps}."
        )
