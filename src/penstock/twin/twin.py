"""The twin: a pipeline simulated in virtual time, resized like a real one."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock.core.graph import FlowGraph
from penstock.core.roles import Workload
from penstock.core.routing import Routing
from penstock.core.signals import (
    Configuration,
    Decision,
    Latency,
    check_degrees,
)
from penstock.twin import state
from penstock.twin.keys.tables import KeySettings, RoutingTables
from penstock.twin.observing import (
    Reading,
    Totals,
    UtilisationMeter,
    by_station,
    gap_cv,
    key_loads,
    latencies,
    measured,
)
from penstock.twin.plant import SimulatedPlant
from penstock.twin.records import Array
from penstock.twin.sources import Arrivals
from penstock.twin.state import check_settings, check_size


class Twin(SimulatedPlant):
    """A flow graph under a workload, simulated row by row.

    Each module is a station with as many servers as its degree. The same seed and the same
    decisions give the same observations; a `deepcopy` in the middle of a run lives on alone, so a
    future can be tried and thrown away.

    `arrivals` says how the gaps between rows scatter about the workload's mean: `poisson`,
    `normal` or not at all (`even`); `service`, how service times do about theirs with each
    module's coefficient of variation: `gamma` or `normal`.

    A module with keys routes each row to the one replica that has its key; `keys` has what is known
    of them, by module. With `places`, rows take their time between regions. The rest is as in
    `SimulatedPlant`.

    >>> from penstock.core.graph import FlowGraph, Module
    >>> from penstock.workload import Constant
    >>> graph = FlowGraph(source="count", modules=(Module(name="count", service_time=0.004),))
    >>> twin = Twin(graph, Constant(100.0), step=10.0, duration=30.0, arrivals="even")
    >>> for seen in twin.readings():
    ...     print(f"{seen.at:g} s: {seen.modules['count'].utilisation:.0%} busy")
    10 s: 40% busy
    20 s: 40% busy
    30 s: 40% busy
    >>> f"{twin.totals()['count'].sojourn_time:.4f}"
    '0.0040'
    """

    def __init__(
        self,
        graph: FlowGraph,
        workload: Workload,
        *,
        step: float,
        duration: float,
        seed: int = 0,
        arrivals: str = "poisson",
        service: str = "gamma",
        keys: Mapping[str, KeySettings] | None = None,
        journal: bool = False,
        **plant: Any,
    ) -> None:
        check_settings(graph, step, duration, seed, service)
        super().__init__(graph, step=step, duration=duration, seed=seed, **plant)
        for_rows, for_stations = np.random.SeedSequence(seed).spawn(2)
        self._arrivals = Arrivals(workload, arrivals, duration, np.random.default_rng(for_rows))
        check_size(graph, self._arrivals.expected, duration)
        self._chunk = np.empty(0)
        keys = {m.name: KeySettings() for m in graph.modules if m.keys} | dict(keys or {})
        self._tables = {
            name: RoutingTables(graph[name], settings, self.pools[name])
            for name, settings in keys.items()
        }
        self._state = state.build(
            graph,
            for_stations,
            service,
            places=self.places,
            tables=self._tables,
            journal=journal,
        )
        order = {name: m for m, name in enumerate(graph.order())}
        self._numbers = {name: order[name] for name in graph.names()}
        self._and_sinks = np.array([*order.values(), *(order[name] for name in graph.sinks())])
        self._set_pace(self._pace(0.0))
        self._before, self._step_pace = self.totals(), 1.0
        self._utilisation = {name: UtilisationMeter() for name in self._numbers}

    @property
    def at(self) -> float:
        """Virtual seconds since the start."""
        return float(self._state.clock["now"][0])

    @property
    def moved(self) -> int:
        """States of keys that have moved since the start."""
        return int(self._state.stations["keyed"]["moved"].sum())

    def totals(self) -> Mapping[str, Totals]:
        """What has happened at each station since the start; subtract two to see between.

        Service times are at the reference frequency, and without interference.
        """
        return by_station(self._state.stations["totals"], self._numbers)

    def journal(self) -> Array:
        """Rows of modules with keys that were done in the last step, where a journal is kept."""
        return self._state.journal[: self._state.clock["written"][0]].copy()

    def apply(self, decision: Decision) -> Configuration | None:
        """Ask for what the decision wants; until new replicas have started, a table stays."""
        tables = decision.configuration.routing if self._tables else {}
        check_degrees({name: table.replicas for name, table in tables.items()}, self._tables)
        return super().apply(decision)

    def _ask(self, name: str, degree: int, table: Routing | None) -> None:
        if name in self._tables:
            self._tables[name].ask(table, degree, self.at)
        else:
            super()._ask(name, degree, table)

    def _routing(self) -> Mapping[str, Routing]:
        return {name: tables.requested for name, tables in self._tables.items()}

    def _resize(self, name: str, running: int, now: float) -> None:
        if name not in self._tables:
            station = self._state.stations[self._numbers[name]]
            state.resize(station, self.graph[name], running)
            return
        while self._tables[name].switch(now):
            self._reroute(name, self._tables[name])

    def _reroute(self, name: str, tables: RoutingTables) -> None:
        from penstock.twin import engine

        clock, m, keys = self._state.clock[0], self._numbers[name], len(tables.names)
        if clock["spare"] < 2 * keys:  # for all keys to move at once
            self._state = state.more_rows(self._state, 2 * keys)
        if clock["visits"]["spare"] < keys:
            self._state = state.more_visits(self._state, keys)
        first = self._state.stations[m]["keyed"]["first_replica"]
        owners = tables.owners(tables.in_force) + first
        engine.reroute(self._state, m, owners, tables.in_force.replicas)

    def _set_pace(self, pace: float) -> None:
        self._state.stations["pace"] = pace

    def _simulate_until(self, end: float) -> None:
        # Numba takes longer to import than the rest of Penstock, and only a run needs it.
        from penstock.twin import engine

        while (stopped := engine.advance(self._state, self._chunk, end)) != engine.REACHED:
            if stopped == engine.MORE_ROWS:
                self._state = state.more_rows(self._state)
            elif stopped == engine.MORE_JOURNAL:
                self._state = state.more_journal(self._state)
            else:
                self._chunk = self._arrivals.next_chunk()
                self._state.clock["cursor"] = 0

    def _begin_step(self) -> None:
        self._step_pace = float(self._state.stations["pace"][0])
        self._state.clock["written"] = 0
        if self._tables:
            for name in ("gaps", "gap_mean", "gap_spread"):
                self._state.stations["keyed"][name] = 0
            for name in ("arrived", "served", "work"):
                self._state.keys[name] = 0

    def _measure(self) -> tuple[dict[str, Reading], Latency | None]:
        totals, latency = self.totals(), latencies(self._state, self._and_sinks)
        readings = {
            name: self._read(name, m, totals[name]) | {"latency": latency[m]}
            for name, m in self._numbers.items()
        }
        self._before = totals
        return readings, latency[-1]

    def _read(self, name: str, m: int, now: Totals) -> Reading:
        station, step, pace = self._state.stations[m], now - self._before[name], self._step_pace
        reading = measured(step) | {
            "backlog": float(now.arrived - now.finished),
            "utilisation": self._utilisation[name].read(station, now, step),
        }
        if reading["service_time"] is not None:
            reading["service_time"] *= pace
        if self.places is not None or name in self._tables:
            reading["waiting_time"] = step.waiting_time
        if name in self._tables:
            tables, keyed = self._tables[name], station["keyed"]
            mine = self._state.keys[keyed["first_key"] : keyed["first_key"] + keyed["keys"]]
            reading["arrival_cv"] = gap_cv(keyed)
            reading["keys"] = key_loads(mine, tables.names, step.seconds, pace)
            reading["routing"] = tables.in_force
        return reading
