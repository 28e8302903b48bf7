"""How many tuples of many are in their skyline, and what it takes to find them one by one.

Of n tuples whose d coordinates are independent, a tuple is in the skyline of the first n with a
probability that depends on n and d alone, so its expected size follows by recursion over d: sorted
by the last coordinate, the k-th tuple stays if it is in the skyline of the first k by the others,
which is so for `size(k, d - 1) / k`.

>>> sizes = expected_sizes(8000, dimensions=8)
>>> f"{sizes[8000] / 8000:.0%} of 8,000 tuples, {sizes[667] / 667:.0%} of a twelfth of them"
'28% of 8,000 tuples, 59% of a twelfth of them'

Of the same two the ppq paper measured 27 % and 58 % (Section 5.2).
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError

Floats = NDArray[np.float64]

EARLY: Final = 0.22
"""Share of the skyline that a dominated tuple is compared with until one that dominates it; counted
on uniform tuples of eight coordinates, 200 to 30,000 of them, where it varies by a tenth."""


def expected_sizes(most: int, *, dimensions: int) -> Floats:
    """The size of the skyline of 0, 1, 2... up to `most` tuples.

    >>> expected_sizes(3, dimensions=2).round(3).tolist()
    [0.0, 1.0, 1.5, 1.833]
    """
    check_dimensions(dimensions)
    return np.append(0.0, _sizes(most, dimensions))


def comparisons(most: int, *, dimensions: int) -> Floats:
    """With how many others a tuple is compared where 0, 1, 2... up to `most` came before it.

    One that stays is compared with the whole skyline, one that is dominated only until it meets
    the first that dominates it.

    >>> comparisons(2, dimensions=1).round(3).tolist()
    [0.0, 0.61, 0.48]
    """
    check_dimensions(dimensions)
    sizes = _sizes(most + 1, dimensions)
    stays = sizes[1:] / np.arange(2.0, most + 2.0)
    return np.append(0.0, sizes[:-1] * (stays + (1.0 - stays) * EARLY))


def check_dimensions(dimensions: int) -> None:
    """Reject tuples without coordinates."""
    if not dimensions >= 1:
        raise SettingError(f"dimensions must be 1 or more, got {dimensions}")


def _sizes(most: int, dimensions: int) -> Floats:
    count = np.arange(1.0, most + 1.0)
    sizes = np.ones(most)
    for _ in range(dimensions - 1):
        sizes = np.cumsum(sizes / count)
    return sizes
