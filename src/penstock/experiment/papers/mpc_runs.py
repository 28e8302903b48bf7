"""One strategy on one workload, second by second."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.signals import ModuleReading, Observation
from penstock.experiment.papers.mpc_operator import (
    FASTEST,
    MOST_REPLICAS,
    NAME,
    QUOTES,
    SERVICE_TIME,
    Start,
    enough,
    open_operator,
    operator,
)
from penstock.experiment.papers.mpc_strategies import PEAK, Variant, controller, policy
from penstock.experiment.papers.mpc_workloads import quotes, shares
from penstock.plant.twin.state import Array

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

    def take_in(self, rows: Array) -> None:
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
        tally.take_in(rows)
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
