"""What a control step measured, derived from progress events and from executors.

This is the one place for arrival rate, processed rate, backlog, service time, latency and
utilisation. There are two ways to know what has come to a query, and `QueryRates` has a method for
each:

==============  ======================================  =======================================
figure          `from_offsets`: the source counts rows  `from_events`: only progress events say
==============  ======================================  =======================================
processed       end offset, from event to event         input rows, from event to event
arrival         asked of the source, from step to step  newest offsets at the starts of batches,
                                                        else input rows between two starts
backlog         what has come by now and was not read   what the newest batch left in its sources
latency         rows carry their moment of creation     estimated from the starts of batches
==============  ======================================  =======================================

The first is used for queries of ours, the second for queries of an attached program.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.signals import Latency, ModuleReading
from penstock.spark.backend import Backend, Executor, RunningTask
from penstock.spark.progress import LEVELS, Batch

_GRID: Final = (np.arange(100) + 0.5) / 100
_AT_ONCE: Final = 0.1
"""Seconds between two batches that follow each other without a pause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Rows per second, backlog and latency in a step; None if unknown."""

    arrival: float | None = None
    processed: float | None = None
    backlog: float | None = None
    latency: Latency | None = None


@dataclass(slots=True, kw_only=True)
class QueryRates:
    """Running totals of one query, from which the rates of a step follow."""

    read: int = 0
    read_at_start: int = 0
    """Rows read before the first step."""
    read_at: float | None = None
    arrived: int | None = None
    arrived_at: float = 0.0
    trigger: float | None = None
    """Seconds between two triggers, 0 without a pause; None if unknown."""
    _last: Batch | None = None
    """The newest event of earlier steps."""

    def from_offsets(self, events: Sequence[Batch], arrived: int | None, now: float) -> Rates:
        """Rates of a step from its progress events and the rows that have arrived by now."""
        return Rates(
            processed=self._read_rate(events),
            arrival=self._arrival_rate(arrived, now),
            backlog=None if arrived is None else float(rows_behind(arrived, self.read)),
            latency=latency([batch for batch in events if not batch.idle]),
        )

    def from_events(self, events: Sequence[Batch]) -> Rates:
        """Rates of a step from its progress events alone."""
        if not events:
            return Rates()
        before = self._before(events)
        processed = _input_rate(events, before)
        backlog = events[-1].waiting
        waits = backlog / processed if backlog and processed else 0.0
        self._last = events[-1]
        return Rates(
            processed=processed,
            arrival=_start_rate(events, before or events[0]),
            backlog=backlog,
            latency=estimated_latency(events, before=before, trigger=self.trigger, waits=waits),
        )

    def _read_rate(self, events: Sequence[Batch]) -> float | None:
        """Rows read between the last event of the previous step and that of this one."""
        if not events or events[-1].read is None:
            return None
        end, rows = events[-1].ended, events[-1].read - self.read
        begin = self.read_at if self.read_at is not None else events[0].started
        self.read, self.read_at = events[-1].read, end
        return rows / (end - begin) if end > begin else None

    def _arrival_rate(self, arrived: int | None, now: float) -> float | None:
        if arrived is None:
            return None
        before, then = self.arrived, self.arrived_at
        self.arrived, self.arrived_at = arrived, now
        return None if before is None or now <= then else (arrived - before) / (now - then)

    def _before(self, events: Sequence[Batch]) -> Batch | None:
        """The event before these; None if Spark has dropped some in between."""
        last = self._last
        return last if last and events[0].number <= last.number + 1 else None


def rows_behind(arrived: int, read: int) -> int:
    """The backlog: rows that have arrived and were not read.

    >>> rows_behind(900, 850), rows_behind(0, 7)
    (50, 0)
    """
    return max(arrived - read, 0)


def _input_rate(events: Sequence[Batch], before: Batch | None) -> float | None:
    """Rows processed, over the time since the previous event."""
    begin = events[0].started if before is None else before.ended
    span = events[-1].ended - begin
    return sum(batch.input_rows for batch in events) / span if span > 0 else None


def _start_rate(events: Sequence[Batch], first: Batch) -> float | None:
    """From the sources' newest offsets at the start of each batch, else from the input rows: those
    arrived between two starts."""
    last = events[-1]
    span = last.started - first.started
    if span <= 0:
        return None
    if first.arrived is not None and last.arrived is not None:
        return rows_behind(last.arrived, first.arrived) / span
    return sum(batch.input_rows for batch in events if batch is not first) / span


def reading_of(
    events: Sequence[Batch],
    rates: Rates,
    *,
    service_time: float | None,
    service_cv: float | None = None,
) -> ModuleReading:
    """The reading of a query in a step; None for what no event reports."""
    batches = [batch for batch in events if not batch.idle]
    return ModuleReading(
        arrival_rate=rates.arrival,
        processed_rate=rates.processed,
        backlog=rates.backlog,
        service_time=service_time,
        service_cv=service_cv,
        batch_duration=_mean([batch.duration for batch in batches]),
        batch_parts=mean_parts(batches),
        latency=rates.latency,
        state_rows=events[-1].state_rows if events else None,
    )


def service(batches: Iterable[Batch]) -> tuple[float | None, float | None]:
    """Mean service time of the rows, and its coefficient of variation."""
    known = [b for b in batches if b.rows and b.service and b.service_squared is not None]
    rows = sum(batch.rows or 0 for batch in known)
    if rows == 0:
        return None, None
    mean = sum(batch.service or 0.0 for batch in known) / rows
    squared = sum(batch.service_squared or 0.0 for batch in known) / rows
    return mean, sqrt(max(squared - mean**2, 0.0)) / mean


def mean_parts(batches: Sequence[Batch]) -> dict[str, float] | None:
    """Mean seconds of each phase over these batches."""
    if not batches:
        return None
    phases = sorted({phase for batch in batches for phase in batch.parts})
    return {
        phase: sum(batch.parts.get(phase, 0.0) for batch in batches) / len(batches)
        for phase in phases
    }


def latency(batches: Iterable[Batch]) -> Latency | None:
    """From creation to the end of the batch, over all rows of these batches."""
    known = [batch for batch in batches if batch.rows and batch.created is not None]
    if not known:
        return None
    ages = np.concatenate([batch.ended - _spread(batch.created or ()) for batch in known])
    weights = np.repeat([(batch.rows or 0) / len(_GRID) for batch in known], len(_GRID))
    p50, p95, p99 = _weighted_quantiles(ages, weights, (0.50, 0.95, 0.99))
    return Latency(p50=p50, p95=p95, p99=p99)


def estimated_latency(
    batches: Sequence[Batch],
    *,
    before: Batch | None = None,
    trigger: float | None = None,
    waits: float = 0.0,
) -> Latency | None:
    """Latency of rows without a creation time, at the end of each batch; None without rows.

    Rows of a batch arrived after the query last polled its sources, which it does at the start of
    every batch, and at every trigger while idle. At the end of the batch their age is its duration
    plus up to the time since that poll. Rows that wait in the source are older by that wait.

    `before` is the batch before the first, `trigger` the seconds between two triggers, 0 where a
    query polls all the time. `waits` are the seconds that rows spent in the source.

    >>> every = {"parts": {}, "idle": False, "service": None, "service_squared": None, "rows": None}
    >>> every |= {"created": None, "arrived": None, "read": None, "state_rows": None}
    >>> one = Batch(number=1, started=10.0, duration=4.0, input_rows=50, **every)
    >>> two = [one, replace(one, number=2, started=20.0)]
    >>> ages = estimated_latency(two, before=one, trigger=10.0)
    >>> round(ages.p95), round(estimated_latency(two, trigger=0.0).p95)
    (13, 4)
    """
    if not batches:
        return None
    pairs = pairwise([before or batches[0], *batches])
    return latency([_dated(own, _gap(last, own, trigger), waits) for last, own in pairs])


def _gap(last: Batch, own: Batch, trigger: float | None) -> float:
    """Seconds between a query's last poll and the start of a batch."""
    since = max(own.started - last.started, 0.0)
    if trigger is None or own.started - last.ended <= trigger + _AT_ONCE:
        return since
    return trigger  # it was idle, and polled at every trigger


