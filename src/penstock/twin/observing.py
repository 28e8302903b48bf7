"""What one control step measured, as any other plant would report it.

`Totals` are sums since the start of the run; their difference is a control step:

>>> at_noon = Totals(seconds=60.0, started=100, waited=50.0)
>>> at_one = Totals(seconds=120.0, started=300, waited=90.0)
>>> (at_one - at_noon).waiting_time
0.2
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan, sqrt
from operator import sub
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.core.signals import KeyLoads, Latency
from penstock.twin.records import OPEN

LOWEST_OCTAVE: Final = -20
"""Latencies below 2**-20 s, a microsecond, share the first bucket."""
OCTAVES: Final = 47
"""Enough for latencies from a microsecond to four years."""
PER_OCTAVE_BITS: Final = 7
BUCKETS: Final = OCTAVES << PER_OCTAVE_BITS
"""Buckets that latencies are counted in: 128 an octave, so each is 0.8 % wide at most."""


class Totals(NamedTuple):
    """Rows and seconds of one station over some time; means are None where there is no sample."""

    seconds: float = 0.0
    """Time covered."""
    arrived: int = 0
    started: int = 0
    """Rows that a server took."""
    served: int = 0
    """Rows that a server was done with."""
    finished: int = 0
    """Rows that left, with all their results."""
    waited: float = 0.0
    """Seconds from entering the station to the start of service, over the rows started."""
    stayed: float = 0.0
    """Seconds from entering to leaving, over the rows finished."""
    nominal: float = 0.0
    """The declared service time; the next two are about it, so that equal times have no spread."""
    excess: float = 0.0
    """Seconds of service beyond nominal, over the rows served."""
    excess_squared: float = 0.0
    busy_seconds: float = 0.0
    """Seconds of all servers at work on a row."""
    server_seconds: float = 0.0
    """Seconds of all servers that existed."""
    row_seconds: float = 0.0
    """Seconds of all rows at the station."""
    batches: int = 0
    """Micro-batches that were committed."""
    batch_seconds: float = 0.0
    """Seconds from trigger to commit, over those micro-batches."""

    def __sub__(self, earlier: "Totals") -> "Totals":
        """What happened after an earlier moment."""
        change = list(map(sub, self, earlier))
        change[_NOMINAL] = self.nominal
        return Totals(*change)

    @property
    def arrival_rate(self) -> float | None:
        """Rows a second that came in."""
        return _ratio(self.arrived, self.seconds)

    @property
    def processed_rate(self) -> float | None:
        """Rows a second that left."""
        return _ratio(self.finished, self.seconds)

    @property
    def waiting_time(self) -> float | None:
        """Mean seconds in the buffer."""
        return _ratio(self.waited, self.started)

    @property
    def sojourn_time(self) -> float | None:
        """Mean seconds at the station: waiting, in service, blocked."""
        return _ratio(self.stayed, self.finished)

    @property
    def service_time(self) -> float | None:
        """Mean seconds in service."""
        mean_excess = _ratio(self.excess, self.served)
        return None if mean_excess is None else self.nominal + mean_excess

    @property
    def service_cv(self) -> float | None:
        """Coefficient of variation of the service time; needs two rows."""
        mean = self.service_time
        if self.served < 2 or not mean:
            return None
        spread = self.excess_squared - self.excess**2 / self.served
        return sqrt(max(spread, 0.0) / (self.served - 1)) / mean

    @property
    def utilisation(self) -> float | None:
        """Share of the servers' time spent on rows; blocked time is not."""
        share = _ratio(self.busy_seconds, self.server_seconds)
        return None if share is None else min(share, 1.0)  # sums may round above

    @property
    def mean_rows(self) -> float | None:
        """Rows at the station, on average over time."""
        return _ratio(self.row_seconds, self.seconds)

    @property
    def batch_duration(self) -> float | None:
        """Mean seconds of a micro-batch, from trigger to commit."""
        return _ratio(self.batch_seconds, self.batches)


_NOMINAL: Final = Totals._fields.index("nominal")

TOTALS: Final = np.dtype(
    [(name, "i8" if kind is int else "f8") for name, kind in Totals.__annotations__.items()]
)
"""The same as a record that compiled code can add to."""


def by_station(records: Any, stations: Mapping[str, int]) -> dict[str, Totals]:
    """The records of the stations, as values."""
    values = records.tolist()
    return {name: Totals(*values[m]) for name, m in stations.items()}


def _ratio(total: float, count: float) -> float | None:
    return total / count if count else None


_SHARES = np.array([0.5, 0.95, 0.99])


Reading = dict[str, Any]
"""What was measured of a module, by the names of fields of a `ModuleReading`."""


def measured(step: Totals) -> Reading:
    """What a station did in a step; what had no sample is None."""
    return {
        "arrival_rate": step.arrival_rate,
        "processed_rate": step.processed_rate,
        "service_time": step.service_time,
        "service_cv": step.service_cv,
        "batch_duration": step.batch_duration,
    }


@dataclass(slots=True)
class UtilisationMeter:
    """Busy share of the servers since it was last reported; unknown in mid-batch, as on Spark.

    Over part of a batch it would say little: all are busy with rows, then none is for a while.
    So it is reported up to the end of the last one, or up to now where there is none.
    """

    _busy: float = 0.0
    _servers: float = 0.0

    def read(self, stage: Any, now: Totals, step: Totals) -> float | None:
        """Up to now, at the end of a step."""
        busy_before, servers_before = self._busy, self._servers
        if step.batches:
            self._busy, self._servers = float(stage["closed_busy"]), float(stage["closed_servers"])
        elif stage["batch"]["phase"] == OPEN:
            return None
        else:
            self._busy, self._servers = now.busy_seconds, now.server_seconds
        passed = self._servers - servers_before
        return min((self._busy - busy_before) / passed, 1.0) if passed > 0 else None


def gap_cv(keyed: Any) -> float | None:
    """Coefficient of variation of the gaps between rows that came to a station with keys.

    It needs two gaps, and rows that did not all come at once.
    """
    if keyed["gaps"] < 2 or not keyed["gap_mean"] > 0:
        return None
    return sqrt(keyed["gap_spread"] / (keyed["gaps"] - 1)) / float(keyed["gap_mean"])


def key_loads(keys: Any, names: NDArray[Any], seconds: float, pace: float) -> KeyLoads:
    """Rows a second of each key, and what they took at the pace in force."""
    came, done = np.flatnonzero(keys["arrived"]), np.flatnonzero(keys["served"])
    rates = keys["arrived"][came] / seconds
    times = keys["work"][done] / keys["served"][done] * pace
    return KeyLoads(
        rates=dict(zip(names[came].tolist(), rates.tolist(), strict=True)),
        service_times=dict(zip(names[done].tolist(), times.tolist(), strict=True)),
    )


def latencies(state: Any, chosen: NDArray[np.int64]) -> list[Latency | None]:
    """Of the rows that left each station in this step, which ends, and those chosen beyond them."""
    from penstock.twin.kernels import quantiles  # only a run needs numba

    found = np.empty((len(state.stations) + 1, 3))
    quantiles(state.ages, state.stations, chosen, _SHARES, found)
    return [
        None if isnan(p50) else Latency(p50=p50, p95=p95, p99=p99)
        for p50, p95, p99 in found.tolist()
    ]
