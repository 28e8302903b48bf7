"""The plant itself: running queries that are watched, and executors that follow decisions."""

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
from penstock.spark.actuator import EVERYONE, Actuator, Pool
from penstock.spark.backend import Executor
from penstock.spark.clock import Clock
from penstock.spark.progress import Batch, Watched
from penstock.spark.rates import (
    Occupancy,
    QueryRates,
    Utilisation,
    look,
    reading_of,
    rows_behind,
    service,
)
from penstock.spark.regions import Regions

POLL = 0.02
"""Seconds between two looks for a progress event, once a step is due."""


@dataclass(slots=True, kw_only=True)
class SparkPlant:
    """Spark queries as a plant: `readings` observes them, `apply` resizes their executors."""

    queries: Mapping[str, Watched]
    actuator: Actuator | Pool
    step: float
    duration: float
    finals: tuple[str, ...]
    """The modules whose results leave a pipeline."""
    on_progress: Callable[[str], None] = lambda text: None  # noqa: ARG005
    check_cluster: Callable[[], None] = lambda: None
    """Raises where the cluster beneath the queries has ended."""
    reroute: Mapping[str, Callable[[Routing], None]] = field(default_factory=dict)
    """By module whose rows are routed by key, how to tell it its table."""
    clock: Clock | None = None
    """Of the machine, where it is decided about or measured."""
    regions: Regions | None = None
    """Whose nodes host the executors, where nodes are decided about."""
    results: dict[str, Any] = field(default_factory=dict)
    last_event: float | None = None
    """When the newest progress event ended, in seconds since the epoch."""
    _utilisation: dict[str, Utilisation] = field(default_factory=dict)
    _executors: tuple[Executor, ...] = ()
    _failed: dict[str, int] = field(default_factory=dict)
    _routing: dict[str, Routing] = field(default_factory=dict)
    """By module, the table last asked for."""
    _rates: dict[str, QueryRates] = field(default_factory=dict)

    def readings(self) -> Iterator[Observation]:
        """One observation a step, as soon as a query has reported something new."""
        begin = time.monotonic()
        now = time.time()
        self._rates = {name: _begin(w, now) for name, w in self.queries.items()}
        occupancy = self._look(now)
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
        """Ask for what was decided; the queries go on meanwhile."""
        degrees = dict(decision.configuration.degrees)
        check_degrees(degrees, self.queries)
        check_nodes(decision.configuration.nodes, self.regions.known() if self.regions else ())
        tables = self._tables(decision.configuration)
        paced = self._pace(decision.configuration.frequency)
        resized = not degrees.items() <= self.actuator.wanted.items()
        if tables or paced or resized:
            for name, table in tables.items():
                self.reroute[name](table)
            self.actuator.want(degrees)
        # after the executors: a node that has just been given one is not idle
        nodes = self.regions.want(decision.configuration.nodes) if self.regions else {}
        if not (tables or paced or resized or nodes):
            return None
        return Configuration(
            degrees=dict(self.actuator.wanted),
            routing=tables,
            frequency=self.clock.frequency if paced and self.clock else None,
            nodes=nodes,
        )

    def _pace(self, ghz: float | None) -> bool:
        """Set the clock; False where nothing had to change."""
        return ghz is not None and self.clock is not None and self.clock.set(ghz)

    def _tables(self, wanted: Configuration) -> dict[str, Routing]:
        """Tables that change: those that were decided, and a fresh one for a new degree."""
        grown = {
            name: Routing(replicas=degree)
            for name, degree in wanted.degrees.items()
            if name in self.reroute and degree != self.actuator.wanted.get(name)
        }
        given = {name: table for name, table in wanted.routing.items() if name in self.reroute}
        changed = {n: t for n, t in given.items() if t != self._routing.get(n)}
        tables = {**grown, **changed}
        self._routing.update(tables)
        return tables

    def drained(self, modules: Collection[str] | None = None) -> bool:
        """Whether every row that has come by now has been through every query, or these."""
        self._check_alive()
        waiting = self.waiting()
        return not any(rows for name, rows in waiting.items() if modules is None or name in modules)

    def through(self, module: str, rows: int) -> bool:
        """Whether so many rows have been through the query of a module."""
        self._check_alive()
        return self.queries[module].read() >= rows

    def waiting(self) -> dict[str, int]:
        """Rows that have come to each query and have not been through it."""
        asked = {name: (watched, watched.arrived) for name, watched in self.queries.items()}
        return {
            name: rows_behind(ask() or 0, watched.read())
            for name, (watched, ask) in asked.items()
            if ask is not None
        }

    def finished(self) -> dict[str, int]:
        """Rows that have been through each query since the first step began, up to the last.

        Rates cannot tell: where a batch outlasts a step, its rows are spread over both.
        """
        return {name: rates.read - rates.begun for name, rates in self._rates.items()}

    def collect_progress(self) -> None:
        """Hand on the progress events that came after the last step."""
        for watched in self.queries.values():
            self._collect(watched)

    def _wait(self, due: float) -> None:
        """Sleep until the step is due, then until a query reports, for a step at the most."""
        time.sleep(max(due - time.monotonic(), 0.0))
        self._check_alive()
        before = self._newest()
        while self._newest() == before and time.monotonic() < due + self.step:
            time.sleep(POLL)

    def _newest(self) -> list[str | None]:
        return [watched.newest() for watched in self.queries.values()]

    def _check_alive(self) -> None:
        self.check_cluster()
        for name, watched in self.queries.items():
            if not watched.query.isActive:
                failure = _failure(watched.query)
                if "No space left on device" in failure:
                    raise FileError("the disk of the run folder is full; free space or use --out")
                raise PlantError(f"the query of module {name} stopped: {failure}")

    def _look(self, now: float) -> Occupancy:
        self._executors, occupancy = look(self.actuator.backend, now)
        return occupancy

    def _observe(self, *, at: float, step: float) -> Observation:
        batches = {name: self._collect(watched) for name, watched in self.queries.items()}
        now = time.time()
        occupancy = self._look(now)
        self.actuator.settle(self._executors)
        running = self.actuator.running(self._executors)
        shared = running.get(EVERYONE)
        modules = {
            name: self._read_all(name, batches[name], running.get(name, shared or []), occupancy)
            for name in self.queries
        }
        replicas, clock = sum(len(own) for own in running.values()), self.clock
        return Observation(
            at=at,
            step=step,
            modules=modules,
            latency=worst([modules[final].latency for final in self.finals]),
            pool=None if shared is None else len(shared),
            frequency=clock.frequency if clock else None,
            power=clock.power(at=at, replicas=replicas) if clock else None,
            regions=self.regions.read(modules) if self.regions else {},
        )

    def _collect(self, watched: Watched) -> list[Batch]:
        events = watched.collect()
        for batch, text in events:
            self.on_progress(text)
            self.last_event = max(self.last_event or 0.0, batch.ended)
        return [batch for batch, _ in events]

    def _read_all(
        self, name: str, events: list[Batch], running: list[Executor], now: Occupancy
    ) -> ModuleReading:
        reading = self._read(name, events, running, now)
        return replace(reading, **self.queries[name].measured(reading, events))

    def _read(
        self, name: str, events: list[Batch], running: list[Executor], now: Occupancy
    ) -> ModuleReading:
        rates = self._rates[name].from_offsets(events, self._arrived(name, events), now.at)
        mean, cv = service(batch for batch in events if not batch.idle)
        ids = [executor.id for executor in running]
        return replace(
            reading_of(events, rates, service_time=mean, service_cv=cv),
            utilisation=self._utilisation[name].at_report(now, ids) if events else None,
            failed_tasks=self._new_failures(name),
            wanted=self.actuator.wanted.get(name),
            requested=self.actuator.requested.get(name),
            running=None if isinstance(self.actuator, Pool) else len(running),
        )

    def _arrived(self, name: str, events: list[Batch]) -> int | None:
        ask = self.queries[name].arrived
        if ask is not None:
            return ask()
        return events[-1].arrived if events else None

    def _new_failures(self, name: str) -> int | None:
        if isinstance(self.actuator, Pool):
            return None  # an executor does not say whose tasks failed
        profile = self.actuator.modules[name].profile
        total = sum(e.failed_tasks for e in self._executors if e.profile == profile)
        before, self._failed[name] = self._failed.get(name, 0), total
        return max(total - before, 0)


def _begin(watched: Watched, now: float) -> QueryRates:
    ask = watched.arrived
    read = watched.read()
    return QueryRates(read=read, begun=read, arrived=ask and ask(), arrived_at=now)


def _failure(query: StreamingQuery) -> str:
    error = query.exception()
    return first_line(error) if error is not None else "it was stopped from outside"
