"""How fast an operator goes whose rows are routed by key: mpc, Expr. 1 to 5.

Rows of one key all go to one replica, so the busiest replica sets the pace of the operator, however
idle the others are.

>>> loads = replica_loads(
...     rates={"AAPL": 60.0, "MSFT": 30.0, "INTC": 10.0},
...     service_times={"AAPL": 0.010, "MSFT": 0.020},
...     routing=Routing(replicas=2, owners={"AAPL": 0, "MSFT": 1, "INTC": 1}),
...     default_time=0.030,
... )
>>> loads.utilisation.round(3).tolist(), loads.bottleneck
([0.6, 0.9], 1)
>>> round(loads.ideal_service_time, 6)
0.009
>>> effective_service_time(loads.inter_arrival, loads.ideal_service_time)
0.01
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.core.routing import Routing
from penstock.model.arrays import Numbers, Outcome, check, plain


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReplicaLoads:
    """What a routing table asks of each replica, by its number."""

    rate: float
    """Rows a second of all keys."""
    probability: NDArray[np.float64]
    """That a row goes to each replica; zero for all where no rows come."""
    service_time: NDArray[np.float64]
    """Mean seconds that a row of each replica takes: mpc, Expr. 2. The default where none comes."""

    @property
    def inter_arrival(self) -> float:
        """Mean seconds between two rows; inf where none comes."""
        return 1.0 / self.rate if self.rate else inf

    @property
    def utilisation(self) -> NDArray[np.float64]:
        """Busy share of each replica; above 1 it cannot keep up."""
        return self.service_time * self.probability * self.rate

    @property
    def bottleneck(self) -> int:
        """The busiest replica, the first of several."""
        return int(np.argmax(self.utilisation))

    @property
    def imbalance(self) -> float:
        """The busiest replica's utilisation by the least busy one's; inf where one has nothing."""
        least, most = float(self.utilisation.min()), float(self.utilisation.max())
        if most == 0.0:
            return 1.0
        return most / least if least else inf

    @property
    def ideal_service_time(self) -> float:
        """Mean seconds between two results, were there always rows: mpc, Expr. 3."""
        slowest = self.bottleneck
        return float(self.service_time[slowest] * self.probability[slowest])


def replica_loads(
    rates: Mapping[str, float],
    service_times: Mapping[str, float],
    routing: Routing,
    *,
    default_time: float,
    frequency_ratio: float = 1.0,
) -> ReplicaLoads:
    """The load of each replica under a routing table, from the rate and time of each key.

    A key whose time is not known takes `default_time`. Times are measured at the present frequency;
    `frequency_ratio` is the present frequency by the one asked about: mpc, Expr. 1.
    """
    check(default_time=default_time)
    check(strictly=True, frequency_ratio=frequency_ratio)
    _check_keys("rate", rates)
    _check_keys("service time", service_times)
    owners = np.fromiter(map(routing.owner, rates), dtype=np.intp, count=len(rates))
    row_rates = np.fromiter(rates.values(), dtype=float, count=len(rates))
    times = np.fromiter((service_times.get(k, default_time) for k in rates), float, len(rates))
    received, busy = np.zeros(routing.replicas), np.zeros(routing.replicas)
    np.add.at(received, owners, row_rates)
    np.add.at(busy, owners, row_rates * times * frequency_ratio)
    rate, some = float(received.sum()), received > 0.0
    default = np.full_like(busy, default_time * frequency_ratio)
    return ReplicaLoads(
        rate=rate,
        probability=received / rate if rate else np.zeros_like(received),
        service_time=np.divide(busy, received, where=some, out=default),
    )


def effective_service_time(inter_arrival: Numbers, ideal: Numbers) -> Outcome:
    """Mean seconds between two results, with rows as they come: mpc, Expr. 4.

    >>> effective_service_time(0.010, 0.012)
    0.012
    """
    return plain(np.maximum(np.asarray(inter_arrival, dtype=float), ideal))


def _check_keys(what: str, values: Mapping[str, float]) -> None:
    for key, value in values.items():
        if not 0.0 <= value < inf:
            raise SettingError(f"{what} of key {key!r} must be 0 or more and finite, got {value:g}")
