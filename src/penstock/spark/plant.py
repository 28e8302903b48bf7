"""The plant itself: running queries that are watched, and executors that follow decisions."""

import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from penstock.core.errors import FileError, PlantError
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
from penstock.spark import progress as monitor
from penstock.spark.actuator import EVERYONE, Actuator, Pool
from penstock.spark.backend import Executor
from penstock.spark.clock import Clock
from penstock.spark.progress import Batch, Occupancy
from penstock.spark.rates import Progress
from penstock.spark.regions import Regions
from penstock.spark.session import first_line

POLL = 0.02
"""Seconds between two looks for a progress event, once a step is due."""


@dataclass(slots=True, kw_only=True)
class Watched:
    """A module's query, and how far its progress has been read."""

    module: str
    query: StreamingQuery
    arrived: Callable[[], int | None] | None = None
    """Rows that have come by now, asked of the source itself; None where it cannot say."""
    base: int = 0
    """Rows before the first one of the run, where the source counts those too."""
    on_batch: Callable[[Batch], None] = lambda batch: None  # noqa: ARG005
    """Told of every progress event, once."""
    measured: Callable[[ModuleReading, Sequence[Batch]], Mapping[str, Any]] = lambda *_: {}
    """What else is known of a step, as fields of its reading: given the reading, and the progress
    events of the step."""
    _seen: tuple[int, str] = (-1, "")

    def newest(self) -> str | None:
        """The moment of the query's newest progress event; asked often, so two calls must do."""
        last = self._jvm_query().lastProgress()
        return None if last is None else str(last.timestamp())

    def read(self) -> int:
        """Rows that the query's last batch ended with."""
        last = self._jvm_query().lastProgress()
        return (self._parse(json.loads(last.json())).read or 0) if last else 0

    def collect(self) -> list[tuple[Batch, str]]:
        """The progress events since the last call, with their text."""
        fresh: list[tuple[Batch, str]] = []
        recent, newest = self._jvm_query().recentProgress(), self._seen
        for place in reversed(range(len(recent))):  # a call each, so only as far as needed
            text = recent[place].json()
            event = json.loads(text)
            mark = (event["batchId"], event["timestamp"])
            if mark <= self._seen:
                break
            newest = max(newest, mark)
            fresh.append((self._parse(event), text))
        self._seen = newest
        for batch, _ in reversed(fresh):
            self.on_batch(batch)
        return fresh[::-1]

    def _parse(self, event: Mapping[str, Any]) -> Batch:
        batch = monitor.parse_progress(event)
        return replace(batch, arrived=self._own(batch.arrived), read=self._own(batch.read))

    def _own(self, rows: int | None) -> int | None:
        """Rows of this run."""
        return None if rows is None else max(rows - self.base, 0)

    def _jvm_query(self) -> Any:
        return self.query._jsq


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
    _occupancy: dict[str, Occupancy] = field(default_factory=dict)
    """By module, when it last reported."""
    _executors: tuple[Executor, ...] = ()
    _failed: dict[str, int] = field(default_factory=dict)
    _routing: dict[str, Routing] = field(default_factory=dict)
    """By module, the table last asked for."""
    _progress: dict[str, Progress] = field(default_factory=dict)

    def readings(self) -> Iterator[Observation]:
        """One observation a step, as soon as a query has reported something new."""
        begin = time.monotonic()
        now = time.time()
        self._progress = {name: _begin(w, now) for name, w in self.queries.items()}
        self._occupancy = dict.fromkeys(self.queries, self._look(now))
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
            name: max((ask() or 0) - watched.read(), 0)
            for name, (watched, ask) in asked.items()
            if ask is not None
        }

    def finished(self) -> dict[str, int]:
        """Rows that have been through each query since the first step began, up to the last.

        Rates cannot tell: where a batch outlasts a step, its rows are spread over both.
        """
        return {name: progress.read - progress.begun for name, progress in self._progress.items()}

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
        self._executors = self.actuator.backend.executors()
        busy = any(executor.active_tasks for executor in self._executors)
        tasks = self.actuator.backend.running_tasks() if busy else ()
        return Occupancy.of(self._executors, tasks, now)

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
        replicas, clock = sum(len(crew) for crew in running.values()), self.clock
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
        progress = self._progress[name]
        arrived = self._arrived(name, events)
        rates = progress.advance(events, arrived, now.at)
        batches = [batch for batch in events if not batch.idle]
        mean, cv = monitor.service(batches)
        return ModuleReading(
            arrival_rate=rates.arrival,
            processed_rate=rates.processed,
            backlog=rates.backlog,
            utilisation=self._utilisation(name, events, running, now),
            service_time=mean,
            service_cv=cv,
            batch_duration=_mean([batch.duration for batch in batches]),
            batch_parts=monitor.mean_parts(batches),
            latency=monitor.latency(batches),
            state_rows=events[-1].state_rows if events else None,
            failed_tasks=self._new_failures(name),
            wanted=self.actuator.wanted.get(name),
            requested=self.actuator.requested.get(name),
            running=None if isinstance(self.actuator, Pool) else len(running),
        )

    def _utilisation(
        self, name: str, events: list[Batch], running: list[Executor], now: Occupancy
    ) -> float | None:
        """Busy share of the slots since the module last reported; unknown in mid-batch.

        Over part of a batch it would say little: executors that are done with their share of it
        look idle until the last one is.
        """
        if not events:
            return None
        before, self._occupancy[name] = self._occupancy[name], now
        return now.share_since(before, [executor.id for executor in running])

    def _arrived(self, name: str, events: list[Batch]) -> int | None:
        ask = self.queries[name].arrived
        if ask is not None:
            return ask()
        return events[-1].arrived if events else None

    def _new_failures(self, name: str) -> int | None:
        if isinstance(self.actuator, Pool):
            return None  # an executor does not say whose tasks failed
        profile = self.actuator.lanes[name].profile
        total = sum(e.failed_tasks for e in self._executors if e.profile == profile)
        before, self._failed[name] = self._failed.get(name, 0), total
        return max(total - before, 0)


def _begin(watched: Watched, now: float) -> Progress:
    ask = watched.arrived
    read = watched.read()
    return Progress(read=read, begun=read, arrived=ask and ask(), arrived_at=now)


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _failure(query: StreamingQuery) -> str:
    error = query.exception()
    return first_line(error) if error is not None else "it was stopped from outside"
