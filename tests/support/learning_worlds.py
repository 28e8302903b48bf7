"""Small worlds whose chances are known, to hold what was learned against the optimum."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Numbers move by actions, levels and flags by chance; arrays are as in a learned table."""

    known: Floats
    """By action and number."""
    level_chances: Floats
    """By level and next level."""
    flag_chances: Floats
    """By flag, action and next flag."""
    penalty: Floats
    """Paid on coming to a level, flag and number."""
    discount: float = 0.99

    @property
    def shape(self) -> tuple[int, ...]:
        """Levels, flags and numbers."""
        return self.penalty.shape

    def weigh(self, values: Floats) -> Floats:
        """What each action is worth in each state, if those are the values that follow."""
        flags = self.shape[1]
        q = np.full((3, *self.shape), np.inf)
        ahead = np.tensordot(self.level_chances, self.penalty + self.discount * values, axes=1)
        for flag in range(flags):
            for action in (-1, 0, 1):
                if action == -1 and flags == 2 and flag == 0:
                    continue  # without an idle node none can go
                mixed = np.tensordot(self.flag_chances[flag, action + 1], ahead, axes=(0, 1))
                here = np.flatnonzero(np.isfinite(self.known[action + 1]))
                q[action + 1, :, flag, here] = (
                    self.known[action + 1, here] + mixed[:, here + action]
                ).T
        return q

    def best_values(self) -> Floats:
        """By value iteration."""
        values = np.zeros(self.shape)
        for _ in range(1000):
            values = self.weigh(values).min(axis=0)
        return values

    def values_of(self, actions: Longs) -> Floats:
        """Of always doing what a table of actions (-1, 0, 1) says."""
        values = np.zeros(self.shape)
        for _ in range(1000):
            values = np.take_along_axis(self.weigh(values), actions[None] + 1, axis=0)[0]
        return values


def level_chain(draw: np.random.Generator, levels: int) -> Floats:
    """A random walk that mostly stays, with chances of its own at each level."""
    chances = np.zeros((levels, levels))
    for level in range(levels):
        for step in (-1, 0, 1):
            chances[level, min(max(level + step, 0), levels - 1)] += draw.uniform(
                *((4.0, 6.0) if step == 0 else (0.2, 1.0))
            )
    shares: Floats = chances / chances.sum(axis=1, keepdims=True)
    return shares


def needs(draw: np.random.Generator, levels: int, most: int) -> Longs:
    """How many are enough at each level: more at a higher one."""
    found: Longs = np.sort(draw.integers(1, most + 1, size=levels))
    return found
