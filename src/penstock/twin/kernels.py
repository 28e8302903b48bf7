"""Compiled functions that every twin shares: random numbers, and latencies counted in buckets.

Each station draws its service times from a stream of its own, and the ways of its results from
another, so two policies compared with the same seed meet the same service times.

A quantile of latencies is the mean of the bucket that it falls into, so it is exact where all
latencies of the step are alike, and off by less than 0.8 % elsewhere. Memory does not grow with
the rows.
"""

from math import cos, exp, log, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.model.compiling import compiled, entry, inlined, require_compiler
from penstock.twin.observing import BUCKETS, LOWEST_OCTAVE, PER_OCTAVE_BITS
from penstock.twin.sources import EXPONENTIAL, FIXED, NORMAL

require_compiler("simulating")

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


_SHIFT = 52 - PER_OCTAVE_BITS  # a double has 52 bits after the leading one
_LOWEST = (1023 + LOWEST_OCTAVE) << PER_OCTAVE_BITS  # 1023 is the exponent of 1.0


@inlined
def record(ages: NDArray[np.float64], station: Any, seconds: float) -> None:
    """Count a row that left a station at that age."""
    bucket = int(np.float64(seconds).view(np.int64) >> _SHIFT) - _LOWEST
    bucket = min(max(bucket, 0), BUCKETS - 1)
    station.youngest = min(station.youngest, bucket)
    station.oldest = max(station.oldest, bucket)
    ages[station.index, bucket, 0] += 1.0
    ages[station.index, bucket, 1] += seconds


@entry
def quantiles(
    ages: NDArray[np.float64],
    stations: Any,
    chosen: NDArray[np.int64],
    shares: NDArray[np.float64],
    found: NDArray[np.float64],
) -> None:
    """Find the latencies that these rising shares of a step's rows did not exceed, NaN for no row:
    those of each station, and then of the stations that are chosen beyond it. A new step begins.
    """
    count = stations.size
    for m in range(count):
        _find(ages, stations, chosen, m, m + 1, shares, found[m])
    _find(ages, stations, chosen, count, chosen.size, shares, found[count])
    for m in range(count):
        for bucket in range(stations[m].youngest, stations[m].oldest + 1):
            ages[m, bucket, 0] = ages[m, bucket, 1] = 0.0
        stations[m].youngest, stations[m].oldest = BUCKETS, -1


@inlined
def _find(
    ages: Any, stations: Any, chosen: Any, first: int, end: int, shares: Any, found: Any
) -> None:
    total, bucket = 0.0, BUCKETS
    for place in range(first, end):
        m = chosen[place]
        bucket = min(bucket, stations[m].youngest)
        for used in range(stations[m].youngest, stations[m].oldest + 1):
            total += ages[m, used, 0]
    passed, rows, seconds = 0.0, 0.0, 0.0
    for share in range(shares.size):
        while passed < np.ceil(shares[share] * total):
            rows, seconds = 0.0, 0.0
            for place in range(first, end):
                rows += ages[chosen[place], bucket, 0]
                seconds += ages[chosen[place], bucket, 1]
            passed += rows
            bucket += 1
        found[share] = seconds / rows
