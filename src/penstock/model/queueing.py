"""How long rows wait and how long they take in all: Kingman's formula, mpc, Expr. 6 to 8.

The replicas of an operator are seen as one server that is as fast as all of them together, as in
the paper. Where rows are routed by key, each replica has a queue of its own, and rows wait about as
many times longer as there are replicas. The feedback of Expr. 8 learns that for the degree in
force; `own_queues` gives it for every degree.

Each argument may be an array, so that one call covers every degree at every frequency.

>>> operator = {"rate": 800.0, "service_time": 0.001, "arrival_cv": 1.0, "service_cv": 1.0}
>>> wait = waiting_time(replicas=1, headroom=1.0, **operator)
>>> round(wait, 6)  # as M/M/1 has it: 0.8 / 0.2 of a service time
0.004
>>> degrees = np.array([[1], [2]])
>>> response_time(replicas=degrees, frequency_ratio=np.array([1.0, 1.25]), **operator).round(6)
array([[0.006333,      inf],
       [0.001364, 0.001944]])

`response` is exact for one server, Poisson arrivals and equal service times (M/D/1):

>>> round(1000 * response(165.0, 1 / 330), 3)  # half busy: half a service time of waiting
4.545
>>> response(330.0, 1 / 330)
inf
"""

from collections import deque
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.core.schema import Count, checked
from penstock.model.arrays import Numbers, Outcome, check, plain

HEADROOM: Final = 0.95
"""Utilisation at which a replica is taken to be full; 1 is Kingman's formula as it stands."""


def waiting_time(
    *,
    rate: Numbers,
    service_time: Numbers,
    replicas: Numbers,
    arrival_cv: Numbers,
    service_cv: Numbers,
    frequency_ratio: Numbers = 1.0,
    headroom: float = HEADROOM,
    own_queues: bool = False,
) -> Outcome:
    """Mean seconds that a row waits for a replica; inf where they cannot keep up.

    `service_time` is measured at the present frequency; `frequency_ratio` is the present frequency
    by the one asked about, by which rows take longer: mpc, Expr. 1. With `own_queues` each replica
    is a server of its own, to which rows come as if each were routed by chance.
    """
    check(rate=rate, arrival_cv=arrival_cv, service_cv=service_cv, service_time=service_time)
    check(least=1.0, replicas=replicas)
    check(strictly=True, frequency_ratio=frequency_ratio)
    if not 0.0 < headroom <= 1.0:
        raise SettingError(f"headroom must be in (0, 1], got {headroom:g}")
    degree = np.asarray(replicas, dtype=float)
    service = np.asarray(service_time, dtype=float) * frequency_ratio
    utilisation = service / degree * rate / headroom
    arrivals = np.square(arrival_cv)
    if own_queues:
        arrivals = 1.0 + (arrivals - 1.0) / degree  # of a stream that is thinned by chance
    else:
        service = service / degree  # mpc, Expr. 5
    return plain(_kingman(utilisation, (arrivals + np.square(service_cv)) / 2.0, service))


def response_time(
    *,
    service_time: Numbers,
    frequency_ratio: Numbers = 1.0,
    correction: float = 1.0,
    **operator: Any,
) -> Outcome:
    """Mean seconds from a row's arrival to its result: the wait, corrected, and the service.

    All but the correction is as for `waiting_time`.
    """
    wait = waiting_time(service_time=service_time, frequency_ratio=frequency_ratio, **operator)
    service = np.asarray(service_time) * frequency_ratio
    return plain(np.asarray(corrected(wait, correction) + service))  # mpc, Expr. 6


def corrected(wait: Numbers, correction: float) -> Outcome:
    """A wait times what was measured by what was predicted; none turns an infinite one finite.

    >>> corrected(0.004, 1.5), corrected(inf, 0.0)
    (0.006, inf)
    """
    check(correction=correction)
    waits = np.asarray(wait, dtype=float)
    finite = np.isfinite(waits)
    return plain(np.multiply(waits, correction, where=finite, out=np.full_like(waits, inf)))


@dataclass(slots=True, kw_only=True)
@checked("a correction")
class Correction:
    """Feedback that fits Kingman's formula to what was measured: mpc, Expr. 8.

    The factor is the mean of the newest ratios of the measured to the predicted wait, the formula's
    own and not a corrected one. It is 1 until there is a ratio.

    >>> correction = Correction()
    >>> correction.update(measured=0.003, predicted=0.002)
    >>> correction.update(measured=0.001, predicted=inf)  # teaches nothing
    >>> correction.factor
    1.5
    """

    window: Count = 3
    """Ratios that are averaged."""
    _ratios: deque[float] = field(default_factory=deque, init=False, repr=False)

    def __post_init__(self) -> None:
        self._ratios = deque(maxlen=self.window)

    def update(self, *, measured: float | None, predicted: float | None) -> None:
        """Take in one step; unknown and infinite values are ignored."""
        if measured is None or predicted is None or not predicted > 0.0:
            return
        ratio = measured / predicted
        if isfinite(predicted) and isfinite(ratio) and ratio >= 0.0:
            self._ratios.append(ratio)

    @property
    def factor(self) -> float:
        """What to multiply the next prediction with."""
        known = len(self._ratios)
        return sum(ratio / known for ratio in self._ratios) if known else 1.0


def _kingman(
    utilisation: NDArray[np.float64], variability: Numbers, service_time: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Expr. 7, and inf where rows come faster than they can be served."""
    keeps_up = utilisation < 1.0
    spare = np.where(keeps_up, 1.0 - utilisation, 1.0)
    return np.where(keeps_up, utilisation / spare * variability * service_time, inf)


def response(arrival_rate: float, service_time: float) -> float:
    """Mean seconds from a row's arrival to the end of its service; infinite under overload."""
    if not (arrival_rate >= 0 and service_time >= 0):
        raise SettingError(
            f"an M/D/1 queue needs a rate and a service time of 0 or more, "
            f"got {arrival_rate:g} and {service_time:g}"
        )
    return service_time + waiting(arrival_rate, service_time)


def waiting(arrival_rate: float, service_time: float) -> float:
    """Mean seconds that a row waits (Pollaczek-Khinchine with no variance of service)."""
    busy = arrival_rate * service_time
    if busy >= 1:
        return inf
    return busy * service_time / (2 * (1 - busy))
