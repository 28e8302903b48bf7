"""The twin: a pipeline simulated in virtual time, resized like a real one."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import ceil

import numpy as np

from penstock.core.graph import FlowGraph
from penstock.core.roles import Workload
from penstock.core.signals import Configuration, Decision, ModuleReading, Observation, check_degrees
from penstock.twin import state
from penstock.twin.observing import Totals, by_station, latency, measured
from penstock.twin.sources import Arrivals
from penstock.twin.state import OPEN, Fleet, check_settings, check_size


class Twin:
    """A flow graph under a workload, simulated row by row.

    Each module is a station with as many servers as its degree. The same seed and the same
    decisions give the same observations; a `deepcopy` in the middle of a run lives on alone, so a
    future can be tried and thrown away.

    `arrivals` says how the gaps between rows scatter about the workload's mean: `poisson`,
    `normal` or not at all (`even`); `service`, how service times do about theirs with each
    module's coefficient of variation: `gamma` or `normal`.

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
    ) -> None:
        check_settings(graph, step, duration, seed, service)
        self.graph = graph
        self._step, self._duration = float(step), float(duration)
        self._turn = 0
        for_rows, for_stations = np.random.SeedSequence(seed).spawn(2)
        self._arrivals = Arrivals(workload, arrivals, duration, np.random.default_rng(for_rows))
        check_size(graph, self._arrivals.expected, duration)
        self._chunk = np.empty(0)
        self._state = state.build(graph, for_stations, service)
        places = {name: m for m, name in enumerate(graph.order())}
        self._numbers = {name: places[name] for name in graph.names()}
        self._sinks = np.array([places[name] for name in graph.sinks()])
        self._fleet = Fleet([graph[name] for name in graph.order()])
        self._wanted = {module.name: module.initial_replicas for module in graph.modules}
        self._before, self._seen_at = self.totals(), 0.0
        self._told = dict.fromkeys(self._numbers, (0.0, 0.0))
        """By module, busy and all server-seconds up to which its utilisation was told."""

    @property
    def at(self) -> float:
        """Virtual seconds since the start."""
        return float(self._state.clock["now"][0])

    def readings(self) -> Iterator[Observation]:
        """Simulate a control step at a time; a second call goes on where the first stopped.

        What happens at the very end of a step belongs to it.
        """
        turns = ceil(self._duration / self._step * (1 - 1e-12))
        while self._turn < turns:
            self._turn += 1
            self._run_until(min(self._turn * self._step, self._duration))
            yield self._observe()

    def apply(self, decision: Decision) -> Configuration | None:
        """Ask for the degrees that the decision wants, within each module's bounds, now."""
        degrees = decision.configuration.degrees
        check_degrees(degrees, self._numbers)
        self._wanted.update(degrees)
        changed = [self._resize(name, degree) for name, degree in degrees.items()]
        return self._requested() if any(changed) else None

    def totals(self) -> Mapping[str, Totals]:
        """What has happened at each station since the start; subtract two to see between."""
        return by_station(self._state.stations["totals"], self._numbers)

    def _resize(self, name: str, wanted: int) -> bool:
        module, m = self.graph[name], self._numbers[name]
        degree = min(max(wanted, module.min_replicas), module.max_replicas)
        if degree == self._fleet.requested(self._state.stations)[m]:
            return False
        self._fleet.resize(self._state.stations, m, degree, self.at)
        return True

    def _requested(self) -> Configuration:
        requested = self._fleet.requested(self._state.stations)
        return Configuration(degrees={name: requested[m] for name, m in self._numbers.items()})

    def _run_until(self, end: float) -> None:
        while (ready := self._fleet.next_ready()) <= end:
            self._simulate_until(ready)
            self._fleet.start_ready(self._state.stations, ready)
        self._simulate_until(end)

    def _simulate_until(self, end: float) -> None:
        # Numba takes longer to import than the rest of Penstock, and only a run needs it.
        from penstock.twin import engine

        while (stopped := engine.advance(*self._state, self._chunk, end)) != engine.REACHED:
            if stopped == engine.MORE_ROWS:
                self._state = state.more_rows(self._state)
            else:
                self._chunk = self._arrivals.next_chunk()
                self._state.clock["cursor"] = 0

    def _observe(self) -> Observation:
        totals, ages = self.totals(), self._state.ages
        seen = Observation(
            at=self.at,
            step=self.at - self._seen_at,
            modules=self._read_modules(totals),
            latency=latency(ages, self._sinks),
        )
        ages.fill(0.0)
        self._before, self._seen_at = totals, self.at
        return seen

    def _read_modules(self, totals: Mapping[str, Totals]) -> dict[str, ModuleReading]:
        running = self._fleet.running(self._state.stations)
        requested = self._fleet.requested(self._state.stations)
        return {
            name: replace(
                measured(totals[name], self._before[name]),
                utilisation=self._utilisation(name, totals[name]),
                latency=latency(self._state.ages, np.array([m])),
                wanted=self._wanted[name],
                requested=requested[m],
                running=running[m],
            )
            for name, m in self._numbers.items()
        }

    def _utilisation(self, name: str, now: Totals) -> float | None:
        """Busy share of the servers since it was last told; unknown in mid-batch, as on Spark.

        Over part of a batch it would say little: all are busy with rows, then none is for a while.
        So it is told up to the end of the last one, or up to now where there is none.
        """
        station = self._state.stations[self._numbers[name]]
        busy, servers = now.busy_seconds, now.server_seconds
        if now.batches > self._before[name].batches:
            busy, servers = float(station["closed_busy"]), float(station["closed_servers"])
        elif station["phase"] == OPEN:
            return None
        before, self._told[name] = self._told[name], (busy, servers)
        passed = servers - before[1]
        return min((busy - before[0]) / passed, 1.0) if passed > 0 else None
