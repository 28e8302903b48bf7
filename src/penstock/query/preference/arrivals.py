"""What K-slack must know of rows that came together, in three numbers however many they are.

Spark takes in rows by batches, in tasks that run side by side: in which order the rows of one batch
came cannot be told. So a row is late only against rows of batches before, and what is known of a
batch does not depend on how it was cut into tasks.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Rows that came together; times are microseconds since 1970.

    >>> Arrivals.of(np.array([30, 10])).also(Arrivals.of(np.array([20])))
    Arrivals(count=3, oldest=10, newest=30)
    """

    count: int = 0
    oldest: int = 0
    newest: int = 0

    @classmethod
    def of(cls, times: NDArray[np.int64]) -> "Arrivals":
        """Rows with these times."""
        if times.size == 0:
            return cls()
        return cls(times.size, int(times.min()), int(times.max()))

    def also(self, others: "Arrivals") -> "Arrivals":
        """These rows and others."""
        if not (self.count and others.count):
            return others if others.count else self
        return Arrivals(
            self.count + others.count,
            min(self.oldest, others.oldest),
            max(self.newest, others.newest),
        )

    def plain(self) -> tuple[int, ...]:
        """Whole numbers that say it all."""
        return astuple(self)

    @classmethod
    def from_plain(cls, values: Sequence[int]) -> "Arrivals":
        """The rows that told these numbers.

        >>> Arrivals.from_plain(Arrivals(1, 7, 7).plain())
        Arrivals(count=1, oldest=7, newest=7)
        """
        return cls(*(int(value) for value in values))
