"""What the operator knows of each symbol when a batch comes.

>>> Memory.empty(2).counts.tolist()
[0, 0]
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.pipeline.market.arrivals import UNKNOWN
from penstock.pipeline.market.series import Series


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Memory:
    """The state of K symbols."""

    counts: NDArray[np.int64]
    """Quotes ever accepted."""
    last: NDArray[np.int64]
    """The number of the last one."""
    newest: NDArray[np.int64]
    """The moment of the newest one."""
    history: Series
    """The last of them: as many as a window has."""

    @classmethod
    def empty(cls, keys: int) -> "Memory":
        """Symbols never seen."""
        nothing = np.full(keys, UNKNOWN)
        counts = np.zeros(keys, np.int64)
        return cls(counts=counts, last=nothing, newest=nothing, history=Series.empty(keys))
