"""The dispersion of counts by the length of the windows."""

import numpy as np
from numpy.typing import ArrayLike

from penstock.workload.burstiness import dispersion


def dispersions(counts: ArrayLike) -> dict[int, float]:
    """The index of dispersion of windows of 1, 2, 4, ... counts, up to a sixteenth of them."""
    given = np.asarray(counts, np.float64)
    sizes = [1 << scale for scale in range((len(given) // 16).bit_length())]
    return {size: dispersion(given, windows=len(given) // size) for size in sizes}
