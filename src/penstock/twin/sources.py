"""Moments at which rows come, a chunk at a time, so that a long run needs no more memory.

Random numbers inside compiled code.

Each station draws its service times from a stream of its own, and the ways of its results from
another, so two policies compared with the same seed meet the same service times.

How times scatter about their mean, by name.

| law | of |
|---|---|
| `gamma` | any coefficient of variation: 0 is fixed, 1 exponential |
| `normal` | small ones, as measured of computations; negative draws become 0 and the mean is kept |

>>> law_of(0.3, "normal") == NORMAL, law_of(0.0, "normal") == FIXED
(True, True)
"""

from math import cos, erf, exp, inf, log, pi, sqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import PlantError, SettingError
from penstock.core.roles import Workload
from penstock.core.settings import near
from penstock.model.compiling import compiled, inlined

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


CHUNK: Final = 8192
KINDS: Final = ("poisson", "normal", "even")
NORMAL_CV: Final = 0.3
"""Coefficient of variation of normal gaps."""


class Arrivals:
    """The moments at which a workload's rows come before the end of a run, then inf for ever.

    `even` takes the workload's own moments. `poisson` is the Poisson process of the workload's
    rate: unit-exponential gaps, mapped through the inverse of the cumulative rate. `normal` has
    normally distributed gaps about the same mean, none of them negative.
    """

    def __init__(
        self, workload: Workload, kind: str, duration: float, random: np.random.Generator
    ) -> None:
        if kind not in KINDS:
            raise SettingError(f"there is no kind of arrivals {kind!r}{near(kind, KINDS)}")
        self._workload = workload
        self._kind, self._random = kind, random
        self.expected = float(workload.arrivals(np.array([duration]))[0])
        if not self.expected < inf:
            raise SettingError(
                f"the workload brings {self.expected} rows in {duration:g} s; give it a finite rate"
            )
        # a row at the very end must not be lost by rounding
        self._last = self.expected * (1 + 1e-9)
        self._count = 0.0
        self._latest = 0.0

    def next_chunk(self) -> NDArray[np.float64]:
        """The next moments, in order; [inf] when no more rows come."""
        counts = self._count + np.cumsum(self._gaps())
        self._count = float(counts[-1])
        counts = counts[counts <= self._last]  # never ask the workload for what comes after the run
        if not counts.size:
            return np.array([inf])
        # Row i comes when the count of rows reaches i + 1.
        return self._checked(np.asarray(self._workload.times(counts - 1.0), np.float64))

    def _gaps(self) -> NDArray[np.float64]:
        """Between rows, in units of the mean gap."""
        if self._kind == "poisson":
            return self._random.standard_exponential(CHUNK)
        if self._kind == "normal":
            gaps = 1.0 + NORMAL_CV * self._random.standard_normal(CHUNK)
            return np.maximum(gaps, 0.0) / clipped_mean(NORMAL_CV)
        return np.ones(CHUNK)

    def _checked(self, moments: NDArray[np.float64]) -> NDArray[np.float64]:
        if not (moments[0] >= self._latest and np.all(moments[1:] >= moments[:-1])):
            raise PlantError(
                f"the workload's rows after {self._latest:g} s do not come in order; "
                "its times must never fall"
            )
        self._latest = float(moments[-1])
        return moments


_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_UNIT = 2.0**-53


@inlined
def uniform(chance: Any) -> float:
    """A number in [0, 1), by SplitMix64 (Steele, Lea and Flood, 2014)."""
    chance.state += _STEP
    bits = chance.state
    bits = (bits ^ (bits >> _SHIFTS[0])) * _FIRST
    bits = (bits ^ (bits >> _SHIFTS[1])) * _SECOND
    bits = bits ^ (bits >> _SHIFTS[2])
    return np.float64(bits >> _SHIFTS[3]) * _UNIT


@inlined
def exponential(chance: Any) -> float:
    """A number above 0 with mean 1 and coefficient of variation 1."""
    return -log(1.0 - uniform(chance))


@inlined
def normal(chance: Any) -> float:
    """A standard normal number, by Box and Muller."""
    return sqrt(2.0 * exponential(chance)) * cos(2.0 * pi * uniform(chance))


@inlined
def lognormal(chance: Any, sigma: float) -> float:
    """A number with mean 1 whose logarithm is normal with this standard deviation."""
    return exp(sigma * normal(chance) - 0.5 * sigma * sigma)


@compiled
def gamma(chance: Any, shape: float) -> float:
    """A gamma number with mean `shape`, by Marsaglia and Tsang (2000)."""
    boost = 1.0
    if shape < 1.0:
        boost = exp(-exponential(chance) / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / sqrt(9.0 * d)
    while True:
        x = normal(chance)
        v = (1.0 + c * x) ** 3
        if v > 0.0 and -exponential(chance) < 0.5 * x * x + d - d * v + d * log(v):
            return boost * d * v


@inlined
def service_time(station: Any) -> float:
    """Seconds that the next row takes, by the station's law."""
    mean: float = station.mean
    if station.law == FIXED:
        return mean
    if station.law == EXPONENTIAL:
        return mean * exponential(station.service_chance)
    cv: float = station.cv
    unit: float = station.unit
    if station.law == NORMAL:
        return mean * max(1.0 + cv * normal(station.service_chance), 0.0) / unit
    return mean * gamma(station.service_chance, unit) / unit
