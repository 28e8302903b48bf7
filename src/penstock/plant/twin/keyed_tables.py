"""Routing tables asked for, and put in force when the replicas that they need have started."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from penstock.core.graph import Module
from penstock.core.routing import Routing

Owners = NDArray[np.int64]


class Tables:
    """The table in force, and those that wait for replicas to start."""

    def __init__(self, module: Module, keys: tuple[str, ...], first: Routing) -> None:
        self.in_force = first
        self._module, self._keys = module, _Keys.of(keys)
        self._starting: list[float] = []
        """When each replica beyond those at work will be ready."""
        self._waiting: list[tuple[float, Routing]] = []
        """In the order in which they come into force."""

    @property
    def running(self) -> int:
        """Replicas at work."""
        return self.in_force.replicas

    @property
    def requested(self) -> Routing:
        """The table that will be in force when all replicas have started."""
        return self._waiting[-1][1] if self._waiting else self.in_force

    def ask(self, wanted: int, table: Routing | None, now: float) -> bool:
        """Ask for a degree within the module's bounds; says whether that changes anything.

        A table for another number of replicas than that is not meant for it, and dropped.
        """
        degree = min(max(wanted, self._module.min_replicas), self._module.max_replicas)
        chosen = table if table and table.replicas == degree else self._own(degree)
        same_degree = degree == self.requested.replicas
        if same_degree and np.array_equal(self.owners(chosen), self.owners(self.requested)):
            return False
        ready = self._start(degree, now)
        self._waiting = [item for item in self._waiting if item[0] < ready] + [(ready, chosen)]
        return True

    def next_ready(self) -> float:
        """When the next table comes into force."""
        return self._waiting[0][0] if self._waiting else inf

    def switch(self) -> Owners:
        """Put the next table in force; returns the owner of each key."""
        _, table = self._waiting.pop(0)
        del self._starting[: max(table.replicas - self.running, 0)]
        self.in_force = table
        return self.owners(table)

    def owners(self, table: Routing) -> Owners:
        """The replica that a table gives each key to."""
        return self._keys.owners(table)

    def _own(self, degree: int) -> Routing:
        """A degree without a table keeps the one that there is, or spreads the keys afresh."""
        known = {table.replicas: table for table in (self.in_force, self.requested)}
        return known.get(degree) or Routing(replicas=degree)

    def _start(self, degree: int, now: float) -> float:
        """Start or cancel replicas; says when the last will be ready."""
        extra = max(degree - self.running, 0)
        del self._starting[extra:]
        self._starting += [now + self._module.start_up] * (extra - len(self._starting))
        return self._starting[-1] if self._starting else now


@dataclass(frozen=True, slots=True, kw_only=True)
class _Keys:
    places: Mapping[str, int]
    checksums: Owners

    @classmethod
    def of(cls, keys: tuple[str, ...]) -> "_Keys":
        return cls(
            places={key: place for place, key in enumerate(keys)},
            checksums=np.array([crc32(key.encode()) for key in keys], np.int64),
        )

    def owners(self, table: Routing) -> Owners:
        owners = self.checksums % table.replicas
        named = [(self.places[k], owner) for k, owner in table.owners.items() if k in self.places]
        if named:
            places, replicas = zip(*named, strict=True)
            owners[list(places)] = replicas
        return owners
