"""Section 8 of the e2df paper: Tab. 1 and 2, Fig. 4 to 7.

A word count in three regions meets a daily pattern for 100,000 minutes. Operators get and lose
replicas, regions get and lose nodes; at either level, somebody decides by rules or learns.

>>> done = reproduce(Settings(seeds=1, steps=2))
>>> done.paper, [table.title for table in done.tables][0]
('e2df', 'Tab. 1: policies of infrastructure and application')
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Final

from penstock.experiment.results import Reproduction
from penstock.experiment.workers import Progress, check_amounts, repeat, silent
from penstock.papers.e2df.claims import claims
from penstock.papers.e2df.closed_loop import Levels
from penstock.papers.e2df.entries import entries
from penstock.papers.e2df.figures import figures
from penstock.papers.e2df.published import WEIGHTS
from penstock.papers.e2df.runs import DAY, LEARNING, PLAYS, Outcome, Runs, Task, examine
from penstock.papers.e2df.setup import LIMIT, SLOT, SLOTS_OF_THE_PAPER, STATIC_NODES
from penstock.papers.e2df.tables import tables

SEEDS: Final = 5
_VARIED: Final = ("application", "infrastructure", "demand_weight")
"""What a play sets; all else is the same in each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How much of it to do."""

    seeds: int = SEEDS
    steps: int | None = None
    """Minutes of each run; the paper's 100,000 unless given."""
    jobs: int = 1

    def __post_init__(self) -> None:
        """Refuse nothing to do."""
        check_amounts(seeds=self.seeds, steps=self.steps, jobs=self.jobs)

    @property
    def slots(self) -> int:
        """Minutes of each run."""
        return SLOTS_OF_THE_PAPER if self.steps is None else self.steps


def reproduce(settings: Settings, progress: Progress = silent) -> Reproduction:
    """Repeat the experiments with several seeds, and set their figures beside the paper's."""
    whole = settings.slots == SLOTS_OF_THE_PAPER
    runs = Runs(run(settings, progress), whole=whole)
    found = entries(runs)
    return Reproduction(
        paper="e2df",
        title="Multi-level elasticity for wide-area data streaming systems: a reinforcement "
        "learning approach",
        settings={
            "seeds": settings.seeds,
            "steps": settings.slots,
            "seconds_per_step": SLOT,
            "response_bound": LIMIT,
            "learning_steps": LEARNING,
            "static_nodes": STATIC_NODES,
            "demand_weights": list(WEIGHTS),
            **{name: value for name, value in asdict(Levels()).items() if name not in _VARIED},
        },
        entries=found,
        tables=tables(found),
        figures=figures(runs),
        claims=claims(found),
        remarks=tuple(_remarks(settings, whole=whole)),
    )


def run(settings: Settings, progress: Progress) -> list[Outcome]:
    """Every run, in the same order whatever the number of jobs."""
    tasks = list(_tasks(settings))
    return repeat(
        examine,
        tasks,
        jobs=settings.jobs,
        progress=progress,
        compile_with=Task(play=tasks[0].play, seed=1, slots=2),
    )


def _tasks(settings: Settings) -> Iterator[Task]:
    for seed in range(1, settings.seeds + 1):
        for play in PLAYS:
            yield Task(play=play, seed=seed, slots=settings.slots)


def _remarks(settings: Settings, *, whole: bool) -> Iterator[str]:
    seeds = f"{settings.seeds} seed{'s' * (settings.seeds > 1)}"
    yield (
        f"{seeds} of the load and of the nodes that replicas go to, the same in all rows; "
        f"{settings.slots:,} minutes each, in every one of which both levels decide once."
    )
    yield (
        f"Violations are minutes with a mean response time above {1e3 * LIMIT:g} ms. Tab. 1 and 2 "
        f"count from day {LEARNING // DAY + 1} on (or, of shorter runs, the second half): the "
        "paper speaks of the time when learning is complete. Whole runs are in a table of their "
        "own."
    )
    yield (
        "The paper leaves much open, from the load to the node that a replica goes to: what was "
        "taken is under Tab. 1 and 2 in short, and in the last table in full."
    )
    if not whole:
        yield (
            f"Runs have {settings.slots:,} minutes and not {SLOTS_OF_THE_PAPER:,}: the paper's "
            "figures are left out, with what notes say of them, what learning comes to may not be "
            "found, and the first day ends with the first half at the latest."
        )
