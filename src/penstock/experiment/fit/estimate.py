"""One setting of a twin as a recording tells it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

FAR: Final = 4.0
"""Samples further from the median than so many median deviations are left out of a mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a recording says of a setting, and how many samples that rests on.

    >>> told = Estimate(of="counter", setting="overhead", value=0.4, file=0.35, samples=80,
    ...                 how="median over micro-batches")
    >>> told.kept, told.value
    (False, 0.4)
    """

    of: str
    """The module, or the stream as `splitter -> counter`."""
    setting: str
    """As pipeline files call it."""
    value: float
    """What the twin gets; the file's own value where there is no sample. Seconds, or a ratio."""
    file: float
    """What the pipeline file of the recording says."""
    samples: int
    how: str
    """In a few words, how it was estimated, or why it was not."""

    @property
    def kept(self) -> bool:
        """Whether it could not be estimated, so that the file's value stays."""
        return self.samples == 0


def kept(of: str, setting: str, file: float, why: str) -> Estimate:
    """A setting of which the recording says nothing."""
    return Estimate(of=of, setting=setting, value=file, file=file, samples=0, how=why)


def middle(samples: Sequence[float]) -> float:
    """The median."""
    return float(np.median(samples))


def steady_mean(values: ArrayLike, weights: ArrayLike) -> float:
    """The weighted mean of what lies near the median: a mean that one mishap does not move.

    >>> steady_mean([1.0, 1.1, 0.9, 40.0], [1, 1, 1, 1])
    1.0
    """
    value, weight = np.asarray(values, float), np.asarray(weights, float)
    off = np.abs(value - np.median(value))
    near = off <= FAR * max(float(np.median(off)), 1e-3 * abs(float(np.median(value))))
    return float(np.average(value[near], weights=weight[near]))
