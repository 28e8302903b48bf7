"""The Spark plant: running queries, whose progress is read, and executors that follow decisions."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from penstock.core.errors import FileError, PlantError, first_line
from penstock.core.regions import check_nodes
from penstock.core.routing import Routing
from penstock.core.signals import (
    Configuration,
    Decision,
    ModuleReading,
    Observation,
    check_degrees,
    worst,
)
from penstock.spark.actuator import ALL_MODULES, Actuator, ExecutorPool
from penstock.spark.backend import Executor
from penstock.spark.machine import FrequencyControl
from penstock.spark.progress import Batch, WatchedQuery
from penstock.spark.rates import (
    Occupancy,
    QueryRates,
    Utilisation,
    read_executors,
    reading_of,
    rows_behind,
    service,
)
from penstock.spark.regions import Regions

POLL = 0.02
"""Seconds between two checks for a progress event, once a step is due."""


@dataclass(slots=True, kw_only=True)
class SparkPlant:
    """Spark queries as a plant: `readings` observes them, `apply` resizes their executors."""

    queries: Mapping[str, WatchedQuery]
    actuator: Actuator | ExecutorPool
    step: float
    duration: float
    finals: tuple[str, ...]
    """The modules whose results leave a pipeline."""
    on_progress: Callable[[str], None] = lambda text: None  # noqa: ARG005
    check_cluster: Callable[[], None] = lambda: None
    """Raises if the cluster has ended."""
    reroute: Mapping[str, Callable[[Routing], None]] = field(default_factory=dict)
    """By module whose rows are routed by key, what sets its routing table."""
    frequency: FrequencyControl | None = None
    """Of the machine, if its frequency is decided or its power measured."""
    regions: Regions | None = None
    """The regions whose nodes are decided."""
    results: dict[str, Any] = field(default_factory=dict)
    last_event: float | None = None
    """End of the newest batch, in seconds since the epoch."""
    _utilisation: dict[str, Utilisation] = field(default_factory=dict)
    _executors: tuple[Executor, ...] = ()
    _failed: dict[str, int] = field(default_factory=dict)
    _routing: dict[str, Routing] = field(default_factory=dict)
    """By module, the last routing table."""
    _rates: dict[str, QueryRates] = field(default_factory=dict)

    def readings(self) -> Iterator[Observation]:
        """One observation per step, as soon as a query reports progress."""
        begin = time.monotonic()
        now = time.time()
        self._rates = {name: _start_rates(w, now) for name, w in self.queries.items()}
        occupancy = self._read_executors(now)
        self._utilisation = {name: Utilisation(occupancy) for name in self.queries}
        due = self.step
        previous = 0.0
        while due <= self.duration + 1e-9:
            self._wait(begin + due)
            now = time.monotonic() - begin
            yield self._observe(at=now, step=now - previous)
            previous = now
            due = max(due + self.step, self.step * (now // self.step + 1))

    def apply(self, decision: Decision) -> Configuration | None:
        """Carry out a decision while the queries run on; returns what changed."""
        degrees = dict(decision.configuration.degrees)
        check_degrees(degrees, self.queries)
        check_nodes(decision.configuration.nodes, self.regions.known() if self.regions else ())
        tables = self._tables(decision.configuration)
        ghz, control = decision.configuration.frequency, self.frequency
        new_frequency = ghz is not None and control is not None and control.set(ghz)
        resized = not degrees.items() <= self.actuator.wanted.items()
        if tables or new_frequency or resized:
            for name, table in tables.items():
                self.reroute[name](table)
            self.actuator.want(degrees)
        # after the executors: a node that has just been given one is not idle
        nodes = self.regions.want(decision.configuration.nodes) if self.regions else {}
        if not (tables or new_frequency or resized or nodes):
            return None
        return Configuration(
            degrees=dict(self.actuator.wanted),
            routing=tables,
            frequency=control.frequency if new_frequency and control else None,
            nodes=nodes,
        )

    def _tables(self, wanted: Configuration) -> dict[str, Routing]:
        """Routing tables that change: those that were decided, and a new one for a new degree."""
        resized = {
            name: Routing(replicas=degree)
            for name, degree in wanted.degrees.items()
            if name in self.reroute and degree != self.actuator.wanted.get(name)
        }
        given = {name: table for name, table in wanted.routing.items() if name in self.reroute}
        changed = {n: t for n, t in given.items() if t != self._routing.get(n)}
        tables = {**resized, **changed}
        self._routing.update(tables)
        return tables

    def drained(self, modules: Collection[str] | None = None) -> bool:
        """Whether these queries, or all, have read every row that has arrived."""
        self._check_alive()
        waiting = self.waiting()
        return not any(rows for name, rows in waiting.items() if modules is None or name in modules)

    def through(self, module: str, rows: int) -> bool:
        """Whether the query of a module has read so many rows."""
        self._check_alive()
        return self.queries[module].read() >= rows

    def waiting(self) -> dict[str, int]:
        """By module, rows that have arrived and were not read yet."""
        return {
            name: rows_behind(query.arrived() or 0, query.read())
            for name, query in self.queries.items()
            if query.arrived is not None
        }

    def finished(self) -> dict[str, int]:
        """By module, rows processed from the start of the first step to the end of the last.

        They do not follow from rates: rows of a batch longer than a step are spread over both.
        """
        return {name: rates.read - rates.read_at_start for name, rates in self._rates.items()}

    def collect_progress(self) -> None:
        """Pass on the progress events after the last step."""
        for watched in self.queries.values():
            self._collect(watched)

    def _wait(self, due: float) -> None:
        """Sleep until the step is due, then until a query reports, for a step at the most."""
        time.sleep(max(due - time.monotonic(), 0.0))
        self._check_alive()
        queries = self.queries.values()
        before = [watched.newest() for watched in queries]
        while time.monotonic() < due + self.step:
            if [watched.newest() for watched in queries] != before:
                return
            time.sleep(POLL)

    def _check_alive(self) -> None:
        self.check_cluster()
        for name, watched in self.queries.items():
            if not watched.query.isActive:
                failure = _failure(watched.query)
                if "No space left on device" in failure:
                    raise FileError("the disk of the run folder is full; free space or use --out")
                raise PlantError(f"the query of module {name} stopped: {failure}")

    def _read_executors(self, now: float) -> Occupancy:
        self._executors, occupancy = read_executors(self.actuator.backend, now)
        return occupancy

    def _observe(self, *, at: float, step: float) -> Observation:
        batches = {name: self._collect(watched) for name, watched in self.queries.items()}
        now = time.time()
        occupancy = self._read_executors(now)
        self.actuator.reconcile(self._executors)
        running = self.actuator.running(self._executors)
        shared = running.get(ALL_MODULES)
        modules = {
            name: self._read(name, batches[name], running.get(name, shared or []), occupancy)
            for name in self.queries
        }
        replicas, control = sum(len(own) for own in running.values()), self.frequency
        return Observation(
            at=at,
            step=step,
            modules=modules,
            latency=worst([modules[final].latency for final in self.finals]),
            pool=None if shared is None else len(shared),
            frequency=control.frequency if control else None,
            power=control.power(at=at, replicas=replicas) if control else None,
            regions=self.regions.read(modules) if self.regions else {},
        )

    def _collect(self, watched: WatchedQuery) -> list[Batch]:
        events = watched.collect()
        for batch, text in events:
            self.on_progress(text)
            self.last_event = max(self.last_event or 0.0, batch.ended)
        return [batch for batch, _ in events]

    def _read(
        self, name: str, events: list[Batch], running: list[Executor], now: Occupancy
    ) -> ModuleReading:
        query = self.queries[name]
        newest = events[-1].arrived if events else None
        arrived = newest if query.arrived is None else query.arrived()
        rates = self._rates[name].from_offsets(events, arrived, now.at)
        mean, cv = service(batch for batch in events if not batch.idle)
        ids = [executor.id for executor in running]
        reading = replace(
            reading_of(events, rates, service_time=mean, service_cv=cv),
            utilisation=self._utilisation[name].at_report(now, ids) if events else None,
            failed_tasks=self._new_failures(name),
            wanted=self.actuator.wanted.get(name),
            requested=self.actuator.requested.get(name),
            running=None if isinstance(self.actuator, ExecutorPool) else len(running),
        )
        return replace(reading, **query.measured(reading, events))

    def _new_failures(self, name: str) -> int | None:
        if isinstance(self.actuator, ExecutorPool):
            return None  # failed tasks of shared executors cannot be attributed
        profile = self.actuator.modules[name].profile
        total = sum(e.failed_tasks for e in self._executors if e.profile == profile)
        before, self._failed[name] = self._failed.get(name, 0), total
        return max(total - before, 0)


def _start_rates(query: WatchedQuery, now: float) -> QueryRates:
    arrived, read = query.arrived, query.read()
    return QueryRates(read=read, read_at_start=read, arrived=arrived and arrived(), arrived_at=now)


def _failure(query: StreamingQuery) -> str:
    error = query.exception()
    return first_line(error) if error is not None else "it was stopped from outside"
