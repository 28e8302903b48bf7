"""Latencies of one control step, in buckets.

A quantile is the mean of the bucket that it falls into, so it is exact where all latencies of the
step are alike, and off by less than 0.8 % elsewhere. Memory does not grow with the rows.

Buckets that latencies are counted in: 128 an octave, so each is 0.8 % wide at most.

>>> BUCKETS
6016
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.model.compiling import entry, inlined

LOWEST_OCTAVE: Final = -20
"""Latencies below 2**-20 s, a microsecond, share the first bucket."""
OCTAVES: Final = 47
"""Enough to tell a microsecond from four years."""
PER_OCTAVE_BITS: Final = 7
BUCKETS: Final = OCTAVES << PER_OCTAVE_BITS


_SHIFT = 52 - PER_OCTAVE_BITS  # a double has 52 bits after the leading one
_LOWEST = (1023 + LOWEST_OCTAVE) << PER_OCTAVE_BITS  # 1023 is the exponent of 1.0


@inlined
def record(ages: NDArray[np.float64], station: int, seconds: float) -> None:
    """Count a row that left a station at that age."""
    bucket = int(np.float64(seconds).view(np.int64) >> _SHIFT) - _LOWEST
    bucket = min(max(bucket, 0), BUCKETS - 1)
    ages[station, bucket, 0] += 1.0
    ages[station, bucket, 1] += seconds


@entry
def quantiles(
    ages: NDArray[np.float64],
    stations: NDArray[np.int64],
    shares: NDArray[np.float64],
    found: NDArray[np.float64],
) -> bool:
    """Find the latencies that these rising shares of the rows did not exceed; False for no row."""
    total = 0.0
    for station in stations:
        for bucket in range(BUCKETS):
            total += ages[station, bucket, 0]
    passed, rows, seconds, bucket = 0.0, 0.0, 0.0, -1
    for place in range(shares.size):
        while passed < np.ceil(shares[place] * total):
            bucket += 1
            rows, seconds = _bucket(ages, stations, bucket)
            passed += rows
        found[place] = seconds / rows
    return total > 0.0


@inlined
def _bucket(
    ages: NDArray[np.float64], stations: NDArray[np.int64], bucket: int
) -> tuple[float, float]:
    rows, seconds = 0.0, 0.0
    for station in stations:
        rows += ages[station, bucket, 0]
        seconds += ages[station, bucket, 1]
    return rows, seconds
