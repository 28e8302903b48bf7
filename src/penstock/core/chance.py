"""Chance that can be replayed: the same number always draws the same lot."""

import numpy as np
from numpy.typing import NDArray


def uniform(index: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
    """A number in [0, 1) for each index: random to look at, the same for the same index and seed.

    >>> uniform(np.arange(3), seed=7).round(3).tolist()
    [0.066, 0.597, 0.592]
    """
    with np.errstate(over="ignore"):  # it is meant to wrap around
        mixed = (index.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed += np.uint64(seed) * np.uint64(0xD1B54A32D192ED03)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    lots: NDArray[np.float64] = (mixed ^ (mixed >> np.uint64(31))) / 2.0**64
    return lots
