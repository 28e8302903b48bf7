"""From what Spark reports to what a policy sees. Everything here is a pure function.

A query reports one progress event for each micro-batch; executors report their tasks. Where a
step brought no event, the figures that would come from it are None.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from math import sqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.signals import Latency
from penstock.spark.backend import Executor, RunningTask

METRICS: Final = "penstock"
"""The name of our own metrics in Spark's progress events."""
LEVELS: Final = (0.0, 0.01, *(level / 20 for level in range(1, 20)), 0.99, 1.0)
"""The quantiles at which the rows' moments of creation are observed."""
_GRID: Final = (np.arange(100) + 0.5) / 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What one progress event says, in seconds and rows."""

    number: int
    started: float
    """Seconds since the epoch."""
    duration: float
    parts: Mapping[str, float]
    idle: bool
    """Whether the event only says that there was nothing to do."""
    rows: int | None
    """Rows taken in, by our own count; None where the query does not count them."""
    service: float | None
    """Summed service time of the rows."""
    service_squared: float | None
    created: tuple[float, ...] | None
    """The rows' moments of creation at LEVELS, in seconds since the epoch."""
    arrived: int | None
    """Rows that had come by the start of the batch, from the source's newest offset."""
    read: int | None
    """Rows read by the end of the batch, from the source's end offset."""
    state_rows: int | None
    observed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What operators told of their own, by name."""

    @property
    def ended(self) -> float:
        """Seconds since the epoch."""
        return self.started + self.duration


def parse_progress(told: Mapping[str, Any]) -> Batch:
    """Read a progress event; what it lacks is None."""
    parts = {phase: ms / 1000 for phase, ms in told.get("durationMs", {}).items()}
    sources = told.get("sources") or []
    observed = told.get("observedMetrics") or {}
    metrics = observed.get(METRICS) or {}
    states = told.get("stateOperators") or []
    created = metrics.get("created")
    return Batch(
        number=told["batchId"],
        started=_epoch(told["timestamp"]),
        duration=parts.get("triggerExecution", told.get("batchDuration", 0) / 1000),
        parts={phase: took for phase, took in parts.items() if phase != "triggerExecution"},
        idle="addBatch" not in parts,
        rows=metrics.get("rows"),
        service=metrics.get("service"),
        service_squared=metrics.get("service_squared"),
        created=tuple(created) if created else None,
        arrived=_rows(sources, "latestOffset"),
        read=_rows(sources, "endOffset"),
        state_rows=sum(state["numRowsTotal"] for state in states) if states else None,
        observed=observed,
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


def latency(batches: Iterable[Batch]) -> Latency | None:
    """From creation to the end of the batch, over all rows of these batches."""
    known = [batch for batch in batches if batch.rows and batch.created is not None]
    if not known:
        return None
    ages = np.concatenate([batch.ended - _spread(batch.created or ()) for batch in known])
    weights = np.repeat([(batch.rows or 0) / len(_GRID) for batch in known], len(_GRID))
    p50, p95, p99 = _weighted_quantiles(ages, weights, (0.50, 0.95, 0.99))
    return Latency(p50=p50, p95=p95, p99=p99)


def mean_parts(batches: Sequence[Batch]) -> dict[str, float] | None:
    """Mean seconds of each phase over these batches."""
    if not batches:
        return None
    phases = sorted({phase for batch in batches for phase in batch.parts})
    return {
        phase: sum(batch.parts.get(phase, 0.0) for batch in batches) / len(batches)
        for phase in phases
    }


def in_flight(tasks: Iterable[RunningTask], now: float) -> dict[str, float]:
    """Seconds that tasks under way have taken so far, by executor."""
    seconds: dict[str, float] = {}
    for task in tasks:
        seconds[task.executor] = seconds.get(task.executor, 0.0) + max(now - task.launched, 0.0)
    return seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """How long each executor has been busy up to a moment, tasks under way included."""

    at: float
    busy: Mapping[str, float]
    active: frozenset[str]
    slots: Mapping[str, int] = field(default_factory=dict)
    """Tasks that each executor runs at a time; one where nothing is said."""

    @classmethod
    def of(
        cls, executors: Iterable[Executor], tasks: Iterable[RunningTask], now: float
    ) -> "Occupancy":
        """What the executors and their tasks amount to."""
        everyone = list(executors)
        under_way = in_flight(tasks, now)
        return cls(
            at=now,
            busy={e.id: e.busy + under_way.get(e.id, 0.0) for e in everyone},
            active=frozenset(e.id for e in everyone if e.active),
            slots={e.id: e.cores for e in everyone if e.cores > 1},
        )

    def share_since(self, before: "Occupancy", members: Iterable[str]) -> float | None:
        """Busy share of these executors' slots since an earlier moment.

        Only executors that were there throughout count: one that has just come has had no time
        to be busy. Where there is none, the answer is unknown.
        """
        stayed = [m for m in members if m in self.active and m in before.active]
        elapsed = self.at - before.at
        if not stayed or elapsed <= 0:
            return None
        busy = sum(self.busy[m] - before.busy.get(m, 0.0) for m in stayed)
        slots = sum(self.slots.get(m, 1) for m in stayed)
        return min(max(busy / (elapsed * slots), 0.0), 1.0)


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


def _epoch(timestamp: str) -> float:
    return datetime.fromisoformat(timestamp).timestamp()


def _rows(sources: Sequence[Mapping[str, Any]], which: str) -> int | None:
    """Rows over all sources of a query; unknown where one of them does not say."""
    counts = [rows_at(source.get(which)) for source in sources]
    known = [rows for rows in counts if rows is not None]
    return sum(known) if known and len(known) == len(sources) else None


def rows_at(offset: object) -> int | None:
    """Rows up to an offset: of a source of ours, or of Kafka over all partitions of its topics.

    Offsets of Kafka rarely begin with 0: only the difference of two tells how many rows there are.

    >>> rows_at({"rows": 7}), rows_at({"lines": {"0": 10, "1": 5}}), rows_at(None)
    (7, 15, None)
    """
    if isinstance(offset, str):  # as other listeners have it
        with suppress(ValueError):
            offset = json.loads(offset)
    if not isinstance(offset, dict):
        return None
    if "rows" in offset and not isinstance(offset["rows"], dict):
        return offset["rows"] if isinstance(offset["rows"], int) else None
    topics = list(offset.values())
    if not topics or not all(isinstance(partitions, dict) for partitions in topics):
        return None
    ends = [end for partitions in topics for end in partitions.values()]
    return sum(ends) if all(isinstance(end, int) for end in ends) else None
