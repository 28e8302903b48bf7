"""One strategy on one workload, second by second."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.signals import ModuleReading, Observation
from penstock.forecast import Holt
from penstock.papers.mpc import published
from penstock.papers.mpc.setup import (
    FASTEST,
    HEADROOM,
    HOLT,
    KEEPS_UP,
    MOST_REPLICAS,
    NAME,
    PEAK,
    QUOTES,
    SERVICE_TIME,
    THRESHOLD,
    VOLTAGES,
    Start,
    Variant,
    controller,
    enough,
    open_operator,
    operator,
    policy,
    quotes,
    shares,
)
from penstock.policy.mpc import STRATEGIES, Prices, Problem, Trajectory, branch_and_bound, solve
from penstock.policy.mpc.controller import ModuleController, Optimiser
from penstock.twin.state import Array

Floats = NDArray[np.float64]

QUEUE: Final = 256
"""Rows that the queue before a replica holds, where somebody asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What one run is about."""

    workload: str
    seed: int
    variant: Variant
    seconds: int | None = None
    """Only the first of them; all unless given."""
    data: str | None = None
    """Folder of the published data, in place of generated ones."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Course:
    """A run: configurations by control step, and what became of rows by the second."""

    replicas: Floats
    clocks: Floats
    """GHz."""
    watts: Floats
    came: Floats
    """Triggering tuples."""
    done: Floats
    """Results."""
    latency: Floats
    """Mean seconds from tuple to result, of those done; NaN where there were none."""

    @property
    def ratio(self) -> Floats:
        """Results by triggering tuples."""
        return np.divide(self.done, self.came, where=self.came > 0, out=np.ones_like(self.done))


@dataclass
class Tally:
    """Counts rows by the second in which they came and were done."""

    seconds: int
    came: Floats = field(init=False)
    done: Floats = field(init=False)
    took: Floats = field(init=False)
    """Seconds from tuple to result, added up by the second of the result."""

    def __post_init__(self) -> None:
        """None yet."""
        self.came, self.done, self.took = (np.zeros(self.seconds) for _ in range(3))

    def observe(self, rows: Array) -> None:
        """Rows that were done in a step; what is done after the last second counts no more."""
        self.came += self._by_second(rows["arrived"])
        self.done += self._by_second(rows["done"])
        self.took += self._by_second(rows["done"], rows["done"] - rows["arrived"])

    @property
    def latency(self) -> Floats:
        """Mean of each second; NaN where nothing was done."""
        means: Floats = np.full(self.seconds, np.nan)
        np.divide(self.took, self.done, where=self.done > 0, out=means)
        return means

    def _by_second(self, at: Array, weights: Array | None = None) -> Floats:
        counted = np.bincount(at.astype(np.int64), weights, minlength=self.seconds)
        return np.asarray(counted[: self.seconds], np.float64)


def play(case: Case) -> Course:
    """Let a strategy control the operator for as long as quotes come.

    >>> case = Case(workload="rwalk", seed=1, variant=Variant(strategy="th-node"), seconds=4)
    >>> course = play(case)
    >>> course.replicas.tolist(), course.ratio.round(1).tolist()
    ([6.0, 6.0, 6.0, 6.0], [1.0, 1.0, 1.0, 1.0])
    """
    rates = quotes(case.workload, case.seed, case.data)[: case.seconds]
    start = first(case.variant, case.workload, float(rates[0]))
    step = float(case.variant.step)
    twin = open_operator(rates, shares(case.data), seed=case.seed, step=step, start=start)
    decide = policy(case.variant, operator(start.replicas), case.workload)
    tally, seen = Tally(len(rates)), []
    for observation in twin.readings():
        rows = twin.journal()
        tally.observe(rows)
        if observation.at - observation.step < len(rates):
            seen.append(observation)
            told = at_splitter(observation, rows) if case.variant.strategy == "spl" else observation
            twin.apply(decide(told))
    return _course(seen, tally)


def at_splitter(seen: Observation, rows: Array) -> Observation:
    """What SPL sees: rows that could not be sent on at once, told as rows that it misses.

    Its congestion index is the share of rows that find the queue before their replica full. Queues
    of the twin are endless, so these are the rows that waited for as long as a full one takes.
    """
    reading = seen.modules[NAME]
    if not len(rows) or reading.processed_rate is None:
        return seen
    blocked = float((rows["begun"] - rows["arrived"] > QUEUE * SERVICE_TIME).mean())
    sent = reading.processed_rate / max(1.0 - blocked, 1.0 / len(rows))
    return replace(seen, modules={NAME: replace(reading, arrival_rate=sent)})


