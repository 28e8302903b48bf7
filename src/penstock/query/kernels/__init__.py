"""The inner loops of preference queries, compiled: points by the thousand, smaller is better.

| function | what it finds |
|---|---|
| `skyline` | the points that no other dominates |
| `dominance_factors` | how many dimensions of each point some other is not worse in |
| `skyline_of_groups`, `dominance_factors_of_groups` | the same for many groups in one call |

>>> skyline([[1, 3], [2, 2], [2, 4]])
array([0, 1])

The first call compiles for ten seconds or so and leaves the machine code by the modules (or where
`NUMBA_CACHE_DIR` says); later processes load it. All of them run on one thread, and others can run
meanwhile.
"""

import numpy as np

from penstock.query.kernels.factors import dominance_factors, dominance_factors_of_groups
from penstock.query.kernels.skyline import skyline, skyline_of_groups

__all__ = [
    "dominance_factors",
    "dominance_factors_of_groups",
    "load",
    "skyline",
    "skyline_of_groups",
]


def load() -> None:
    """Have the machine code of all of them in memory, and on disk for other processes."""
    points = np.random.default_rng(1).uniform(size=(2000, 8))
    skyline(points)
    dominance_factors(points)  # a skyline as large as this, and a small one, take different ways
    dominance_factors(points[:10])
