"""Section 7 of the alloc paper: Tab. 1 to 4, Fig. 7 and 8.

Agents divide a budget among the modules of random graphs, and follow the rates of random trees.

>>> done = reproduce(Settings(seeds=1))
>>> done.paper, [table.title for table in done.tables][0]
('alloc', 'Tab. 1: Heuristic A on random graphs')
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from penstock.experiment.results import Reproduction
from penstock.experiment.workers import Progress, check_amounts, repeat, silent
from penstock.papers.alloc import published
from penstock.papers.alloc.adaptation import EVERY, HOPS, PERTURBATIONS
from penstock.papers.alloc.claims import claims
from penstock.papers.alloc.entries import PERTURBATIONS as KINDS
from penstock.papers.alloc.entries import entries
from penstock.papers.alloc.figures import figures
from penstock.papers.alloc.graphs import CHOSEN, DEPTH, EXTENT, ORDER, REDUCED
from penstock.papers.alloc.runs import Outcome, Runs, Task, examine
from penstock.papers.alloc.tables import tables
from penstock.policy.allocation.adaptation import SLACK, SMOOTHING, THRESHOLD

SEEDS: Final = 1000
FURTHER: Final = 0.25
"""Share of the seeds with which graphs of all links are drawn, too, which take long."""
BATCH: Final = 25
"""Graphs or trees of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How much of it to do."""

    seeds: int = SEEDS
    """Graphs and trees of each row."""
    jobs: int = 1

    def __post_init__(self) -> None:
        """Refuse nothing to do."""
        check_amounts(seeds=self.seeds, jobs=self.jobs)

    @property
    def further(self) -> int:
        """Graphs of a row of those with links to all successors."""
        return max(1, round(FURTHER * self.seeds))


def reproduce(settings: Settings, progress: Progress = silent) -> Reproduction:
    """Repeat the experiments, and set their figures beside the paper's."""
    runs = Runs(run(settings, progress))
    found = entries(runs)
    return Reproduction(
        paper="alloc",
        title="A decentralized control mechanism for stream processing networks",
        settings={
            "seeds": settings.seeds,
            "seeds_of_all_successors": settings.further,
            "depth": DEPTH,
            "chosen": CHOSEN,
            "extent": EXTENT,
            "hops": HOPS,
            "hops_between_perturbations": EVERY,
            "perturbations": PERTURBATIONS,
            "smoothing": SMOOTHING,
            "slack": SLACK,
            "threshold": THRESHOLD,
        },
        entries=found,
        tables=tables(found),
        figures=figures(runs),
        claims=claims(found),
        remarks=tuple(_remarks(settings)),
    )


def run(settings: Settings, progress: Progress) -> list[Outcome]:
    """Every run, in the same order whatever the number of jobs."""
    return repeat(
        examine,
        list(tasks(settings)),
        jobs=settings.jobs,
        progress=progress,
        compile_with=Task(sort="trees", nodes=2, kind=KINDS[0], seeds=(1,)),
    )


def tasks(settings: Settings) -> Iterator[Task]:
    """What is run: the largest first, so that no worker is left with one in the end."""
    for nodes in reversed(published.TREE_SIZES):
        for kind in KINDS:
            yield from _batches("trees", nodes, kind, settings.seeds)
    for nodes in reversed(published.SIZES):
        yield from _batches("graphs", nodes, ORDER, settings.further)
        yield from _batches("graphs", nodes, REDUCED, settings.seeds)


def _batches(sort: str, nodes: int, kind: str, seeds: int) -> Iterator[Task]:
    for first in range(1, seeds + 1, BATCH):
        batch = range(first, min(first + BATCH, seeds + 1))
        yield Task(sort=sort, nodes=nodes, kind=kind, seeds=batch)


def _remarks(settings: Settings) -> Iterator[str]:
    yield (
        f"{settings.seeds:,} random graph{'s' * (settings.seeds > 1)} and trees a row, "
        f"{settings.further:,} of those with links to all successors; every planner has the same "
        "ones. The optimum is that of the linear program (HiGHS), and of trees that at the price "
        "of resource at which all of it is used."
    )
    yield (
        f"In trees a unit of time is a hop. At hop 0 each module is perturbed with a chance of "
        f"{CHOSEN:g}: its rates change by up to {100 * EXTENT:g} %. Modules notice, tell their "
        "parents, and the top plans anew."
    )
    yield (
        "The paper leaves much open, from how a tree is drawn to what becomes of resource that a "
        "module cannot use: what was taken is in the last table, and other readings are rows of "
        "Tab. 3 and 4."
    )
