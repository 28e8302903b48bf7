"""Which replica gets which key, so that all have as much to do: mpc, Section 3.3.

>>> table = lpt({"AAPL": 0.5, "MSFT": 0.3, "INTC": 0.2, "ORCL": 0.1}, replicas=2)
>>> table.owners
{'AAPL': 0, 'MSFT': 1, 'INTC': 1, 'ORCL': 0}
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import heapify, heapreplace
from math import isfinite
from typing import Final

from penstock.core.routing import Routing
from penstock.core.signals import KeyLoads, ModuleReading
from penstock.model.keyed import ReplicaLoads, replica_loads

_WORTH_IT: Final = 0.95
"""Share of the busiest replica's load that a new table may leave it, to be worth the moves."""

_NEGLIGIBLE: Final = 1e-6
"""Share of all work up to which a key that no longer comes can be forgotten."""
_ROOM: Final = 5000
"""Keys that are remembered whether they come or not."""


def lpt(loads: Mapping[str, float], replicas: int) -> Routing:
    """A table by longest processing time first: each key, the heaviest first, to the least busy.

    The busiest replica gets no more than 4/3 of what it would under the best table. Among equals,
    keys go by name and replicas by how few keys they have, then by number.
    """
    heap = [(0.0, 0, number) for number in range(replicas)]
    heapify(heap)
    owners = {}
    for key, load in sorted(loads.items(), key=lambda item: (-item[1], item[0])):
        busy, keys, number = heap[0]
        owners[key] = number
        heapreplace(heap, (busy + load, keys + 1, number))
    return Routing(replicas=replicas, owners=owners)


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A new table, and what it means to the keys."""

    routing: Routing
    share: float
    """Of the keys, those that change owner."""
    uneven: float | None = None
    """The busiest replica by the idlest one, where that is the reason."""


@dataclass
class Rebalancer:
    """Gives a keyed module a table when its degree changes, and when its replicas drift apart.

    A table is recomputed with every change of degree. Otherwise keys are moved only where nothing
    changes in this step or changed in the last, a replica is overloaded or replicas are uneven, and
    the new table takes at least a twentieth off the busiest: where all are overloaded alike, or one
    key alone is too heavy, moving keys would not help. Keys that were never seen stay where their
    checksum sends them. Where there are more than 5,000, those that no longer come are forgotten
    once they are a millionth of all work: the table in force still names them, and the next one,
    whenever that is made, does not.

    >>> rebalancer = Rebalancer()
    >>> keys = KeyLoads(rates={"A": 30.0, "B": 10.0, "C": 20.0}, service_times={})
    >>> reading = ModuleReading(keys=keys, service_time=0.01)
    >>> move = rebalancer(reading, degree=1, after=2)
    >>> move.routing.owners, round(move.share, 2)
    ({'A': 0, 'C': 1, 'B': 1}, 0.67)
    """

    overload: float = 1.1
    """Utilisation of the busiest replica above which keys are moved."""
    uneven: float = 1.3
    """Busiest by idlest replica above which keys are moved."""
    smoothing: float = 0.5
    """Weight of the newest reading in what is known of a key."""
    _loads: dict[str, float] = field(default_factory=dict, init=False, repr=False, compare=False)
    _before: object = field(default=None, init=False, repr=False, compare=False)
    """Degree, clock and table of the last step."""

    def __call__(
        self,
        reading: ModuleReading,
        *,
        degree: int,
        after: int,
        clock: float | None = None,
        next_clock: float | None = None,
    ) -> Move | None:
        """The table for the degree after this step, or None where keys stay as they are."""
        self._learn(reading)
        now = degree, clock, reading.routing
        calm = self._before in (None, now) and next_clock in (None, clock)
        self._before = now
        if not self._loads:
            return None
        table = reading.routing or Routing(replicas=degree)
        if after != degree:
            return self._move(table, lpt(self._loads, after))
        measured = reading.keys is not None and table.replicas == degree
        return self._rebalanced(table) if calm and measured else None

    @property
    def heaviest(self) -> float:
        """Share of all work that the heaviest key brings; zero where no key was seen."""
        total = sum(self._loads.values())
        return max(self._loads.values()) / total if total else 0.0

    def _learn(self, reading: ModuleReading) -> None:
        if reading.keys is None:
            return
        newest, loads = _loads(reading.keys, reading.service_time), self._loads
        for key in loads.keys() - newest.keys():
            loads[key] *= 1.0 - self.smoothing
        for key, load in newest.items():
            past = loads.get(key, load)
            loads[key] = past + self.smoothing * (load - past)
        if len(loads) > _ROOM:  # keys which come once must not add up without end
            least = _NEGLIGIBLE * sum(loads.values())
            for key in [k for k, load in loads.items() if load <= least and k not in newest]:
                del loads[key]

    def _rebalanced(self, table: Routing) -> Move | None:
        now = self._spread(table)
        even = now.utilisation.max() <= self.overload and now.imbalance <= self.uneven
        if table.replicas < 2 or even:
            return None
        better = lpt(self._loads, table.replicas)
        if self._spread(better).utilisation.max() > _WORTH_IT * now.utilisation.max():
            return None
        return self._move(table, better, uneven=now.imbalance)

    def _spread(self, table: Routing) -> ReplicaLoads:
        return replica_loads(self._loads, {}, table, default_time=1.0)

    def _move(self, before: Routing, after: Routing, uneven: float | None = None) -> Move:
        keys = self._loads.keys() | before.owners.keys()  # some of these may be forgotten
        moved = before.moved(after, keys)
        return Move(routing=after, share=len(moved) / len(keys), uneven=uneven)


def _loads(keys: KeyLoads, typical: float | None) -> dict[str, float]:
    """Seconds of work a second that each key brings; a key without a time takes the typical one."""
    times = keys.service_times
    default = typical if typical is not None and isfinite(typical) and typical > 0 else 1.0
    loads = {key: rate * times.get(key, default) for key, rate in keys.rates.items()}
    return {key: load for key, load in loads.items() if isfinite(load) and load >= 0.0}
