"""A workload and a forecaster."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from penstock.core.schema import Rate

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Spiky:
    """Rows at a constant pace, twice as fast in every other second."""

    rate_: Rate
    """In the slow seconds."""

    def __post_init__(self) -> None:
        """Refuse too many, with an error of Python's own."""
        if self.rate_ > 1e6:
            raise ValueError("rate above a million")

    def rate(self, at: Floats) -> Floats:
        """One or two times the rate."""
        return np.asarray(self.rate_ * (1.0 + np.floor(at) % 2.0), dtype=np.float64)

    def arrivals(self, at: Floats) -> Floats:
        """Three seconds' worth of rows in two."""
        pairs, rest = np.divmod(np.asarray(at, dtype=np.float64), 2.0)
        return np.asarray(self.rate_ * (3.0 * pairs + np.maximum(rest, 2.0 * rest - 1.0)))

    def times(self, index: Floats) -> Floats:
        """When each row comes."""
        if self.rate_ == 0:
            return np.full(np.shape(index), np.inf)
        pairs, rest = np.divmod((np.asarray(index, dtype=np.float64) + 1.0) / self.rate_, 3.0)
        return np.asarray(2.0 * pairs + np.minimum(rest, (rest + 1.0) / 2.0))


@dataclass
class Largest:
    """Expects the largest of the newest few values."""

    window: int = 3
    _values: list[float] = field(default_factory=list, init=False, repr=False)

    def update(self, value: float, /) -> None:
        """Keep the newest few."""
        if np.isfinite(value):
            self._values = [*self._values, value][-self.window :]

    def forecast(self, steps: int, /) -> Floats:
        """The largest, again and again."""
        return np.full(steps, max(self._values, default=np.nan))