def _dated(batch: Batch, since: float, waits: float) -> Batch:
    first = batch.started - waits - since
    created = tuple(first + since * level for level in LEVELS)
    return replace(batch, rows=batch.input_rows, created=created)


def _spread(created: tuple[float, ...]) -> NDArray[np.float64]:
    spread: NDArray[np.float64] = np.interp(_GRID, LEVELS, created)
    return spread


def _weighted_quantiles(
    values: NDArray[np.float64], weights: NDArray[np.float64], levels: tuple[float, ...]
) -> list[float]:
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) / weights.sum()
    places = np.searchsorted(reached, levels).clip(max=len(order) - 1)
    return [float(value) for value in values[order][places]]


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


# Utilisation: how busy executors are, from what they report of their tasks.


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """By executor, seconds busy up to a moment, running tasks included."""

    at: float
    busy: Mapping[str, float]
    active: frozenset[str]
    slots: Mapping[str, int] = field(default_factory=dict)
    """Tasks that an executor runs at a time, where more than one."""

    @classmethod
    def of(
        cls, executors: Iterable[Executor], tasks: Iterable[RunningTask], now: float
    ) -> "Occupancy":
        """From executors and their running tasks."""
        known = list(executors)
        running: dict[str, float] = {}
        for task in tasks:
            running[task.executor] = running.get(task.executor, 0.0) + max(now - task.launched, 0.0)
        return cls(
            at=now,
            busy={e.id: e.busy + running.get(e.id, 0.0) for e in known},
            active=frozenset(e.id for e in known if e.active),
            slots={e.id: e.cores for e in known if e.cores > 1},
        )

    def share_since(self, before: "Occupancy", members: Iterable[str]) -> float | None:
        """Busy share of these executors' slots since an earlier moment.

        Only executors that were active at both moments count; None without any.
        """
        stayed = [m for m in members if m in self.active and m in before.active]
        elapsed = self.at - before.at
        if not stayed or elapsed <= 0:
            return None
        busy = sum(self.busy[m] - before.busy.get(m, 0.0) for m in stayed)
        slots = sum(self.slots.get(m, 1) for m in stayed)
        return min(max(busy / (elapsed * slots), 0.0), 1.0)


