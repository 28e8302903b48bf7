"""The streaming queries of a session: which run, which feeds which, and what each reported.

A query feeds another that reads from the location it writes to:

>>> sorted(locations("FileSink[file:/data/out]") | locations("KafkaV2[Subscribe[clicks, views]]"))
['kafka:clicks', 'kafka:views', 'path:/data/out']
>>> first = Endpoints(reads=frozenset(), writes=locations("FileSink[file:/data/out]"))
>>> second = Endpoints(reads=locations("FileStreamSource[file:/data/out]"), writes=frozenset())
>>> feeds({"clean": first, "count": second})
{'clean': ('count',), 'count': ()}
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from posixpath import normpath
from typing import Final

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.core.errors import first_line
from penstock.core.signals import ModuleReading
from penstock.spark.backend import Backend
from penstock.spark.progress import Batch, WatchedQuery
from penstock.spark.rates import QueryRates, reading_of

_FILE: Final = re.compile(r"(?:FileSink|FileStreamSource|DeltaSink|DeltaSource)\[(.*)\]$")
_KAFKA: Final = re.compile(r"Kafka\w*\[Subscribe\[(.*?)\]\]")
_ICEBERG: Final = re.compile(r"(?:Iceberg\w*|Delta\w*Table)[(\[](.*?)[)\]]")

Locations = frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """The locations that a query reads from and writes to."""

    reads: Locations
    writes: Locations


def locations(description: str) -> Locations:
    """The locations in the description of a source or sink in a progress event, if any.

    >>> locations("ForeachBatchSink"), locations("RateStreamV2[rowsPerSecond=5")
    (frozenset(), frozenset())
    """
    if match := _FILE.match(description):
        return frozenset({path(match[1])})
    if match := _KAFKA.match(description):
        return frozenset(f"kafka:{topic.strip()}" for topic in match[1].split(","))
    if match := _ICEBERG.match(description):
        return frozenset({f"table:{match[1]}"})
    return frozenset()


def path(folder: str) -> str:
    """The canonical path of a folder.

    >>> path("file:///data//out/"), path("s3a://bucket/out")
    ('path:/data/out', 'path:s3a://bucket/out')
    """
    scheme, colon, rest = folder.partition(":")
    if not colon or scheme == "file":
        return f"path:{normpath('/' + (rest if colon else folder).strip('/'))}"
    return f"path:{scheme}://{rest.strip('/')}"


def written(options: Mapping[str, str], table: str | None = None) -> Locations:
    """The locations that a query writes to, from its plan.

    >>> sorted(written({"topic": "clean", "checkpointLocation": "/c"}, "spark_catalog.default.t"))
    ['kafka:clean', 'table:spark_catalog.default.t']
    """
    known = {key.lower(): value for key, value in options.items()}
    return frozenset(
        [
            *([f"kafka:{known['topic']}"] if "topic" in known else ()),
            *([path(known["path"])] if "path" in known else ()),
            *([f"table:{table}"] if table else ()),
        ]
    )


def ends(batch: Batch, also: Locations = frozenset()) -> Endpoints:
    """Both ends of a query, from its progress and its plan."""
    return Endpoints(
        reads=frozenset().union(*(locations(source) for source in batch.sources)),
        writes=locations(batch.sink) | also,
    )


def feeds(queries: Mapping[str, Endpoints]) -> dict[str, tuple[str, ...]]:
    """By query, the others that read what it writes."""
    return {
        name: tuple(
            other
            for other, others in queries.items()
            if other != name and others.reads & own.writes
        )
        for name, own in queries.items()
    }


_SAMPLED = 5
"""Batches of a step whose jobs are read."""


@dataclass(slots=True, kw_only=True)
class RunningQuery:
    """A running query and its state."""

    name: str
    run: str
    """The id of this run; a restarted query has another."""
    query: StreamingQuery
    watched: WatchedQuery
    rates: QueryRates = field(default_factory=QueryRates)
    ends: Endpoints | None = None
    """None before its first progress event."""
    fresh: ModuleReading = field(default_factory=ModuleReading)
    """What it reported in the newest step."""
    last: ModuleReading = field(default_factory=ModuleReading)
    """What it reported last, over several steps."""
    reported_at: float | None = None
    """Time of its last report."""


@dataclass(slots=True)
class Queries:
    """The queries of one session, listed in every step."""

    spark: SparkSession
    backend: Backend
    log: Callable[[str], None]
    on_progress: Callable[[str], None] = lambda text: None  # noqa: ARG005
    running: dict[str, RunningQuery] = field(default_factory=dict)
    """By the id of their run."""

    def refresh(self) -> bool:
        """Add queries that have started, drop those that have ended; True if one has started."""
        active = {str(query.runId): query for query in self.spark.streams.active}
        started = [run for run in active if run not in self.running]
        ended = [run for run in self.running if run not in active]
        for run in ended:
            gone = self.running.pop(run)
            self.log(f"query {gone.name} has ended{_why(gone.query)}")
        for run in started:
            self.running[run] = self._add(run, active[run])
            self.log(f"query {self.running[run].name} is watched")
        return bool(started)

    def read(self, at: float, *, slots: float, since: float) -> bool:
        """Read the queries' progress; True if one of them reported."""
        reported = False
        for running in self.running.values():
            try:
                reported |= self._read(running, at, slots, since)
            except Py4JError:
                if running.query.isActive:  # else it ended, which refresh() notices
                    raise
        return reported

    def feeds(self) -> dict[str, tuple[str, ...]]:
        """By query, those that read what it writes."""
        nothing = Endpoints(reads=frozenset(), writes=frozenset())
        known = tuple(self.running.values())  # may be called from another thread
        return feeds({each.name: each.ends or nothing for each in known})

    def _add(self, run: str, query: StreamingQuery) -> RunningQuery:
        name = query.name or f"query-{str(query.id)[:8]}"
        taken = {each.name for each in self.running.values()}
        name = name if name not in taken else f"{name}-{run[:8]}"
        return RunningQuery(
            name=name, run=run, query=query, watched=WatchedQuery(module=name, query=query)
        )

    def _read(self, running: RunningQuery, at: float, slots: float, since: float) -> bool:
        collected = running.watched.collect()
        if collected and running.ends is None:
            self._link(running, collected[0][0])
        fresh = [(batch, text) for batch, text in collected if batch.ended >= since]
        for _, text in fresh:
            self.on_progress(text)
        events = [batch for batch, _ in fresh]
        cost = self._service_time(running, events, slots)
        rates = running.rates.from_events(events)
        running.fresh = reading_of(events, rates, service_time=cost)
        running.last = filled(running.fresh, running.last)
        if not events:
            return False
        running.reported_at = at
        # a batch without rows has no latency
        running.last = replace(running.last, latency=running.fresh.latency)
        return True

    def _link(self, running: RunningQuery, batch: Batch) -> None:
        """Set both ends of a query; its plan says more than its progress."""
        running.ends = ends(batch)
        try:
            plan = self.backend.plan(running.query)
        except Py4JError:
            return  # only the progress is known
        running.rates.trigger = plan.trigger
        running.ends = ends(batch, written(plan.options, plan.table))

    def _service_time(
        self, running: RunningQuery, events: Sequence[Batch], slots: float
    ) -> float | None:
        """Seconds of one executor for a row, from the newest batches of a step."""
        sampled = [batch for batch in events if batch.input_rows][-_SAMPLED:]
        rows = sum(batch.input_rows for batch in sampled)
        if not rows:
            return None
        took = self.backend.executor_seconds(running.run, {batch.number for batch in sampled})
        return None if took is None else took / rows / max(slots, 1.0)


def filled(fresh: ModuleReading, before: ModuleReading) -> ModuleReading:
    """A reading with gaps filled from an earlier one.

    >>> now, then = ModuleReading(backlog=5.0), ModuleReading(backlog=9.0, arrival_rate=2.0)
    >>> filled(now, then).backlog, filled(now, then).arrival_rate
    (5.0, 2.0)
    """
    known = ModuleReading.__dataclass_fields__
    gaps = {name: getattr(before, name) for name in known if getattr(fresh, name) is None}
    return replace(fresh, **gaps)


def _why(query: StreamingQuery) -> str:
    try:
        error = query.exception()
    except Py4JError:
        return ""
    return f": {cause(error)}" if error is not None else ""


def cause(error: Exception) -> str:
    """Why a query failed: the last error in the text, else its first line.

    >>> cause(ValueError("Job aborted\\n  File 'job.py'\\nKeyError: 'user'\\nSQLSTATE: 38000"))
    "KeyError: 'user'"
    """
    named = re.findall(r"^(?:\w+\.)*\w*(?:Error|Exception): .+$", str(error), re.MULTILINE)
    return str(named[-1]).strip() if named else first_line(error)
