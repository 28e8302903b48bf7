"""How times scatter about their mean, by name.

| law | of |
|---|---|
| `gamma` | any coefficient of variation: 0 is fixed, 1 exponential |
| `normal` | small ones, as measured of computations; negative draws become 0 and the mean is kept |

>>> law_of(0.3, "normal") == NORMAL, law_of(0.0, "normal") == FIXED
(True, True)
"""

from math import erf, exp, pi, sqrt
from typing import Final

FIXED: Final = 0
EXPONENTIAL: Final = 1
GAMMA: Final = 2
NORMAL: Final = 3

LAWS: Final = ("gamma", "normal")

MOST_NORMAL_CV: Final = 0.4
"""Beyond this, negative draws are so many that the variation would not be what was asked for."""


def law_of(cv: float, name: str) -> int:
    """The law that compiled code draws from."""
    if cv == 0.0:
        return FIXED
    if name == "normal":
        return NORMAL
    return EXPONENTIAL if cv == 1.0 else GAMMA


def clipped_mean(cv: float) -> float:
    """The mean of a normal number about 1 where everything below 0 becomes 0.

    >>> f"{clipped_mean(0.3):.6f}, {clipped_mean(0.4):.6f}"
    '1.000034, 1.000802'
    """
    if cv == 0.0:
        return 1.0
    below = (1.0 - erf(1.0 / (cv * sqrt(2.0)))) / 2.0
    density = exp(-0.5 / cv**2) / sqrt(2.0 * pi)
    return 1.0 - below + cv * density
