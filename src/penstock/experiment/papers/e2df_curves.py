"""Courses of a run as they are drawn: the first and the last five days by the half-hour, and costs.

>>> import numpy as np
>>> block_means(np.array([1.0, 3.0, 5.0, 7.0, 9.0]), 2)
array([2., 6., 9.])
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from penstock.experiment.closed_loop import Course
from penstock.experiment.reproduction import Floats

SHOWN: Final = 5
"""Days of Fig. 4 to 6."""
BLOCK: Final = 30
"""Minutes of a point."""
CEILING: Final = 0.2
"""Seconds at which longer response times are drawn, those without end among them."""
BEGINNING: Final = 10
"""Days of which the running cost is drawn."""
_DAY: Final = 1440
_HOUR: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Days:
    """Some days, a point for each half-hour."""

    at: Floats
    """Days since the beginning of the run."""
    response: Floats
    """Seconds, of the worst minute, at most the ceiling."""
    replicas: Floats
    """Mean,"""
    nodes: Floats
    """likewise."""

    @classmethod
    def of(cls, course: Course, begin: int, end: int) -> "Days":
        """Minutes from `begin` to `end`."""
        starts = np.arange(begin, end, BLOCK)
        worst = np.maximum.reduceat(course.response[begin:end], starts - begin)
        return cls(
            at=starts / _DAY,
            response=np.minimum(worst, CEILING),
            replicas=block_means(course.replicas[begin:end], BLOCK),
            nodes=block_means(course.nodes[begin:end], BLOCK),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curves:
    """All that is drawn of a run."""

    first: Days
    last: Days
    running_cost: Floats
    """Mean cost of the regions from the beginning to each hour of the first days,"""
    daily_cost: Floats
    """and of each day."""

    @classmethod
    def of(cls, course: Course) -> "Curves":
        """Thin a course."""
        slots, shown = len(course.response), SHOWN * _DAY
        cost = course.costs.mean(axis=1)
        return cls(
            first=Days.of(course, 0, min(shown, slots)),
            last=Days.of(course, max(slots - shown, 0), slots),
            running_cost=_running(cost[: BEGINNING * _DAY]),
            daily_cost=block_means(cost, _DAY),
        )


def block_means(values: np.ndarray, size: int) -> Floats:
    """Means of blocks; the last one may be shorter."""
    starts = np.arange(0, len(values), size)
    sizes = np.diff(np.append(starts, len(values)))
    means: Floats = np.add.reduceat(values.astype(np.float64), starts) / sizes
    return means


def _running(cost: Floats) -> Floats:
    """Mean from the beginning to the end of each hour; of all where there is no whole hour."""
    means: Floats = np.cumsum(cost) / np.arange(1, len(cost) + 1)
    return means[_HOUR - 1 :: _HOUR] if len(means) >= _HOUR else means[-1:]
