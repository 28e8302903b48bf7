"""Points to choose the best of, as preference queries are tried on: smaller is better.

How many points are best depends on how their coordinates hang together: few if a point that is good
in one is good in all, most if what is good in one is bad in another.

>>> draw = np.random.default_rng(1)
>>> for make in (correlated, uniform, anti_correlated):
...     print(f"{np.corrcoef(make(1000, 2, draw).T)[0, 1]:+.1f}")
+0.8
-0.0
-0.9
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SPAN: Final = 1000.0
"""Coordinates are from 0 to about here."""


def uniform(n: int, d: int, rng: np.random.Generator) -> Floats:
    """Coordinates that have nothing to do with each other, from 0 to 1,000.

    >>> uniform(2, 3, np.random.default_rng(1)).round().tolist()
    [[512.0, 950.0, 144.0], [949.0, 312.0, 423.0]]
    """
    return rng.uniform(0.0, SPAN, (n, d))


def correlated(n: int, d: int, rng: np.random.Generator) -> Floats:
    """Points along the diagonal: whatever is good in one dimension is good in the others.

    >>> correlated(2, 3, np.random.default_rng(2)).round().tolist()
    [[200.0, -105.0, 532.0], [470.0, 250.0, 415.0]]
    """
    return rng.uniform(0.0, SPAN, (n, 1)) + rng.normal(0.0, 0.15 * SPAN, (n, d))


def anti_correlated(n: int, d: int, rng: np.random.Generator) -> Floats:
    """Points close to a plane across the diagonal: what one is better in, it is worse in elsewhere.

    >>> anti_correlated(2, 3, np.random.default_rng(1)).mean(axis=1).round().tolist()
    [473.0, 529.0]
    """
    inside = uniform(n, d, rng)
    level = rng.normal(0.5 * SPAN, 0.05 * SPAN, (n, 1))
    inside += level - inside.mean(axis=1, keepdims=True)
    return inside
