"""Whether what is learned still changes what would be done.

>>> import numpy as np
>>> progress = Progress()
>>> q, visits = np.ones((3, 1, 1, 2)), np.ones((1, 1, 2))
>>> for _ in range(3):
...     progress.note(q, visits)
>>> progress.steps, progress.other, progress.moved
(3, False, 0.0)
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]

_ORDER = np.array([0, -1, 1])


def greedy(q: Floats) -> Longs:
    """The action of least cost in each state: nothing where that is as good, else the fewer.

    >>> greedy(np.array([[1.0, 2.0], [1.0, 3.0], [0.5, 2.0]]))
    array([ 1, -1])
    """
    found: Longs = _ORDER[np.argmin(q[[1, 0, 2]], axis=0)]
    return found


@dataclass
class Progress:
    """How long the choices in the states that were visited have stayed the same."""

    steps: int = 0
    """Steps that taught something."""
    other: bool = True
    """Whether the last of them changed what would be done in a state that was visited."""
    moved: float = np.inf
    """The largest change that it made to what an action in such a state costs, by that cost."""
    changed: Longs | None = field(default=None, compare=False)
    """By state, the step in which its choice last changed."""
    _choices: Longs | None = field(default=None, repr=False, compare=False)
    _q: Floats | None = field(default=None, repr=False, compare=False)

    def note(self, q: Floats, visits: Floats) -> None:
        """Hold what is known by now against what was known a step ago, where it was visited."""
        choices = greedy(q)
        self.steps += 1
        if self.changed is None:
            self.changed = np.zeros(choices.shape, np.int64)
        if self._choices is not None and self._q is not None:
            visited, other = visits > 0, choices != self._choices
            self.changed[other] = self.steps
            self.other = bool(other[visited].any())
            self.moved = _largest(q[:, visited], self._q[:, visited])
        self._choices, self._q = choices, q.copy()

    def settled(self, visits: Floats, *, patience: int) -> float:
        """Share of the visited states whose choice has stayed the same for so many steps."""
        visited = visits > 0
        if self.changed is None or not visited.any():
            return 0.0
        return float(np.mean(self.steps - self.changed[visited] >= patience))


def _largest(now: Floats, before: Floats) -> float:
    both = np.isfinite(now) & np.isfinite(before)
    apart = np.abs(now[both] - before[both])
    return float(np.max(apart / np.maximum(np.abs(now[both]), 1e-12), initial=0.0))
