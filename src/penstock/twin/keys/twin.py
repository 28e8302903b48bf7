"""The twin of one keyed operator: rows routed by key to replicas, with keys that migrate."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil, inf, sqrt
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from penstock.core.graph import FlowGraph, Module
from penstock.core.roles import Workload
from penstock.core.routing import Routing
from penstock.core.signals import (
    Configuration,
    Decision,
    KeyLoads,
    ModuleReading,
    Observation,
    Power,
    check_degrees,
)
from penstock.twin.keys.checks import (
    check_frequency,
    check_migration,
    check_module,
    first_table,
    means,
    only_module,
    shares_of,
    weights,
)
from penstock.twin.keys.state import State, build, more_journal, more_rows, more_visits
from penstock.twin.observing import Totals, by_station, latency, measured
from penstock.twin.sources import Arrivals
from penstock.twin.state import Array, check_settings, check_size

# Routing tables asked for, and put in force when the replicas that they need have started.


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


# What one control step measured of a keyed operator.


def read(state: State, now: Totals, before: Totals, names: Array) -> ModuleReading:
    """What was measured between two moments, service times at the clock in force."""
    clock, step = state.clock[0], now - before
    reading = measured(now, before)
    pace = float(clock["pace"])
    return replace(
        reading,
        service_time=None if reading.service_time is None else reading.service_time * pace,
        arrival_cv=_arrival_cv(clock),
        waiting_time=step.waiting_time,
        keys=_key_loads(state.keys, names, step.seconds, pace),
        latency=latency(state.ages, np.zeros(1, np.int64)),
    )


def forget(state: State) -> None:
    """Begin to measure the next step."""
    state.ages.fill(0.0)
    for name in ("gaps", "gap_mean", "gap_spread", "written"):
        state.clock[name] = 0
    for name in ("arrived", "served", "work"):
        state.keys[name] = 0


def _arrival_cv(clock: Any) -> float | None:
    """Needs two gaps, and rows that did not all come at once."""
    if clock["gaps"] < 2 or not clock["gap_mean"] > 0:
        return None
    return sqrt(clock["gap_spread"] / (clock["gaps"] - 1)) / float(clock["gap_mean"])


def _key_loads(keys: Array, names: Array, seconds: float, pace: float) -> KeyLoads:
    came, done = np.flatnonzero(keys["arrived"]), np.flatnonzero(keys["served"])
    rates = keys["arrived"][came] / seconds
    times = keys["work"][done] / keys["served"][done] * pace
    return KeyLoads(
        rates=dict(zip(names[came].tolist(), rates.tolist(), strict=True)),
        service_times=dict(zip(names[done].tolist(), times.tolist(), strict=True)),
    )


class KeyedTwin:
    """A module whose rows are routed by key, simulated row by row (mpc, Sections 2 and 4).

    Each row has a key, drawn by `shares` (by `penstock.workload.keys` where none are given), and
    waits in the queue of the replica that the routing table gives the key to; the run begins with
    `routing`, or with keys spread by their checksums. A row takes the time of its key in
    `service_times`, or else the module's, scattered as on `Twin`. Those times are at `reference`
    GHz, or at the `frequency` that the run begins with, and shorter at a faster clock.

    When a table changes, states of keys move, each in `migration_time` seconds once the rows before
    it in its old owner's queue are served. By the module's protocol, or by `migration`, rows of
    such keys wait at the new owner while others go on (`mp`); or the new owner serves nothing until
    its keys have come (`r-blk`); or the splitter keeps those rows until all keys have come, and
    then hands them out, each in `hand_out_time` seconds, before it takes any other (`s-blk`).

    With a `buffer`, so many rows can wait before each replica, and the splitter waits for room.
    Micro-batches are not simulated: trigger and overhead of the module do not count. Rows that
    wait at a replica stay there when the degree grows, as in the paper.

    The mean latency of a step is `waiting_time + service_time`; `latency` has its quantiles. The
    same seed and decisions give the same observations, and rows have the same keys and times
    whatever is decided; a `deepcopy` in the middle of a run lives on alone.

    >>> from penstock.core.graph import FlowGraph, Module
    >>> from penstock.workload import Constant
    >>> quotes = Module(name="quotes", service_time=0.004, keys=2, initial_replicas=2)
    >>> twin = KeyedTwin(
    ...     FlowGraph(source="quotes", modules=(quotes,)),
    ...     Constant(100.0),
    ...     step=10.0,
    ...     duration=20.0,
    ...     shares={"AAPL": 0.75, "MSFT": 0.25},
    ...     routing=Routing(replicas=2, owners={"AAPL": 0, "MSFT": 1}),
    ...     arrivals="even",
    ... )
    >>> together = Configuration(degrees={"quotes": 1})
    >>> for seen in twin.readings():
    ...     asked = twin.apply(Decision(configuration=together, why="one is enough"))
    ...     reading = seen.modules["quotes"]
    ...     print(f"{seen.at:g} s: {reading.utilisation:.0%} busy, {reading.keys.rates}")
    10 s: 20% busy, {'AAPL': 74.9, 'MSFT': 25.1}
    20 s: 40% busy, {'AAPL': 74.1, 'MSFT': 25.9}
    >>> twin.moved
    1
    """

    def __init__(
        self,
        graph: FlowGraph,
        workload: Workload,
        *,
        step: float,
        duration: float,
        shares: Mapping[str, float] | None = None,
        service_times: Mapping[str, float] | None = None,
        routing: Routing | None = None,
        seed: int = 0,
        arrivals: str = "poisson",
        service: str = "gamma",
        migration: str | None = None,
        migration_time: float = 0.0,
        hand_out_time: float = 0.0,
        frequency: float | None = None,
        reference: float | None = None,
        power: Callable[[int, float], float] | None = None,
        journal: bool = False,
    ) -> None:
        check_settings(graph, step, duration, seed, service)
        self.graph, module = graph, only_module(graph)
        migration = migration or module.migration
        check_migration(migration, migration_time, hand_out_time)
        check_module(module)
        shares = shares_of(module, shares)
        self._module, self._keys = module, np.array(list(shares))
        self._step, self._duration, self._turn = float(step), float(duration), 0
        for_rows, for_service = np.random.SeedSequence(seed).spawn(2)
        self._arrivals = Arrivals(workload, arrivals, duration, np.random.default_rng(for_rows))
        check_size(graph, self._arrivals.expected, duration)
        self._chunk = np.empty(0)
        self._tables = Tables(module, tuple(shares), first_table(module, routing))
        self._state = build(
            module,
            weights(shares),
            means(service_times or {}, tuple(shares), module.service_time),
            self._tables.owners(self._tables.in_force),
            for_service,
            law=service,
            migration=migration,
            times={"migration_time": migration_time, "hand_out_time": hand_out_time},
        )
        if journal:
            self._state = more_journal(self._state)
        self._reference = frequency if reference is None else reference
        self._set_clock(self._reference if frequency is None else frequency)
        self._power, self._wanted = power, module.initial_replicas
        self._before, self._seen_at = self.totals()[module.name], 0.0

    @property
    def at(self) -> float:
        """Virtual seconds since the start."""
        return float(self._state.clock["now"][0])

    @property
    def moved(self) -> int:
        """States of keys that have moved since the start."""
        return int(self._state.clock["moved"][0])

    def readings(self) -> Iterator[Observation]:
        """Simulate a control step at a time; a second call goes on where the first stopped.

        What happens at the very end of a step belongs to it.
        """
        turns = ceil(self._duration / self._step * (1 - 1e-12))
        while self._turn < turns:
            self._turn += 1
            forget(self._state)
            self._run_until(min(self._turn * self._step, self._duration))
            yield self._observe()

    def apply(self, decision: Decision) -> Configuration | None:
        """Ask for the degree, the table and the clock that the decision wants, now.

        The clock changes for rows that are begun from now on. Until new replicas have started, the
        table in force stays.
        """
        asked, name = decision.configuration, self._module.name
        check_degrees(asked.degrees, [name])
        check_degrees({module: table.replicas for module, table in asked.routing.items()}, [name])
        check_frequency(asked.frequency, self._reference)
        self._wanted = asked.degrees.get(name, self._wanted)
        degree = asked.degrees.get(name, self._tables.requested.replicas)
        changed = self._tables.ask(degree, asked.routing.get(name), self.at)
        self._switch_tables(self.at)
        clock_changed = asked.frequency not in (None, self._frequency)
        if clock_changed:
            self._set_clock(asked.frequency)
        return self._requested() if changed or clock_changed else None

    def totals(self) -> Mapping[str, Totals]:
        """What has happened since the start, service times at the reference frequency."""
        return by_station(self._state.clock["totals"], {self._module.name: 0})

    def journal(self) -> Array:
        """The rows that were done in the last step, where a journal was asked for."""
        return self._state.journal[: self._state.clock["written"][0]].copy()

    def _requested(self) -> Configuration:
        table, name = self._tables.requested, self._module.name
        return Configuration(
            degrees={name: table.replicas}, routing={name: table}, frequency=self._frequency
        )

    def _set_clock(self, frequency: float | None) -> None:
        check_frequency(frequency, self._reference)
        self._frequency = frequency
        if frequency is not None and self._reference is not None:
            self._state.clock["pace"] = self._reference / frequency

    def _run_until(self, end: float) -> None:
        while (ready := self._tables.next_ready()) <= end:
            self._simulate_until(ready)
            self._switch_tables(ready)
        self._simulate_until(end)

    def _switch_tables(self, now: float) -> None:
        from penstock.twin.keys import engine

        while self._tables.next_ready() <= now:
            owners = self._tables.switch()
            self._make_room(len(owners))
            engine.reroute(self._state, owners, self._tables.running)

    def _make_room(self, keys: int) -> None:
        """For all keys to move at once."""
        clock = self._state.clock[0]
        if clock["rows"]["spare"] < 2 * keys:
            self._state = more_rows(self._state, 2 * keys)
        if clock["visits"]["spare"] < keys:
            self._state = more_visits(self._state, keys)

    def _simulate_until(self, end: float) -> None:
        # Numba takes longer to import than the rest of Penstock, and only a run needs it.
        from penstock.twin.keys import engine

        while (stopped := engine.advance(self._state, self._chunk, end)) != engine.REACHED:
            if stopped == engine.MORE_ROWS:
                self._state = more_rows(self._state, 1)
            elif stopped == engine.MORE_JOURNAL:
                self._state = more_journal(self._state)
            else:
                self._chunk = self._arrivals.next_chunk()
                self._state.clock["cursor"] = 0

    def _observe(self) -> Observation:
        now = self.totals()[self._module.name]
        reading = read(self._state, now, self._before, self._keys)
        seen = Observation(
            at=self.at,
            step=self.at - self._seen_at,
            modules={self._module.name: self._staffed(reading)},
            latency=reading.latency,
            frequency=self._frequency,
            power=self._watts(),
        )
        self._before, self._seen_at = now, self.at
        return seen

    def _staffed(self, reading: ModuleReading) -> ModuleReading:
        return replace(
            reading,
            routing=self._tables.in_force,
            wanted=self._wanted,
            requested=self._tables.requested.replicas,
            running=self._tables.running,
        )

    def _watts(self) -> Power | None:
        if self._power is None or self._frequency is None:
            return None
        watts = self._power(self._tables.running, self._frequency)
        return Power(watts=watts, modelled=True)
