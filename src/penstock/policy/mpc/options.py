"""What a controller chooses from: replicas, and the clock they run at.

>>> options = Options.of(least=1, most=3, clocks=(1.2, 2.0))
>>> len(options), options.replicas.tolist(), options.index(2, 2.0)
(6, [1.0, 1.0, 2.0, 2.0, 3.0, 3.0], 3)
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

_SAME: Final = 5e-4
"""GHz by which two frequencies differ if they are one: they are told apart to the MHz."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Options:
    """Every pair of a degree and a clock: fewer replicas first, and of those the slower clock.

    That is the order in which ties are broken, too.
    """

    replicas: NDArray[np.float64]
    clocks: NDArray[np.float64]
    """GHz."""

    @classmethod
    def of(cls, *, least: int, most: int, clocks: Iterable[float]) -> "Options":
        """All degrees from the least to the most, at each clock."""
        degrees = np.arange(least, most + 1, dtype=float)
        speeds = np.array(sorted(clocks))
        return cls(replicas=np.repeat(degrees, len(speeds)), clocks=np.tile(speeds, len(degrees)))

    def __len__(self) -> int:
        """How many there are."""
        return len(self.replicas)

    def index(self, replicas: int, clock: float) -> int | None:
        """Where one stands, or None where it is not among them."""
        same = (self.replicas == replicas) & (np.abs(self.clocks - clock) < _SAME)
        found = np.flatnonzero(same)
        return int(found[0]) if found.size else None

    def degree(self, index: int) -> int:
        """Replicas of one of them."""
        return int(self.replicas[index])

    def clock(self, index: int) -> float:
        """GHz of one of them."""
        return float(self.clocks[index])
