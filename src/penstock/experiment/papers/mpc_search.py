"""How far each search has to look for the best course: Tab. 5, along a random walk."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Final

from penstock.core.signals import ModuleReading, Observation
from penstock.experiment.papers import mpc_printed as printed
from penstock.experiment.papers.mpc_operator import FASTEST, NAME, QUOTES, VOLTAGES, operator
from penstock.experiment.papers.mpc_runs import first
from penstock.experiment.papers.mpc_strategies import HEADROOM, HOLT, THRESHOLD, Variant
from penstock.forecast import Holt
from penstock.policy.mpc import Prices, Problem, Trajectory, branch_and_bound, solve
from penstock.policy.mpc.pilot import Optimiser, Pilot

Clock = Callable[[], float]
"""Tells seconds, from whenever."""

VARIANT: Final = Variant(strategy="lat-power")
"""Whose decisions are looked at. The paper does not say; of the two strategies that have 108
configurations, this one comes near its figures. Where quality is throughput, all that keep up cost
alike, and hardly any can be passed over."""
HORIZONS: Final = (1, 2, 3)
DECISIONS: Final = 30
SEARCHES: Final[dict[str, Optimiser]] = {
    "branch-and-bound": branch_and_bound,
    "dynamic-programming": solve,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """What a horizon cost each search, on average over the decisions."""

    horizon: int
    explored: dict[str, float]
    """States that were looked at: whole courses, or pairs of consecutive configurations."""
    seconds: dict[str, float]
    """That a decision took; empty where nobody had a clock."""
    agreed: bool
    """Whether both searches found the same course, every time."""


@dataclass
class Probe:
    """A search that asks both, notes what each of them took, and returns what they found."""

    clock: Clock | None
    looked_at: dict[str, list[int]] = field(default_factory=lambda: {name: [] for name in SEARCHES})
    spent: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in SEARCHES})
    agreed: bool = True

    def __call__(self, problem: Problem) -> Trajectory:
        """Each gets a copy, so that neither lives on what the other has worked out."""
        found = [self._time(name, replace(problem)) for name in SEARCHES]
        self.agreed &= found[0].choices == found[1].choices
        return found[0]

    def effort(self, horizon: int) -> Effort:
        """What it came to."""
        return Effort(
            horizon=horizon,
            explored={name: fmean(counts) for name, counts in self.looked_at.items()},
            seconds={name: fmean(times) for name, times in self.spent.items() if times},
            agreed=self.agreed,
        )

    def _time(self, name: str, problem: Problem) -> Trajectory:
        before = self.clock() if self.clock else None
        found = SEARCHES[name](problem)
        if self.clock and before is not None:
            self.spent[name].append(self.clock() - before)
        self.looked_at[name].append(found.looked_at)
        return found


def efforts(rates: Sequence[float], clock: Clock | None = None) -> tuple[Effort, ...]:
    """Decide as lat-power with switching cost does, over each horizon.

    >>> [round(effort.explored["branch-and-bound"]) for effort in efforts([300e3])]
    [108, 2052, 28512]
    """
    return tuple(_effort(horizon, rates[:DECISIONS], clock) for horizon in HORIZONS)


def _effort(horizon: int, rates: Sequence[float], clock: Clock | None) -> Effort:
    probe = Probe(clock)
    prices = Prices(
        strategy=VARIANT.strategy,
        alpha=printed.ALPHA[VARIANT.strategy]["rwalk"],
        beta=printed.BETA,
        gamma=printed.GAMMA,
        threshold=THRESHOLD["rwalk"],
        headroom=HEADROOM,
        voltages=VOLTAGES,
    )
    pilot = Pilot(operator()[NAME], prices, Holt(**HOLT["rwalk"]), horizon=horizon, optimiser=probe)
    start = first(VARIANT, "rwalk", rates[0])
    degree, at = start.replicas, start.clock
    for rate in rates:
        reading = ModuleReading(arrival_rate=rate / QUOTES, running=degree)
        pilot.take_in(Observation(at=0.0, step=1.0, modules={NAME: reading}, frequency=FASTEST))
        course = pilot.course(degree=degree, clock=at, clocks=VOLTAGES.frequencies)
        degree, at = course.replicas, course.clock
    return probe.effort(horizon)
