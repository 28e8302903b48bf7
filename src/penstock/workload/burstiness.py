"""How bursty counts are: what was asked of a workload can be measured again.

Counts are rows by slot, such as `np.diff(workload.arrivals(np.arange(0.0, 3600.0, 0.1)))` or the
second column of a trace. A Poisson process has a dispersion of 1 and a Hurst parameter of 0.5.

>>> counts = np.random.default_rng(6).poisson(50.0, 100_000)
>>> f"{dispersion(counts):.1f}, {hurst(counts):.2f}"
'1.0, 0.50'
"""

from math import isfinite
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from penstock.core.errors import SettingError
from penstock.workload.curve import Floats

_FEWEST: Final = 16
"""Counts below which an answer would be noise."""
_BAND: Final = 0.7
"""Of n counts, the lowest n**0.7 frequencies determine the Hurst parameter."""
_HALVINGS: Final = 50


def dispersion(counts: ArrayLike, *, windows: int = 500) -> float:
    """The index of dispersion: variance over mean of the rows that arrive in long windows.

    Windows are as long as they can be with so many of them side by side in the counts (one count
    each, if there are no more counts than that). The estimate is then off by about
    `sqrt(4 / (3 * windows))` of itself, 5 % for 500, if a window is long against the bursts:
    then fewer windows give about the same.

    >>> dispersion([0, 0, 0, 8] * 1000, windows=1000)
    0.0
    """
    given = _checked(counts)
    if windows < 2:
        raise SettingError(f"a dispersion is of two windows or more, got {windows}")
    return _dispersion(given, max(len(given) // windows, 1))


def hurst(counts: ArrayLike) -> float:
    """The Hurst parameter, by the local Whittle estimator: 0.5 for no memory, 1 for all of it.

    Looks only at the slow variations, the lowest `n**0.7` of the frequencies of n counts, so what
    happens from one count to the next does not matter. The standard error is
    `0.5 / n**0.35`: 0.01 for 65,536 counts, 0.06 for 400.
    """
    given = _checked(counts)
    number = int(len(given) ** _BAND)
    power = np.abs(np.fft.rfft(given - given.mean()))[1 : number + 1] ** 2
    if not power.any():
        raise SettingError(f"{len(given)} counts that are all {given[0]:g} have no Hurst parameter")
    return _whittle(power)


def _whittle(power: Floats) -> float:
    """Where the power, weighted as 1/f noise of that Hurst parameter asks, has no slope left."""
    logs = np.log(np.arange(1.0, len(power) + 1.0))
    logs -= logs.mean()
    low, high = 0.0, 1.5
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        # the derivative of the local Whittle likelihood; it rises with the parameter
        slope = float(np.sum(logs * np.exp((2 * middle - 1) * logs) * power))
        low, high = (low, middle) if slope > 0 else (middle, high)
    return (low + high) / 2


def _dispersion(counts: Floats, window: int) -> float:
    """Of windows that overlap, which wastes no count."""
    sums = np.append(0.0, np.cumsum(counts - counts.mean()))
    excess = sums[window:] - sums[:-window]
    # the mean is that of the counts themselves, which takes a share of the variance away
    lost = 1.0 - window / len(counts)
    return float(np.mean(excess**2) / lost / (window * counts.mean()))


def _checked(counts: ArrayLike) -> Floats:
    given = np.asarray(counts, np.float64)
    if given.ndim != 1 or len(given) < _FEWEST:
        raise SettingError(
            f"burstiness is measured on a row of {_FEWEST} counts or more, got {given.shape}"
        )
    if not (isfinite(total := float(given.sum())) and given.min() >= 0 and total > 0):
        raise SettingError(
            f"counts must be 0 or more, finite and not all 0, "
            f"got {given.min():g} to {given.max():g}"
        )
    return given
