"""What one streaming query tells of itself, step by step, from its progress events alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.attaching import latency, offsets
from penstock.core.signals import Latency, ModuleReading
from penstock.plant.spark import monitor
from penstock.plant.spark.monitor import Batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A progress event: the batch that it tells of, and what its sources said."""

    batch: Batch
    """Its `rows` are those that the sources handed over."""
    arrived: int | None
    """Rows that had come when the batch began, where the sources count them."""
    waiting: float | None
    """Rows that had come and that the batch left for the next."""

    @property
    def rows(self) -> int:
        """Rows taken in."""
        return self.batch.rows or 0


def read_event(told: Mapping[str, Any]) -> Event:
    """A progress event as Spark tells it.

    >>> seen = read_event({
    ...     "batchId": 3, "timestamp": "2026-01-01T00:00:10.000Z", "numInputRows": 40,
    ...     "durationMs": {"addBatch": 600, "triggerExecution": 800},
    ...     "sources": [{"endOffset": {"rows": 90}, "latestOffset": {"rows": 100}}],
    ... })
    >>> seen.rows, seen.arrived, seen.waiting, seen.batch.duration
    (40, 100, 10.0, 0.8)
    """
    sources = told.get("sources") or []
    rows = told.get("numInputRows")
    if rows is None:
        rows = sum(source.get("numInputRows") or 0 for source in sources)
    batch = replace(monitor.parse_progress(told), rows=max(int(rows), 0))
    return Event(
        batch=batch,
        arrived=offsets.all_arrived(sources),
        waiting=offsets.all_waiting(sources),
    )


@dataclass(slots=True)
class QueryReader:
    """Rates of a query between its events; each starts where the last one ended."""

    trigger: float | None = None
    """Seconds between two triggers, 0 where there is no pause; None where that is unknown."""
    _last: Event | None = None
    """The newest event of the steps before."""

    def advance(self, events: Sequence[Event], service_time: float | None) -> ModuleReading:
        """What a step brought; figures that no event brought are None."""
        if not events:
            return ModuleReading()
        batches = [event.batch for event in events if not event.batch.idle]
        processed = self._processed(events)
        backlog = events[-1].waiting
        reading = ModuleReading(
            arrival_rate=self._arrival(events),
            processed_rate=processed,
            backlog=backlog,
            service_time=service_time,
            batch_duration=_mean([batch.duration for batch in batches]),
            batch_parts=monitor.mean_parts(batches),
            latency=self._latency(events, backlog, processed),
            state_rows=events[-1].batch.state_rows,
        )
        self._last = events[-1]
        return reading

    def _processed(self, events: Sequence[Event]) -> float | None:
        """Rows finished, over the time since the event before."""
        last = self._before(events)
        begin = events[0].batch.started if last is None else last.batch.ended
        span = events[-1].batch.ended - begin
        return sum(event.rows for event in events) / span if span > 0 else None

    def _arrival(self, events: Sequence[Event]) -> float | None:
        """By what the sources had by the start of each batch, else by the rows that came between
        two starts: those are what a batch found."""
        first = self._before(events) or events[0]
        span = events[-1].batch.started - first.batch.started
        if span <= 0:
            return None
        if first.arrived is not None and events[-1].arrived is not None:
            return max(events[-1].arrived - first.arrived, 0) / span
        return sum(event.rows for event in events if event is not first) / span

    def _before(self, events: Sequence[Event]) -> Event | None:
        """The event before these; None where Spark has forgotten some in between."""
        last = self._last
        return last if last and events[0].batch.number <= last.batch.number + 1 else None

    def _latency(
        self, events: Sequence[Event], backlog: float | None, processed: float | None
    ) -> Latency | None:
        last = self._before(events)
        before = None if last is None else last.batch
        waits = backlog / processed if backlog and processed else 0.0
        batches = [event.batch for event in events]
        return latency.estimate(batches, before=before, trigger=self.trigger, waits=waits)


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