def first(variant: Variant, workload: str, rate: float) -> Start:
    """The configuration that suits the first second: what the strategy would choose for nothing.

    >>> first(Variant(strategy="th-node", horizon=2), "rwalk", rate=300e3)
    Start(replicas=6, clock=2.0)
    """
    if variant == PEAK:
        return Start(replicas=MOST_REPLICAS)
    degree = enough(rate)
    if not variant.controlled:
        return Start(replicas=degree)
    free = replace(variant, switching=False, horizon=1)
    chosen = replace(controller(free, operator(), workload), warm_up=0)(_known(rate, degree))
    return Start(
        replicas=chosen.configuration.degrees[NAME],
        clock=chosen.configuration.frequency or FASTEST,
    )


def _known(rate: float, degree: int) -> Observation:
    reading = ModuleReading(arrival_rate=rate / QUOTES, running=degree)
    return Observation(at=0.0, step=1.0, modules={NAME: reading}, frequency=FASTEST)


def _course(seen: Sequence[Observation], tally: Tally) -> Course:
    return Course(
        replicas=np.array([o.modules[NAME].running for o in seen], np.float64),
        clocks=np.array([o.frequency for o in seen], np.float64),
        watts=np.array([o.power.watts for o in seen if o.power], np.float64),
        came=tally.came,
        done=tally.done,
        latency=tally.latency,
    )


# What is left of one run when its seconds have been counted: what workers hand back.


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The properties of a strategy (mpc, Section 2.3), over one run."""

    reconfigurations: float
    """Control steps that began with another degree or clock: stability."""
    violations: float
    """Seconds in which quality was missed: accuracy."""
    amplitude: float
    """Mean size of a reconfiguration, 0.1 GHz being as much as a replica: settling time."""
    replicas: float
    """Mean: overshoot."""
    watts: float
    """Mean, modelled."""

    @classmethod
    def of(cls, course: Course, *, late: float | None) -> "Score":
        """Count; `late` is the latency above which quality is missed, None where it is throughput.

        >>> steady = np.full(3, 1000.0)
        >>> course = Course(
        ...     replicas=np.array([4.0, 4.0, 7.0]), clocks=np.array([2.0, 2.0, 1.6]),
        ...     watts=np.array([30.0, 30.0, 33.0]), came=steady,
        ...     done=np.array([1000.0, 940.0, 1050.0]), latency=np.full(3, 0.001),
        ... )
        >>> Score.of(course, late=None)
        Score(reconfigurations=1.0, violations=1.0, amplitude=5.0, replicas=5.0, watts=31.0)
        """
        moves = np.hypot(np.diff(course.replicas), np.round(10.0 * np.diff(course.clocks)))
        changes = moves[moves > 0]
        missed = course.ratio < KEEPS_UP if late is None else ~(course.latency <= late)
        return cls(
            reconfigurations=float(len(changes)),
            violations=float(missed.sum()),
            amplitude=float(changes.mean()) if len(changes) else 0.0,
            replicas=float(course.replicas.mean()),
            watts=float(course.watts.mean()),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """One run."""

    case: Case
    score: Score
    course: Course | None
    """Only where it is shown."""


@dataclass(frozen=True, slots=True)
class Task:
    """A run, and whether its seconds are wanted or only their sums."""

    case: Case
    detailed: bool = False


def examine(task: Task) -> Outcome:
    """Carry out one run."""
    course = play(task.case)
    return Outcome(
        case=task.case,
        score=Score.of(course, late=_late(task.case)),
        course=course if task.detailed else None,
    )


def _late(case: Case) -> float | None:
    kind = STRATEGIES.get(case.variant.strategy)
    return THRESHOLD[case.workload] if kind and kind.latency else None


# How far each search has to look for the best course: Tab. 5, along a random walk.


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
    explored: dict[str, list[int]] = field(default_factory=lambda: {name: [] for name in SEARCHES})
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
            explored={name: fmean(counts) for name, counts in self.explored.items()},
            seconds={name: fmean(times) for name, times in self.spent.items() if times},
            agreed=self.agreed,
        )

    def _time(self, name: str, problem: Problem) -> Trajectory:
        before = self.clock() if self.clock else None
        found = SEARCHES[name](problem)
        if self.clock and before is not None:
            self.spent[name].append(self.clock() - before)
        self.explored[name].append(found.explored)
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
        alpha=published.ALPHA[VARIANT.strategy]["rwalk"],
        beta=published.BETA,
        gamma=published.GAMMA,
        threshold=THRESHOLD["rwalk"],
        headroom=HEADROOM,
        voltages=VOLTAGES,
    )
    controller = ModuleController(
        operator()[NAME], prices, Holt(**HOLT["rwalk"]), horizon=horizon, optimiser=probe
    )
    start = first(VARIANT, "rwalk", rates[0])
    degree, at = start.replicas, start.clock
    for rate in rates:
        reading = ModuleReading(arrival_rate=rate / QUOTES, running=degree)
        controller.observe(
            Observation(at=0.0, step=1.0, modules={NAME: reading}, frequency=FASTEST)
        )
        course = controller.plan(degree=degree, clock=at, clocks=VOLTAGES.frequencies)
        degree, at = course.replicas, course.clock
    return probe.effort(horizon)
