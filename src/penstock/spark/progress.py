"""The parser of Spark's progress events; it needs no pyspark.

A query reports a progress event for each micro-batch. `Batch` is its content in seconds and rows;
what it lacks is None. `spark/rates.py` derives rates, backlog and latency from batches.

Offsets count rows where a source is one of ours or Kafka:

>>> end = {"clicks": {"0": 70, "1": 20}}
>>> rows_at(end), rows_waiting({"endOffset": end, "latestOffset": {"clicks": {"0": 100, "1": 20}}})
(90, 30.0)

Files have numbers of log entries and the rate source has seconds, which are not rows:

>>> rows_at({"logOffset": 7}), rows_at(12), rows_waiting({"endOffset": 12, "latestOffset": 14})
(None, None, None)
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, TypeVar

from penstock.core.signals import ModuleReading

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

METRICS: Final = "penstock"
"""The name of our own metrics in Spark's progress events."""
LEVELS: Final = (0.0, 0.01, *(level / 20 for level in range(1, 20)), 0.99, 1.0)
"""The quantiles at which the rows' creation times are observed."""

_Number = TypeVar("_Number", int, float)
Event = Mapping[str, Any]
"""A progress event as Spark writes it."""
Source = Mapping[str, Any]
"""One of `sources` in a progress event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The content of a progress event, in seconds and rows."""

    number: int
    started: float
    """Seconds since the epoch."""
    duration: float
    parts: Mapping[str, float]
    idle: bool
    """Whether the query had nothing to do."""
    rows: int | None
    """Input rows by our own count; None if the query does not count them."""
    service: float | None
    """Summed service time of the rows."""
    service_squared: float | None
    created: tuple[float, ...] | None
    """Quantiles of the rows' creation times at LEVELS, in seconds since the epoch."""
    arrived: int | None
    """Rows that had arrived by the start of the batch, from the source's latest offset."""
    read: int | None
    """Rows read by the end of the batch, from the source's end offset."""
    state_rows: int | None
    observed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Metrics that operators observed, by name."""
    query: str | None = None
    """The name of the query."""
    input_rows: int = 0
    """Input rows by Spark's count."""
    waiting: float | None = None
    """Rows that had arrived by the start of the batch and were left to the next."""
    sources: tuple[str, ...] = ()
    """Descriptions of the sources."""
    sink: str = ""
    """Description of the sink."""

    @property
    def ended(self) -> float:
        """Seconds since the epoch."""
        return self.started + self.duration


def parse_progress(event: Event) -> Batch:
    """Read a progress event; what it lacks is None.

    >>> batch = parse_progress({
    ...     "batchId": 3, "timestamp": "2026-01-01T00:00:10.000Z", "numInputRows": 40,
    ...     "durationMs": {"addBatch": 600, "triggerExecution": 800},
    ...     "sources": [{"endOffset": {"rows": 90}, "latestOffset": {"rows": 100}}],
    ... })
    >>> batch.input_rows, batch.arrived, batch.waiting, batch.duration
    (40, 100, 10.0, 0.8)
    """
    parts = {phase: ms / 1000 for phase, ms in event.get("durationMs", {}).items()}
    sources = event.get("sources") or []
    observed = event.get("observedMetrics") or {}
    metrics = observed.get(METRICS) or {}
    states = event.get("stateOperators") or []
    created, rows = metrics.get("created"), event.get("numInputRows")
    if rows is None:
        rows = sum(source.get("numInputRows") or 0 for source in sources)
    return Batch(
        number=event["batchId"],
        started=datetime.fromisoformat(event["timestamp"]).timestamp(),
        duration=parts.get("triggerExecution", event.get("batchDuration", 0) / 1000),
        parts={phase: took for phase, took in parts.items() if phase != "triggerExecution"},
        idle="addBatch" not in parts,
        rows=metrics.get("rows"),
        service=metrics.get("service"),
        service_squared=metrics.get("service_squared"),
        created=tuple(created) if created else None,
        arrived=_total([rows_at(source.get("latestOffset")) for source in sources]),
        read=_total([rows_at(source.get("endOffset")) for source in sources]),
        state_rows=sum(state["numRowsTotal"] for state in states) if states else None,
        observed=observed,
        query=event.get("name"),
        input_rows=max(int(rows), 0),
        waiting=_total([rows_waiting(source) for source in sources]),
        sources=tuple(str(source.get("description", "")) for source in sources),
        sink=str((event.get("sink") or {}).get("description", "")),
    )


