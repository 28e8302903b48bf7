"""The streaming queries of a session: which run, which feeds which, and what each reported.

A query feeds another where the place that it writes is a place that the other reads:

>>> sorted(places("FileSink[file:/data/out]") | places("KafkaV2[Subscribe[clicks, views]]"))
['kafka:clicks', 'kafka:views', 'path:/data/out']
>>> first = Ends(reads=frozenset(), writes=places("FileSink[file:/data/out]"))
>>> second = Ends(reads=places("FileStreamSource[file:/data/out]"), writes=frozenset())
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
from penstock.spark.backend import ExternalBackend
from penstock.spark.progress import Batch, WatchedQuery
from penstock.spark.rates import QueryRates, reading_of

_FILE: Final = re.compile(r"(?:FileSink|FileStreamSource|DeltaSink|DeltaSource)\[(.*)\]$")
_KAFKA: Final = re.compile(r"Kafka\w*\[Subscribe\[(.*?)\]\]")
_ICEBERG: Final = re.compile(r"(?:Iceberg\w*|Delta\w*Table)[(\[](.*?)[)\]]")

Places = frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """Where the rows of a query come from, and where they go."""

    reads: Places
    writes: Places


def places(description: str) -> Places:
    """What a source or sink says of itself in a progress event; nothing where it does not tell.

    >>> places("ForeachBatchSink"), places("RateStreamV2[rowsPerSecond=5")
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
    """One spelling of a folder.

    >>> path("file:///data//out/"), path("s3a://bucket/out")
    ('path:/data/out', 'path:s3a://bucket/out')
    """
    scheme, colon, rest = folder.partition(":")
    if not colon or scheme == "file":
        return f"path:{normpath('/' + (rest if colon else folder).strip('/'))}"
    return f"path:{scheme}://{rest.strip('/')}"


def written(options: Mapping[str, str], table: str | None = None) -> Places:
    """Where the plan of a query says that its rows go.

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


def ends(batch: Batch, also: Places = frozenset()) -> Ends:
    """Both ends of a query, from its progress and from what else is known of its sink."""
    return Ends(
        reads=frozenset().union(*(places(source) for source in batch.sources)),
        writes=places(batch.sink) | also,
    )


def feeds(queries: Mapping[str, Ends]) -> dict[str, tuple[str, ...]]:
    """By query, those that read what it writes, itself apart."""
    return {
        name: tuple(
            other
            for other, others in queries.items()
            if other != name and others.reads & own.writes
        )
        for name, own in queries.items()
    }


_SAMPLED = 5
"""Batches of a step whose jobs are looked at."""


@dataclass(slots=True, kw_only=True)
class Running:
    """A query that runs, and what is known of it."""

    name: str
    run: str
    """The id of this run of it; a query that is started again has another."""
    query: StreamingQuery
    watched: WatchedQuery
    rates: QueryRates = field(default_factory=QueryRates)
    ends: Ends | None = None
    """None before its first progress event."""
    fresh: ModuleReading = field(default_factory=ModuleReading)
    """What it reported in the newest step."""
    last: ModuleReading = field(default_factory=ModuleReading)
    """What it reported last, step by step filled in."""
    reported_at: float | None = None
    """When it last reported something."""


@dataclass(slots=True)
class Queries:
    """Those of one session, looked for anew in every step."""

    spark: SparkSession
    external: ExternalBackend
    log: Callable[[str], None]
    on_progress: Callable[[str], None] = lambda text: None  # noqa: ARG005
    running: dict[str, Running] = field(default_factory=dict)
    """By the id of their run."""

    def look(self) -> bool:
        """Notice queries that have started or ended; True where one has started."""
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
        """Take in what the queries reported; True where one of them reported something."""
        reported = False
        for running in self.running.values():
            try:
                reported |= self._read(running, at, slots, since)
            except Py4JError:
                if running.query.isActive:  # else it died between two calls, which look() notices
                    raise
        return reported

    def feeds(self) -> dict[str, tuple[str, ...]]:
        """By query, those that read what it writes."""
        nothing = Ends(reads=frozenset(), writes=frozenset())
        known = tuple(self.running.values())  # others ask while a step takes place
        return feeds({each.name: each.ends or nothing for each in known})

    def _add(self, run: str, query: StreamingQuery) -> Running:
        name = query.name or f"query-{str(query.id)[:8]}"
        taken = {each.name for each in self.running.values()}
        name = name if name not in taken else f"{name}-{run[:8]}"
        return Running(
            name=name, run=run, query=query, watched=WatchedQuery(module=name, query=query)
        )

    def _read(self, running: Running, at: float, slots: float, since: float) -> bool:
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
        # rows that came earlier are no older now: a batch without rows has no latency
        running.last = replace(running.last, latency=running.fresh.latency)
        return True

    def _link(self, running: Running, batch: Batch) -> None:
        """Where rows of a query come from and go; the plan says more than the progress."""
        running.ends = ends(batch)
        try:
            plan = self.external.plan(running.query)
        except Py4JError:
            return  # what the progress says has to do
        running.rates.trigger = plan.trigger
        running.ends = ends(batch, written(plan.options, plan.table))

    def _service_time(
        self, running: Running, events: Sequence[Batch], slots: float
    ) -> float | None:
        """Seconds of one executor for a row, from the newest batches of a step."""
        sampled = [batch for batch in events if batch.input_rows][-_SAMPLED:]
        rows = sum(batch.input_rows for batch in sampled)
        if not rows:
            return None
        took = self.external.executor_seconds(running.run, {batch.number for batch in sampled})
        return None if took is None else took / rows / max(slots, 1.0)


def filled(fresh: ModuleReading, before: ModuleReading) -> ModuleReading:
    """A reading whose gaps are filled with what was reported before.

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
    """What a query died of: the last error that its text names, else its first line.

    >>> cause(ValueError("Job aborted\\n  File 'job.py'\\nKeyError: 'user'\\nSQLSTATE: 38000"))
    "KeyError: 'user'"
    """
    named = re.findall(r"^(?:\w+\.)*\w*(?:Error|Exception): .+$", str(error), re.MULTILINE)
    return str(named[-1]).strip() if named else first_line(error)
