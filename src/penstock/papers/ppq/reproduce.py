"""Section 5 of the ppq paper on the twin: Tab. 4 and 5, Fig. 9 to 15, 17 and 18.

A preference query over sliding windows meets bursty streams. Within a quarter of a second its panes
are split, every 2.5 s the workers of both stages are decided.

>>> done = reproduce(Settings(seeds=1, steps=2, workloads=("rw",)))
>>> done.paper, [table.title for table in done.tables][0]
('ppq', 'Tab. 4: the skyline query')
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from penstock.experiment.results import Reproduction
from penstock.experiment.workers import Progress, check_amounts, check_workloads, repeat, silent
from penstock.papers.ppq.claims import claims
from penstock.papers.ppq.entries import entries
from penstock.papers.ppq.figures import figures
from penstock.papers.ppq.published import SETPOINT, WORKLOADS
from penstock.papers.ppq.runs import Outcome, Runs, Task, examine, plays
from penstock.papers.ppq.setup import (
    COMPARISON,
    FILES,
    MARGIN,
    POOL,
    SAMPLING,
    STEP,
    TUPLE,
    published,
)
from penstock.papers.ppq.tables import tables

SEEDS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How much of it to do."""

    seeds: int = SEEDS
    steps: int | None = None
    """Control steps of each stream, of 2.5 s; all of them unless given."""
    workloads: tuple[str, ...] = WORKLOADS
    jobs: int = 1
    data: str | None = None
    """Folder of the published streams, which are then played beside generated ones."""

    def __post_init__(self) -> None:
        """Refuse nothing to do, and what there is not."""
        check_amounts(seeds=self.seeds, steps=self.steps, jobs=self.jobs)
        check_workloads(self.workloads, WORKLOADS)
        if self.data is not None:
            for workload in FILES.keys() & set(self.workloads):
                published(workload, self.data)


def reproduce(settings: Settings, progress: Progress = silent) -> Reproduction:
    """Repeat the experiments with several seeds, and set their figures beside the paper's."""
    runs = Runs(run(settings, progress))
    found = entries(runs)
    return Reproduction(
        paper="ppq",
        title="Elastic-PPQ: a two-level autonomic system for spatial preference query processing "
        "over dynamic data streams",
        settings={
            "seeds": settings.seeds,
            "steps": settings.steps,
            "seconds_per_step": STEP,
            "sampling": SAMPLING,
            "setpoint": SETPOINT,
            "margin": MARGIN,
            "pool": POOL,
            "workloads": list(settings.workloads),
            "data": "generated" if settings.data is None else "generated and published",
        },
        entries=found,
        tables=tables(found),
        figures=figures(found, runs),
        claims=claims(found),
        remarks=tuple(_remarks(settings)),
    )


def run(settings: Settings, progress: Progress) -> list[Outcome]:
    """Every run, in the same order whatever the number of jobs."""
    tasks = list(_tasks(settings))
    return repeat(
        examine,
        tasks,
        jobs=settings.jobs,
        progress=progress,
        compile_with=Task(play=tasks[0].play, seed=1, seconds=STEP, data=settings.data),
    )


def _tasks(settings: Settings) -> Iterator[Task]:
    seconds = None if settings.steps is None else settings.steps * STEP
    for seed in range(1, settings.seeds + 1):
        for play in plays(settings.workloads, published=settings.data is not None):
            yield Task(play=play, seed=seed, seconds=seconds, data=settings.data)


def _remarks(settings: Settings) -> Iterator[str]:
    seeds = f"{settings.seeds} seed{'s' * (settings.seeds > 1)}"
    yield (
        f"{seeds}; simulated tuple by tuple, as the paper schedules them: owners of panes, K-slack "
        "punctuations, tasks that update windows and merge parts. Both stages begin with one "
        f"worker and share {POOL}."
    )
    yield (
        f"A tuple takes {1e6 * TUPLE:g} us and {1e6 * COMPARISON:g} us for each other that it is "
        "compared with, of which theory says how many there are on independent coordinates; both "
        "were fitted to the workers that the text of Fig. 9 and 11 has."
    )
    yield (
        f"The outer level aims at a load of {SETPOINT:g}, the inner one at "
        f"{SETPOINT - MARGIN:.1f}: with the same setpoint for both, as the paper has it, the pane "
        "stage takes ever more workers that do little (last table)."
    )
    yield (
        "Streams are generated, and drawn again until their mean rate (10 %) and their busiest "
        "second (25 %) are those of Tab. 3; game1 and game2 are walks within the bounds of the "
        "published ones. Game3, Game4 and their delays were not published, Fig. 16 (watts) is left "
        "out."
    )
    if settings.data is not None:
        yield (
            "Published streams are played beside the generated ones; Fig. 14 to 18 are of the "
            "published Game1."
        )
    if settings.steps is not None:
        yield (
            f"Only the first {settings.steps * STEP:g} seconds were played: the paper's figures "
            "are left out, and what a whole stream shows may not be found."
        )