def parse_line(line: str) -> Batch | None:
    """Parse a line of a recording; None if it is no complete event.

    >>> parse_line('{"name": "count", "durat') is None, parse_line("[]") is None
    (True, True)
    """
    try:
        event = json.loads(line)
        return parse_progress({"batchId": -1, **event})  # older recordings may lack the number
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def rows_at(offset: object) -> int | None:
    """Rows up to an offset: of a source of ours, or of Kafka over all partitions of its topics.

    Offsets of Kafka rarely start at 0: only the difference of two is a number of rows.

    >>> rows_at({"rows": 7}), rows_at({"lines": {"0": 10, "1": 5}}), rows_at(None)
    (7, 15, None)
    """
    offset = _parsed(offset)
    if not isinstance(offset, dict):
        return None
    if "rows" in offset and not isinstance(offset["rows"], dict):
        return offset["rows"] if isinstance(offset["rows"], int) else None
    topics = list(offset.values())
    if not topics or not all(isinstance(partitions, dict) for partitions in topics):
        return None
    ends = [end for partitions in topics for end in partitions.values()]
    return sum(ends) if all(isinstance(end, int) for end in ends) else None


def rows_waiting(source: Source) -> float | None:
    """Rows of a source that have arrived and were not read; by its offsets, else from Kafka's
    metrics: the mean lag of the partitions, or the largest."""
    newest, read = rows_at(source.get("latestOffset")), rows_at(source.get("endOffset"))
    if newest is not None and read is not None:
        return float(max(newest - read, 0))
    metrics = source.get("metrics") or {}
    mean, most = (_number(metrics.get(f"{which}OffsetsBehindLatest")) for which in ("avg", "max"))
    end = _parsed(source.get("endOffset"))
    topics = end.values() if isinstance(end, dict) else ()
    parts = sum(len(topic) for topic in topics if isinstance(topic, dict))
    return mean * parts if mean is not None and parts else most


def _total(counts: Sequence[_Number | None]) -> _Number | None:
    """The sum over all sources of a query; None if one is unknown."""
    known = [rows for rows in counts if rows is not None]
    return sum(known[1:], known[0]) if known and len(known) == len(counts) else None


def _parsed(offset: Any) -> Any:
    """An offset as data; some listeners have it as a string."""
    if not isinstance(offset, str):
        return offset
    try:
        return json.loads(offset)
    except ValueError:
        return None


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if isfinite(number) and number >= 0 else None


@dataclass(slots=True, kw_only=True)
class WatchedQuery:
    """A module's query, and which of its progress events have been read."""

    module: str
    query: "StreamingQuery"
    arrived: Callable[[], int | None] | None = None
    """Rows that have arrived by now, from the source itself; None if unknown."""
    base: int = 0
    """Rows before the start of the run, if the source counts those too."""
    on_batch: Callable[[Batch], None] = lambda batch: None  # noqa: ARG005
    """Called with every progress event, once."""
    measured: Callable[[ModuleReading, Sequence[Batch]], Mapping[str, Any]] = lambda *_: {}
    """Further fields of the reading of a step, given the reading and the progress events."""
    _seen: tuple[int, str] = (-1, "")

    def newest(self) -> str | None:
        """The timestamp of the newest progress event; called often, so it makes two calls only."""
        last = self._jvm_query().lastProgress()
        return None if last is None else str(last.timestamp())

    def read(self) -> int:
        """Rows that the query's last batch ended with."""
        last = self._jvm_query().lastProgress()
        return (self._parse(json.loads(last.json())).read or 0) if last else 0

    def collect(self) -> list[tuple[Batch, str]]:
        """The progress events since the last call, with their JSON."""
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

    def _parse(self, event: Event) -> Batch:
        batch = parse_progress(event)
        return replace(batch, arrived=self._own(batch.arrived), read=self._own(batch.read))

    def _own(self, rows: int | None) -> int | None:
        """Rows of this run."""
        return None if rows is None else max(rows - self.base, 0)

    def _jvm_query(self) -> Any:
        return self.query._jsq
