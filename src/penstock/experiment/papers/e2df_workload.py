"""The load of the e2df paper (Fig. 3): two humps a day, of which no data were published.

Means by the hour, read off the figure, are joined by straight lines; a slow and a fast noise make
no two days alike.

>>> day = rates(1440, seed=1)
>>> day.size, bool(day.min() >= 0), bool(day.max() <= MOST)
(1440, True, True)
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

HOURS: Final = (
    *(326.0, 242.0, 183.0, 134.0, 99.0, 75.0, 148.0, 270.0, 360.0, 389.0, 372.0, 372.0),
    *(403.0, 398.0, 413.0, 415.0, 365.0, 396.0, 505.0, 532.0, 494.0, 468.0, 455.0, 400.0),
)
"""Rows a second at each full hour."""
MOST: Final = 600.0
SLOW: Final = 0.12
"""Standard deviation of the noise that lasts, as a share of the mean."""
FAST: Final = 0.04
"""Standard deviation of the noise that is drawn anew every minute."""
MEMORY: Final = 0.97
"""How much of the slow noise is left after a minute."""


def rates(slots: int, seed: int) -> Floats:
    """Rows a second in each of so many minutes."""
    random = np.random.default_rng(seed)
    slow = _remembering(random.standard_normal(slots))
    fast = random.standard_normal(slots)
    noise = 1 + SLOW * slow + FAST * fast
    clipped: Floats = np.clip(daily(slots) * noise, 0, MOST)
    return clipped


def daily(slots: int) -> Floats:
    """The pattern without noise.

    >>> daily(91)[[0, 60, 90]].tolist()
    [326.0, 242.0, 212.5]
    """
    hours = np.arange(slots) / 60
    pattern: Floats = np.interp(hours % 24, np.arange(25), (*HOURS, HOURS[0]))
    return pattern


def _remembering(shocks: Floats) -> Floats:
    """A first-order autoregression of unit variance."""
    noise = np.empty_like(shocks)
    last = 0.0
    for at, shock in enumerate(shocks):
        last = shock if at == 0 else MEMORY * last + np.sqrt(1 - MEMORY**2) * shock
        noise[at] = last
    return noise
