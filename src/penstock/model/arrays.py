"""Formulas for one number and for whole grids of them, written once.

Each argument of such a formula may be a number or an array; numpy stretches them to one shape, so
that a column of degrees and a row of frequencies give every pair of them.

>>> plain(np.asarray(2.0)), plain(np.asarray([1.0, 2.0])).shape
(2.0, (2,))
"""

from math import inf
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError

Numbers: TypeAlias = float | NDArray[Any]
"""A number, or an array of them."""
Outcome: TypeAlias = Any
"""A float where every argument was a number, and otherwise an array of floats: no type
says which of them without writing each formula's arguments down three times."""


def plain(result: NDArray[np.float64]) -> Outcome:
    """A float where no argument was an array, and otherwise the array."""
    return float(result) if result.ndim == 0 else result


def check(*, least: float = 0.0, strictly: bool = False, **given: Numbers) -> None:
    """Reject what is under the least, infinite or not a number, by the name of its argument.

    Strictly, the least itself is refused too.

    >>> check(rate=-1.0)
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: rate must be 0 or more and finite, got -1
    """
    for name, values in given.items():
        array = np.asarray(values, dtype=float)
        enough = array > least if strictly else array >= least
        wrong = array[~(enough & (array < inf))]
        if wrong.size:
            bound = f"above {least:g}" if strictly else f"{least:g} or more"
            raise SettingError(f"{name} must be {bound} and finite, got {wrong.flat[0]:g}")
