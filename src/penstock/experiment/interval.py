"""A mean over seeds, and how far chance may have moved it.

>>> interval([10.0, 12.0, 11.0, 13.0])
Interval(mean=11.5, half_width=2.05, runs=4)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev
from typing import Any


@dataclass(frozen=True, slots=True)
class Interval:
    """In 95 of 100 repetitions the true mean lies within `half_width` of the mean."""

    mean: float
    half_width: float | None
    """None for a single run, which says nothing about chance."""
    runs: int

    def __repr__(self) -> str:
        half = "None" if self.half_width is None else f"{self.half_width:.3g}"
        return f"Interval(mean={self.mean:.6g}, half_width={half}, runs={self.runs})"

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        half = self.half_width
        return {
            "mean": self.mean,
            "low": None if half is None else self.mean - half,
            "high": None if half is None else self.mean + half,
            "runs": self.runs,
        }


def interval(values: Sequence[float]) -> Interval:
    """The mean of one value per seed, with its 95 % interval."""
    runs, mean = len(values), fmean(values)
    if runs < 2:
        return Interval(mean, None, runs)
    return Interval(mean, student(runs - 1) * stdev(values) / sqrt(runs), runs)


def student(freedom: int) -> float:
    """97.5 % of Student's distribution with so many degrees of freedom are below.

    >>> [round(student(freedom), 2) for freedom in (1, 5, 9, 29, 99)]
    [12.71, 2.57, 2.26, 2.05, 1.98]
    """
    from scipy.special import stdtrit  # of the extra `twin`, which every experiment needs

    return float(stdtrit(freedom, 0.975))
