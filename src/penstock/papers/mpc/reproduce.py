"""Section 5 of the mpc paper on the twin: Tab. 5 to 7, Fig. 11 to 17.

Quotes come to a keyed operator for 180 s of a random walk and for 235 s of a trading day. Its
replicas and their clock are decided by the strategies of Tab. 6, with and without switching cost,
over one to three steps, and by rules and SPL.

>>> done = reproduce(Settings(seeds=1, steps=3, workloads=("rwalk",)))
>>> done.paper, [table.title for table in done.tables][1]
('mpc', 'Tab. 6: the strategies')
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from penstock.experiment.results import Reproduction
from penstock.experiment.workers import Progress, check_amounts, check_workloads, repeat, silent
from penstock.papers.mpc.claims import claims
from penstock.papers.mpc.entries import entries
from penstock.papers.mpc.figures import figures, is_drawn
from penstock.papers.mpc.published import WORKLOADS
from penstock.papers.mpc.runs import QUEUE, Case, Clock, Outcome, Task, efforts, examine
from penstock.papers.mpc.setup import (
    COMPARED,
    IDLE_WATTS,
    PEAK,
    QUOTES,
    SCALE,
    SECONDS,
    SERVICE_CV,
    SERVICE_TIME,
    VARIANTS,
    VOLTAGES,
    quotes,
    shares,
)
from penstock.papers.mpc.tables import tables

SEEDS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How much of it to do."""

    seeds: int = SEEDS
    steps: int | None = None
    """Seconds of each workload; all of them unless given."""
    workloads: tuple[str, ...] = WORKLOADS
    jobs: int = 1
    data: str | None = None
    """Folder of the published walk and frequencies, in place of generated ones."""

    def __post_init__(self) -> None:
        """Refuse nothing to do, and what there is not."""
        check_amounts(seeds=self.seeds, steps=self.steps, jobs=self.jobs)
        check_workloads(self.workloads, WORKLOADS)
        if self.data is not None:
            quotes("rwalk", 1, self.data)
            shares(self.data)


def reproduce(
    settings: Settings, progress: Progress = silent, clock: Clock | None = None
) -> Reproduction:
    """Repeat the experiments with several seeds, and set their figures beside the paper's.

    Decisions are timed by the clock; without one, Tab. 5 has no times.
    """
    outcomes = run(settings, progress)
    searched = efforts(quotes("rwalk", 1, settings.data).tolist(), clock)
    found = entries(outcomes, searched)
    return Reproduction(
        paper="mpc",
        title="Proactive elasticity and energy awareness in data stream processing",
        settings={
            "seeds": settings.seeds,
            "steps": {w: _seconds(settings, w) for w in settings.workloads},
            "seconds_per_step": 1.0,
            "workloads": list(settings.workloads),
            "data": "generated" if settings.data is None else "published",
            "service_time": SERVICE_TIME,
            "scale": SCALE,
        },
        entries=found,
        tables=tables(found),
        figures=figures(found, outcomes),
        claims=claims(found, searched),
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
        compile_with=Task(replace(tasks[0].case, seconds=1)),
    )


def _tasks(settings: Settings) -> Iterator[Task]:
    """The first seed in detail, where a figure shows it."""
    for seed in range(1, settings.seeds + 1):
        for workload in settings.workloads:
            compared = COMPARED if workload == "day" else ()
            for variant in (*VARIANTS, PEAK, *compared):
                case = Case(
                    workload=workload,
                    seed=seed,
                    variant=variant,
                    seconds=settings.steps,
                    data=settings.data,
                )
                yield Task(case, detailed=seed == 1 and is_drawn(variant))


def _seconds(settings: Settings, workload: str) -> int:
    return min(settings.steps or SECONDS[workload], SECONDS[workload])


def _remarks(settings: Settings) -> Iterator[str]:
    seeds = f"{settings.seeds} seed{'s' * (settings.seeds > 1)}"
    yield (
        f"{seeds}; a decision in every second but for Tab. 7. Simulated tuple by tuple: rows are "
        f"triggering tuples, one in {QUOTES} quotes, and every strategy meets the same ones with "
        "the same running times."
    )
    yield (
        f"A triggering tuple takes {1e3 * SERVICE_TIME:g} ms at 2 GHz, read from Section 5.2.2 (6 "
        "replicas are enough for 300,000 quotes/s, and 8 but not 7 for 400,000); its coefficient "
        f"of variation of {SERVICE_CV:g} is our choice. A run begins with the configuration that "
        "the strategy would choose for its first second."
    )
    yield (
        "The trading day is generated. Its shape and noise were fitted to Tab. 7: to its replicas, "
        "its reconfigurations and its order, which holds on about one in seven of the days that we "
        "tried. "
        + (
            "The random walk has the published one's start, bounds, moves, mean (5 %) and "
            "deviation (15 %); keys have its shares."
            if settings.data is None
            else "The random walk and the frequencies of keys are the published ones."
        )
    )
    volts = VOLTAGES.volts
    yield (
        f"Voltages are our choice, {min(volts.values()):g} V at 1.2 GHz to {max(volts.values()):g} "
        f"V at 2 GHz, low enough that a replica at 1.2 GHz costs less (beta V^2 f) than its "
        f"release (gamma): with one step ahead th-power then keeps what it has, as in Fig. 11a. "
        f"Watts are modelled, {IDLE_WATTS:g} of them whatever the cores do."
    )
    yield (
        f"SPL's congestion is the share of tuples that find a queue of {QUEUE} before their "
        "replica full."
    )
    if any(_seconds(settings, w) < SECONDS[w] for w in settings.workloads):
        yield (
            f"Only the first {settings.steps} seconds were played: the paper's counts are left out."
        )
