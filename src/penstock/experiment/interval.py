"""A mean over seeds, and how far chance may have moved it.

>>> interval([10.0, 12.0, 11.0, 13.0])
Interval(mean=11.5, half_width=2.05, runs=4)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev
from typing import Any, Final

_NORMAL: Final = 1.959964
"""97.5 % of a normal distribution are below."""
_FEW: Final = {1: 12.706, 2: 4.3027, 3: 3.1824, 4: 2.7764}
"""The same of Student's distribution with so many degrees of freedom."""


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
    """97.5 % of Student's distribution are below; from five degrees of freedom on by a series.

    >>> [round(student(freedom), 2) for freedom in (1, 5, 9, 29, 99)]
    [12.71, 2.57, 2.26, 2.05, 1.98]
    """
    if freedom in _FEW:
        return _FEW[freedom]
    z = _NORMAL
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3
