"""Moments at which rows come, a chunk at a time, so that a long run needs no more memory."""

from math import inf
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import PlantError, SettingError
from penstock.core.roles import Workload
from penstock.core.settings import near

CHUNK: Final = 8192
KINDS: Final = ("poisson", "even")


class Arrivals:
    """The moments at which a workload's rows come before the end of a run, then inf for ever.

    `even` takes the workload's own moments. `poisson` is the Poisson process of the workload's
    rate: unit-exponential gaps, mapped through the inverse of the cumulative rate.
    """

    def __init__(
        self, workload: Workload, kind: str, duration: float, random: np.random.Generator
    ) -> None:
        if kind not in KINDS:
            raise SettingError(f"there is no kind of arrivals {kind!r}{near(kind, KINDS)}")
        self._workload = workload
        self._random = random if kind == "poisson" else None
        expected = float(workload.arrivals(np.array([duration]))[0])
        if not expected < inf:
            raise SettingError(
                f"the workload brings {expected} rows in {duration:g} s; give it a finite rate"
            )
        self._last = expected * (1 + 1e-9)  # a row at the very end must not be lost by rounding
        self._count = 0.0
        self._latest = 0.0

    def next_chunk(self) -> NDArray[np.float64]:
        """The next moments, in order; [inf] when no more rows come."""
        gaps = np.ones(CHUNK) if self._random is None else self._random.standard_exponential(CHUNK)
        counts = self._count + np.cumsum(gaps)
        self._count = float(counts[-1])
        counts = counts[counts <= self._last]  # never ask the workload for what comes after the run
        if not counts.size:
            return np.array([inf])
        # Row i comes when the count of rows reaches i + 1.
        return self._checked(np.asarray(self._workload.times(counts - 1.0), np.float64))

    def _checked(self, moments: NDArray[np.float64]) -> NDArray[np.float64]:
        if not (moments[0] >= self._latest and np.all(moments[1:] >= moments[:-1])):
            raise PlantError(
                f"the workload's rows after {self._latest:g} s do not come in order; "
                "its times must never fall"
            )
        self._latest = float(moments[-1])
        return moments
