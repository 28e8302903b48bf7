"""Points with equal coordinates, for preference queries."""

import numpy as np
from numpy.typing import NDArray


def tied(n: int, d: int, rng: np.random.Generator, levels: int) -> NDArray[np.float64]:
    """Whole numbers from 0 up to `levels`, so that many coordinates, and points, are equal."""
    return rng.integers(0, levels, (n, d)).astype(np.float64)
