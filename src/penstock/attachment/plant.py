"""A running application as a plant of one module: its executors, and the work of its queries.

`combine` makes one module of all queries, whose rows are weighted by their work. With service times
s_i and rows r_i the application has a mean service time s = sum(r_i s_i) / sum(r_i), and a backlog
b_i counts as b_i s_i / s mean rows, which are as much work.

>>> light = ModuleReading(processed_rate=90.0, backlog=100.0, service_time=0.01)
>>> heavy = ModuleReading(processed_rate=10.0, backlog=100.0, service_time=0.11)
>>> both = combine({"light": light, "heavy": heavy})
>>> round(both.service_time, 3), round(both.backlog, 1), both.processed_rate
(0.02, 600.0, 100.0)
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from penstock.attachment.errors import APPLICATION, ErrorHandler
from penstock.attachment.queries import Queries
from penstock.core.errors import describe
from penstock.core.signals import (
    Configuration,
    Decision,
    Latency,
    ModuleReading,
    Observation,
    check_degrees,
    current,
    worst,
)
from penstock.core.units import format_duration
from penstock.spark.actuator import Actuator, ModuleExecutors
from penstock.spark.backend import DEFAULT_PROFILE, Backend, Executor
from penstock.spark.rates import Occupancy, Utilisation, read_executors

Readings = Mapping[str, ModuleReading]


def combine(queries: Readings, feeds: Mapping[str, Sequence[str]] | None = None) -> ModuleReading:
    """The readings of all queries as one; unknown where no query reports it."""
    known = list(queries.values())
    mean = _mean((r.service_time, r.processed_rate) for r in known)
    states = _sum(r.state_rows for r in known)
    return ModuleReading(
        arrival_rate=_sum(r.arrival_rate for r in known),
        processed_rate=_sum(r.processed_rate for r in known),
        backlog=_sum(_weighed(r, mean) for r in known),
        service_time=mean,
        batch_duration=_mean((r.batch_duration, r.processed_rate) for r in known),
        latency=end_to_end({name: r.latency for name, r in queries.items()}, feeds or {}),
        state_rows=None if states is None else int(states),
    )


def _weighed(reading: ModuleReading, mean: float | None) -> float | None:
    """The backlog of a query in mean rows."""
    if reading.backlog is None or reading.service_time is None or not mean:
        return reading.backlog
    return reading.backlog * reading.service_time / mean


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _mean(pairs: Iterable[tuple[float | None, float | None]]) -> float | None:
    """The weighted mean of known values; unweighted if all weights are 0."""
    known = [(value, weight or 0.0) for value, weight in pairs if value is not None]
    total = sum(weight for _, weight in known)
    if not known:
        return None
    if total <= 0:
        return sum(value for value, _ in known) / len(known)
    return sum(value * weight for value, weight in known) / total


def end_to_end(
    latencies: Mapping[str, Latency | None], feeds: Mapping[str, Sequence[str]]
) -> Latency | None:
    """The longest path through the queries: latencies along a path add up.

    >>> one = Latency(p50=1.0, p95=2.0, p99=3.0)
    >>> end_to_end({"a": one, "b": one, "c": one}, {"a": ["b"]})
    Latency(p50=2.0, p95=4.0, p99=6.0)
    """
    fed = {target for targets in feeds.values() for target in targets}
    starts = [name for name in latencies if name not in fed] or list(latencies)
    return worst(_onwards(name, latencies, feeds, frozenset()) for name in starts)


def _onwards(
    name: str,
    latencies: Mapping[str, Latency | None],
    feeds: Mapping[str, Sequence[str]],
    passed: frozenset[str],
) -> Latency | None:
    """From a query along the longest path; a cycle is followed once."""
    here = passed | {name}
    targets = [target for target in feeds.get(name, ()) if target not in here]
    after = worst(_onwards(each, latencies, feeds, here) for each in targets if each in latencies)
    known = [part for part in (latencies[name], after) if part is not None]
    sums = {q: sum(getattr(part, q) for part in known) for q in ("p50", "p95", "p99")}
    return Latency(**sums) if known else None


def application_actuator(backend: Backend, *, graceful: bool) -> Actuator:
    """The actuator of an application's executors; `graceful` if they can be decommissioned."""
    executors = ModuleExecutors(profile=DEFAULT_PROFILE)
    kill_idle = None if graceful else backend.kill_idle
    return Actuator(backend, {APPLICATION: executors}, adopts=True, kill_idle=kill_idle)


_SLICE: Final = 0.5
"""Seconds between two attempts to release busy executors."""
_TRIES: Final = 3
"""Refusals in a row after which decisions are only proposed; one may be transient."""


