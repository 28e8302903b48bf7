"""Routing tables of a module with keys: in force when the replicas that they need have started."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite
from typing import Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.core.graph import Module
from penstock.core.routing import Routing
from penstock.core.settings import near
from penstock.twin.keys.state import PROTOCOLS
from penstock.twin.pool import ElasticPool
from penstock.workload.keys import shares

MOST_REPLICAS: Final = 1024
"""Of a module with keys."""

Owners = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySettings:
    """What the twin is given of a module's keys."""

    shares: Mapping[str, float] | None = None
    """Of each key among the rows; `penstock.workload.keys` has usual ones where none are given."""
    service_times: Mapping[str, float] | None = None
    """Seconds that a row of a key takes, where that is not the module's service time."""
    routing: Routing | None = None
    """The table that the run begins with; keys are spread by their checksums unless given."""
    migration: str | None = None
    """The protocol, where it is not the module's."""
    migration_time: float = 0.0
    """Seconds that the state of a key takes from one replica to another."""
    hand_out_time: float = 0.0
    """Seconds that the splitter takes for each row that it kept, under `s-blk`."""

    def __post_init__(self) -> None:
        """Refuse protocols that there are not, and times that cannot be."""
        if self.migration is not None and self.migration not in PROTOCOLS:
            known = near(self.migration, tuple(PROTOCOLS))
            raise SettingError(f"there is no migration protocol {self.migration!r}{known}")
        for name in ("migration_time", "hand_out_time"):
            value = getattr(self, name)
            if not 0 <= value < inf:
                raise SettingError(f"{name} of the twin must be 0 or more and finite, got {value}")


class RoutingTables:
    """The table in force, and those that wait for replicas to start."""

    def __init__(self, module: Module, settings: KeySettings, pool: ElasticPool) -> None:
        check_keys(module)
        given = _shares(module, settings.shares)
        self.settings, self.names = settings, np.array(list(given), object)
        self.weights = _weights(given)
        self.means = _means(settings.service_times or {}, tuple(given), module.service_time)
        self.protocol = PROTOCOLS[settings.migration or module.migration]
        self.in_force = _first_table(module, settings.routing)
        self._pool = pool
        self._places = {key: place for place, key in enumerate(given)}
        self._checksums = np.array([crc32(key.encode()) for key in given], np.int64)
        self._waiting: list[tuple[float, Routing]] = []
        """In the order in which they come into force."""

    @property
    def requested(self) -> Routing:
        """The table that will be in force when all replicas have started."""
        return self._waiting[-1][1] if self._waiting else self.in_force

    def ask(self, table: Routing | None, degree: int, now: float) -> None:
        """Ask the pool for a degree, and for the table once its replicas have started.

        A table for another number of replicas than that is not meant for it, and dropped.
        """
        chosen = table if table and table.replicas == degree else self._own(degree)
        same_degree = degree == self.requested.replicas
        if same_degree and np.array_equal(self.owners(chosen), self.owners(self.requested)):
            return
        self._pool.ask(degree, now)
        ready = self._pool.last_ready(now)
        self._waiting = [item for item in self._waiting if item[0] < ready] + [(ready, chosen)]

    def switch(self, now: float) -> bool:
        """Put the next table in force where its replicas have started; says whether one was."""
        if not self._waiting or self._waiting[0][0] > now:
            return False
        _, self.in_force = self._waiting.pop(0)
        return True

    def owners(self, table: Routing) -> Owners:
        """The replica that a table gives each key to."""
        owners = self._checksums % table.replicas
        named = [(self._places[k], n) for k, n in table.owners.items() if k in self._places]
        if named:
            places, replicas = zip(*named, strict=True)
            owners[list(places)] = replicas
        return owners

    def _own(self, degree: int) -> Routing:
        """The known table of a degree, or else a new one with the default owner of each key."""
        known = {table.replicas: table for table in (self.in_force, self.requested)}
        return known.get(degree) or Routing(replicas=degree)


# What a twin with keys cannot simulate, refused before it starts.


def check_keys(module: Module) -> None:
    """Refuse what replicas with keys of their own cannot do."""
    if module.scaling != "ideal":
        raise SettingError(
            f"replicas of module {module.name} have keys of their own, and then scaling must be "
            f"ideal, got {module.scaling}"
        )
    if module.max_replicas > MOST_REPLICAS:
        raise SettingError(
            f"max_replicas of module {module.name} must be {MOST_REPLICAS} or less on the twin "
            f"of a module with keys, got {module.max_replicas}"
        )


def _shares(module: Module, given: Mapping[str, float] | None) -> Mapping[str, float]:
    """The share of each key that was given, or else usual ones for as many keys as there are."""
    if given is None and not module.keys:
        raise SettingError(
            f"module {module.name} has no keys to route by; set its keys, or give shares"
        )
    if given is not None and module.keys not in (0, len(given)):
        raise SettingError(
            f"module {module.name} has {module.keys} keys, and shares are given of {len(given)}; "
            "give a share of each"
        )
    return shares(module.keys) if given is None else given


def _first_table(module: Module, given: Routing | None) -> Routing:
    table = given or Routing(replicas=module.initial_replicas)
    if table.replicas != module.initial_replicas:
        raise SettingError(
            f"the first routing table is for {table.replicas} replicas, and module {module.name} "
            f"begins with {module.initial_replicas}; make them equal"
        )
    return table


def _weights(given: Mapping[str, float]) -> NDArray[np.float64]:
    """The shares as numbers that something can be drawn by; they need not sum to 1."""
    for key, share in given.items():
        if not (isfinite(share) and share >= 0):
            raise SettingError(f"share of key {key!r} must be 0 or more, got {share}")
    values = np.array(list(given.values()), np.float64)
    if not values.sum() > 0:
        raise SettingError(f"one of the {len(values)} keys must have a share above 0")
    return values


def _means(
    service_times: Mapping[str, float], keys: tuple[str, ...], otherwise: float
) -> NDArray[np.float64]:
    """Seconds that a row of each key takes."""
    unknown = service_times.keys() - set(keys)
    if unknown:
        key = min(unknown)
        raise SettingError(f"key {key!r} has a service time and no share; give it a share")
    for key, seconds in service_times.items():
        if not 0 <= seconds < inf:
            raise SettingError(f"service time of key {key!r} must be 0 or more, got {seconds}")
    return np.array([service_times.get(key, otherwise) for key in keys], np.float64)