def read_executors(
    backend: Backend, now: float, *, driver: bool = False
) -> tuple[tuple[Executor, ...], Occupancy]:
    """The executors of an application, and their occupancy."""
    executors = backend.executors(driver=driver)
    tasks = backend.running_tasks() if any(e.active_tasks for e in executors) else ()
    return executors, Occupancy.of(executors, tasks, now)


_FULL: Final = 0.95
"""Busy share that is meaningful even within a batch: all executors are in use."""


@dataclass(slots=True)
class Utilisation:
    """Busy share of executors, from one progress event to the next.

    Within a batch it would mislead: executors that have finished their tasks look idle until the
    last one has.
    """

    reported: Occupancy
    """At the last progress event, or at the start."""
    _previous: Occupancy | None = None
    """In the previous step."""
    _share: float | None = None
    """At the last progress event."""
    _members: frozenset[str] = frozenset()
    """The executors at that event."""

    def at_report(self, now: Occupancy, members: Sequence[str]) -> float | None:
        """Busy share of these executors' slots since the last progress event."""
        self._share = now.share_since(self.reported, members)
        self.reported = self._previous = now
        self._members = frozenset(members)
        return self._share

    def between_reports(
        self, now: Occupancy, members: Sequence[str], *, settled: bool
    ) -> float | None:
        """The share within a batch: the new one if all executors are busy, else the last one, as
        long as the executors are the same and `settled`: none is starting or being released.
        """

        share = now.share_since(self._previous or self.reported, members)
        self._previous = now
        if share is not None and share >= _FULL:
            return share
        return self._share if settled and self._members == frozenset(members) else None