@dataclass(slots=True, kw_only=True)
class AttachedPlant:
    """The queries of an attached program as a plant.

    No error of Spark or the cluster ends it: a step that fails is skipped, and executors that
    cannot be changed stay as they are.
    """

    queries: Queries
    actuator: Actuator
    step: float
    window: float
    """Seconds for which the last report of a query remains valid."""
    local: bool = False
    """Whether the driver runs all tasks, and counts as the only executor."""
    initial: int | None = None
    """Initial executors."""
    acts: bool = True
    """Whether decisions are carried out; no longer once the cluster refuses them."""
    errors: ErrorHandler = field(default_factory=ErrorHandler)
    stopped: threading.Event = field(default_factory=threading.Event)
    timer: Callable[[], float] = time.monotonic
    clock: Callable[[], float] = time.time
    """Seconds since the epoch, as in Spark's events."""
    began: float = field(default_factory=time.monotonic)
    """By the timer."""
    _at: float = 0.0
    _reported_at: float = 0.0
    """Time of the last report of any query."""
    _utilisation: Utilisation | None = None
    _executors: tuple[Executor, ...] = ()
    _failed: int | None = None
    _in_force: int | None = None
    """Executors in the newest observation."""
    _refusals: int = 0
    """Failed attempts in a row to change the executors."""

    def readings(self) -> Iterator[Observation]:
        """One observation per step, until it is stopped or the application ends."""
        attempt = self.errors.attempt
        attempt("the first observation failed, and the next step tries again", self.observe)
        if self.initial is not None:
            first = Configuration(degrees={APPLICATION: self.initial})
            self.apply(Decision(configuration=first, why=f"initial executors: {self.initial}"))
        due = self.timer() + self.step
        while self._wait(due):
            seen = attempt("a step failed, and the next tries again", self.observe)
            if seen is not None:
                yield seen
            due = max(due + self.step, self.timer())

    def apply(self, decision: Decision) -> Configuration | None:
        """Request the decided executors; None if nothing changed."""
        degrees = dict(decision.configuration.degrees)
        # executors that the cluster has added since are not released
        if not self.acts or not degrees or degrees == {APPLICATION: self._in_force}:
            return None
        check_degrees(degrees, [APPLICATION])
        try:
            asked = self.actuator.want(degrees)
        except Exception as error:  # whatever the cluster answers, the queries go on
            self._refused(error)
            return None
        if not asked:
            return None
        self._refusals = 0
        return Configuration(degrees=degrees)

    def observe(self) -> Observation:
        """The observation of one step."""
        at = self.timer() - self.began
        occupancy = self._read_executors()
        members = self.actuator.members(self._executors)[APPLICATION]
        started = self.queries.refresh()
        slots = sum(e.cores for e in members) / len(members) if members else 1.0
        reported = self.queries.read(at, slots=slots, since=self.clock() - self.window)
        # a new query has the window to report, however long there was none
        self._reported_at = at if reported or started else self._reported_at
        step, self._at = at - self._at, at
        reading = self._read(occupancy, members, reported=reported)
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
        """Why nothing can be decided now; None if queries report."""
        if not self.queries.running:
            return "no streaming query runs"
        silent = self._at - self._reported_at
        if silent > self.window:
            return (
                f"no query has reported progress for {format_duration(silent)}; if batches or "
                "triggers take that long, set metrics.window above it"
            )
        return None

    def _wait(self, due: float) -> bool:
        """Sleep until a step is due, releasing executors that were busy before; False once it is
        stopped."""
        actuator, surplus = self.actuator, True
        while not self.stopped.is_set() and not self.errors.ended():
            left = due - self.timer()
            if left <= 0:
                return True
            if surplus and self.acts:
                still_busy = self.errors.attempt(
                    "executors cannot be released",
                    lambda: actuator.reconcile(actuator.backend.executors()),
                )
                surplus = bool(still_busy)
            self.stopped.wait(min(left, _SLICE))
        return False

    def _refused(self, error: Exception) -> None:
        """Only propose decisions once the cluster has refused several times."""
        if self.errors.ended():
            return
        self._refusals += 1
        self.acts = self._refusals < _TRIES
        trouble = "decisions are only proposed from now on, executors cannot be changed"
        if self.acts:
            trouble = "executors could not be changed, and the next step tries again"
        self.errors.log.warn(f"{trouble}: {describe(error)}", kind=trouble)

    def _read_executors(self) -> Occupancy:
        backend = self.actuator.backend
        self._executors, occupancy = read_executors(backend, self.clock(), driver=self.local)
        self._utilisation = self._utilisation or Utilisation(occupancy)
        return occupancy

    def _read(
        self, occupancy: Occupancy, members: list[Executor], *, reported: bool
    ) -> ModuleReading:
        """All queries as one, with the last reports of those that are silent in this step."""
        recent = {
            each.name: each.last
            for each in self.queries.running.values()
            if each.reported_at is not None and self._at - each.reported_at <= self.window
        }
        reading = replace(
            combine(recent, self.queries.feeds()),
            utilisation=self._busy_share(occupancy, members, reported=reported),
            failed_tasks=self._new_failures(),
            wanted=self.actuator.wanted.get(APPLICATION),
            requested=self.actuator.requested.get(APPLICATION),
            running=len(members),
        )
        return reading if reported else replace(reading, latency=None)

    def _busy_share(
        self, occupancy: Occupancy, members: list[Executor], *, reported: bool
    ) -> float | None:
        ids = [executor.id for executor in members]
        utilisation = self._utilisation or Utilisation(occupancy)
        if reported:
            return utilisation.at_report(occupancy, ids)
        arrived = self.actuator.requested.get(APPLICATION) in (None, len(ids))
        recent = self._at - self._reported_at <= self.window
        return utilisation.between_reports(occupancy, ids, settled=arrived and recent)

    def _new_failures(self) -> int:
        total = sum(e.failed_tasks for e in self._executors if e.profile == DEFAULT_PROFILE)
        before, self._failed = total if self._failed is None else self._failed, total
        return max(total - before, 0)
