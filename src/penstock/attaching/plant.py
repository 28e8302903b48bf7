"""A running application as a plant of one module: its executors, and the work of its queries."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from penstock.attaching.aggregate import combine
from penstock.attaching.checked import APPLICATION
from penstock.attaching.crew import Crew
from penstock.attaching.watching import Queries
from penstock.core.degrees import check_degrees
from penstock.core.signals import Configuration, Decision, ModuleReading, Observation, current
from penstock.core.units import format_duration
from penstock.plant.spark.backend import DEFAULT_PROFILE, Backend, Executor
from penstock.plant.spark.monitor import Occupancy

_FULL: Final = 0.95
"""Busy share that says something even in the middle of a batch: there is no executor to spare."""


@dataclass(slots=True, kw_only=True)
class AttachedPlant:
    """Observes an application step by step, and resizes it when told to."""

    backend: Backend
    queries: Queries
    crew: Crew
    local: bool = False
    """Whether the driver does all work itself, and counts as the one executor."""
    window: float
    """Seconds for which what a query told last stands in for what it does not tell."""
    timer: Callable[[], float] = time.monotonic
    clock: Callable[[], float] = time.time
    """Seconds since the epoch, by which Spark dates its events."""
    began: float = field(default_factory=time.monotonic)
    """By the timer."""
    _at: float = 0.0
    _told_at: float = 0.0
    """When a query last told something."""
    _occupancy: Occupancy | None = None
    """When a query last told something, or at the beginning."""
    _looked: Occupancy | None = None
    """In the step before."""
    _executors: tuple[Executor, ...] = ()
    _failed: int | None = None
    _shared: tuple[float | None, frozenset[str]] = (None, frozenset())
    """The busy share that was told last, and of which executors."""
    _in_force: int | None = None
    """What the newest observation showed."""

    def observe(self) -> Observation:
        """What one step brought."""
        at = self.timer() - self.began
        now = self._look()
        started = self.queries.look()
        told = self.queries.read(at, slots=self._slots(), since=self.clock() - self.window)
        # a query that starts has the window to tell something, however long none was there
        self._told_at = at if told or started else self._told_at
        step, self._at = at - self._at, at
        reading = self._read(at, now, told=told)
        seen = Observation(
            at=at,
            step=step,
            modules={APPLICATION: reading},
            latency=reading.latency,
            queries={each.name: each.fresh for each in self.queries.running.values()},
        )
        self._in_force = current(seen).degrees.get(APPLICATION)
        return seen

    def silence(self) -> str | None:
        """Why nothing can be decided now; None where queries tell enough."""
        if not self.queries.running:
            return "no streaming query runs"
        silent = self._at - self._told_at
        if silent > self.window:
            return (
                f"no query has told its progress for {format_duration(silent)}; where batches or "
                "triggers take as long, set metrics.window above that"
            )
        return None

    def apply(self, decision: Decision) -> Configuration | None:
        """Bring the executors to what was decided; None where nothing had to change."""
        degrees = dict(decision.configuration.degrees)
        check_degrees(degrees, [APPLICATION])
        wish = degrees.get(APPLICATION)
        # executors that come by themselves since are no reason to send them away
        if wish is None or wish == self._in_force or not self.crew.want(wish):
            return None
        return Configuration(degrees=degrees)

    def settle(self) -> int:
        """Let go of executors that could not go before; returns how many still cannot."""
        return self.crew.settle(self.backend.executors())

    @property
    def running(self) -> int:
        """Executors that were there in the newest step."""
        return len(self.crew.members(self._executors))

    def _look(self) -> Occupancy:
        self._executors = self.backend.executors(driver=self.local)
        busy = any(executor.active_tasks for executor in self._executors)
        tasks = self.backend.running_tasks() if busy else ()
        now = Occupancy.of(self._executors, tasks, self.clock())
        self._occupancy = self._occupancy or now
        return now

    def _slots(self) -> float:
        """Cores of an executor, on average."""
        members = self.crew.members(self._executors)
        return sum(e.cores for e in members) / len(members) if members else 1.0

    def _read(self, at: float, now: Occupancy, *, told: bool) -> ModuleReading:
        members = self.crew.members(self._executors)
        reading = replace(
            self._combined(at),
            utilisation=self._utilisation(members, now, told=told),
            failed_tasks=self._new_failures(),
            wanted=self.crew.wanted,
            requested=self.crew.requested,
            running=len(members),
        )
        return reading if told else replace(reading, latency=None)

    def _combined(self, at: float) -> ModuleReading:
        """All queries as one, those included that told something not too long ago."""
        recent = {
            each.name: each.last
            for each in self.queries.running.values()
            if each.told_at is not None and at - each.told_at <= self.window
        }
        return combine(recent, self.queries.feeds())

    def _utilisation(self, members: list[Executor], now: Occupancy, *, told: bool) -> float | None:
        """Busy share of the slots since a query last told something.

        In the middle of a batch executors that are done with their share of it look idle until the
        last one is, so that only one answer counts: that all are busy. Else the share that was told
        last stands, as long as the same executors are there.
        """
        ids = [executor.id for executor in members]
        before, self._looked = self._looked or self._occupancy, now
        if not told:
            share = None if before is None else now.share_since(before, ids)
            return share if share is not None and share >= _FULL else self._told_share(ids)
        since, self._occupancy = self._occupancy, now
        share = None if since is None else now.share_since(since, ids)
        self._shared = (share, frozenset(ids))
        return share

    def _told_share(self, ids: list[str]) -> float | None:
        """The share that was told last; unknown where executors have come or gone, or are to."""
        share, then = self._shared
        settled = self.crew.requested in (None, len(ids)) and then == frozenset(ids)
        return share if settled and self._at - self._told_at <= self.window else None

    def _new_failures(self) -> int:
        total = sum(e.failed_tasks for e in self._executors if e.profile == DEFAULT_PROFILE)
        before, self._failed = total if self._failed is None else self._failed, total
        return max(total - before, 0)
