"""A running application as a plant of one module: its executors, and the work of its queries.

One application out of its queries: their rows weigh by the work that they cost.

A row of a heavy query is more to do than one of a light one. With service times s_i and rows r_i
the application has a mean service time s = sum(r_i s_i) / sum(r_i), and rows that wait count as
b_i s_i / s: so many mean rows are as much work.

>>> light = ModuleReading(processed_rate=90.0, backlog=100.0, service_time=0.01)
>>> heavy = ModuleReading(processed_rate=10.0, backlog=100.0, service_time=0.11)
>>> both = combine({"light": light, "heavy": heavy})
>>> round(both.service_time, 3), round(both.backlog, 1), both.processed_rate
(0.02, 600.0, 100.0)

The executors of an application, brought to the number that was decided.

Growing is a request to the cluster. Shrinking lets executors finish their tasks and leave where
Spark decommissions, and else removes such as have none; one that is busy stays until it has none.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from penstock.attachment.checked import APPLICATION
from penstock.attachment.queries import Queries, end_to_end
from penstock.core.errors import ClusterError
from penstock.core.signals import (
    Configuration,
    Decision,
    ModuleReading,
    Observation,
    check_degrees,
    current,
)
from penstock.core.units import format_duration
from penstock.spark.actuator import least_useful
from penstock.spark.backend import DEFAULT_PROFILE, Backend, Executor
from penstock.spark.progress import Occupancy

Readings = Mapping[str, ModuleReading]


def combine(queries: Readings, feeds: Mapping[str, Sequence[str]] | None = None) -> ModuleReading:
    """The readings of all queries as one; unknown where no query tells."""
    told = list(queries.values())
    mean = mean_service_time(told)
    return ModuleReading(
        arrival_rate=_sum(r.arrival_rate for r in told),
        processed_rate=_sum(r.processed_rate for r in told),
        backlog=_sum(_weighed(r, mean) for r in told),
        service_time=mean,
        batch_duration=_mean((r.batch_duration, r.processed_rate) for r in told),
        latency=end_to_end({name: r.latency for name, r in queries.items()}, feeds or {}),
        state_rows=_whole(_sum(r.state_rows for r in told)),
    )


def mean_service_time(told: Iterable[ModuleReading]) -> float | None:
    """Seconds of an executor for a mean row of all queries."""
    return _mean((reading.service_time, reading.processed_rate) for reading in told)


def _weighed(reading: ModuleReading, mean: float | None) -> float | None:
    """The rows of a query that wait, in mean rows."""
    if reading.backlog is None or reading.service_time is None or not mean:
        return reading.backlog
    return reading.backlog * reading.service_time / mean


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _mean(pairs: Iterable[tuple[float | None, float | None]]) -> float | None:
    """The mean of the values that are known, by their weights; by none where all weigh nothing."""
    known = [(value, weight or 0.0) for value, weight in pairs if value is not None]
    total = sum(weight for _, weight in known)
    if not known:
        return None
    if total <= 0:
        return sum(value for value, _ in known) / len(known)
    return sum(value * weight for value, weight in known) / total


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


class Scheduler(Protocol):
    """Who is asked for executors."""

    def request(self, targets: dict[int, int], /) -> bool:
        """Ask for so many of each profile; False where nobody took it up."""
        ...

    def decommission(self, executors: Iterable[str], /) -> tuple[str, ...]:
        """Let executors finish their tasks and leave."""
        ...

    def executors(self) -> tuple[Executor, ...]:
        """All that there are or were."""
        ...


class Remover(Protocol):
    """Who removes executors that have no task."""

    def kill_idle(self, executors: Iterable[str], /) -> tuple[str, ...]:
        """Those that go."""
        ...


@dataclass(slots=True)
class Crew:
    """Holds what is wanted and what was asked for; None before anything was decided."""

    scheduler: Scheduler
    remover: Remover
    graceful: bool
    """Whether executors can be decommissioned."""
    wanted: int | None = None
    requested: int | None = None
    _leaving: set[str] = field(default_factory=set)

    def want(self, number: int) -> bool:
        """Bring the executors to a number; False where that was wanted before."""
        everyone = self.scheduler.executors()
        there = len(self.members(everyone))
        if number == (there if self.wanted is None else self.wanted):
            self.wanted = number if self.wanted is None else self.wanted
            return False
        if not self.scheduler.request({**self._others(everyone), DEFAULT_PROFILE: number}):
            raise ClusterError(f"the cluster did not take up a request for {number} executors")
        self.wanted = self.requested = number
        self.settle(everyone)
        return True

    def settle(self, everyone: Iterable[Executor]) -> int:
        """Let go of what is too much and can go now; returns how many have yet to."""
        members = self.members(everyone)
        surplus = 0 if self.requested is None else len(members) - self.requested
        if surplus <= 0:
            return 0
        idle = [e for e in members if not e.active_tasks]
        crowds = Counter(executor.node for executor in members)
        chosen = least_useful(members if self.graceful else idle, surplus, crowds)
        if not chosen:
            return surplus
        remove = self.scheduler.decommission if self.graceful else self.remover.kill_idle
        gone = remove(chosen)
        self._leaving.update(gone)
        return surplus - len(gone)

    def members(self, everyone: Iterable[Executor]) -> list[Executor]:
        """Of these executors, those of the default profile that are here to stay."""
        active = [executor for executor in everyone if executor.active]
        self._leaving &= {executor.id for executor in active}
        return [e for e in active if e.profile == DEFAULT_PROFILE and e.id not in self._leaving]

    def _others(self, everyone: Iterable[Executor]) -> dict[int, int]:
        """Executors of other profiles: a request that leaves them out would cancel them."""
        return dict(Counter(e.profile for e in everyone if e.active))


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
