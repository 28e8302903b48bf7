"""What is left of one run when its seconds have been counted: what workers hand back."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.experiment.papers.mpc_runs import Case, Course, play
from penstock.experiment.papers.mpc_strategies import KEEPS_UP, THRESHOLD
from penstock.policy.mpc import STRATEGIES

Floats = NDArray[np.float64]


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
