"""The streaming queries of a session: who runs, who feeds whom, and what each has told.

Rows in the offsets of a source, where they can be counted: those of Kafka, and of our own.

>>> end = {"clicks": {"0": 70, "1": 20}}
>>> counted(end), waiting({"endOffset": end, "latestOffset": {"clicks": {"0": 100, "1": 20}}})
(90, 30.0)

Files have numbers of log entries and the rate source has seconds, which are not rows:

>>> counted({"logOffset": 7}), counted(12), waiting({"endOffset": 12, "latestOffset": 14})
(None, None, None)

How old rows are at the end of their batch: an estimate, because foreign rows carry no date.

Rows of a batch came after the query had last looked for some, which it does at the start of every
batch, and at every trigger while there are none. At the end of the batch they are as old as it
took, and up to the time since that look more. Where rows wait in the source, all are older by the
time that those take.

Which query feeds which: the place that one writes is a place that another reads.

>>> sorted(places("FileSink[file:/data/out]") | places("KafkaV2[Subscribe[clicks, views]]"))
['kafka:clicks', 'kafka:views', 'path:/data/out']
>>> first = Ends(reads=frozenset(), writes=places("FileSink[file:/data/out]"))
>>> second = Ends(reads=places("FileStreamSource[file:/data/out]"), writes=frozenset())
>>> feeds({"clean": first, "count": second})
{'clean': ('count',), 'count': ()}
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import isfinite
from posixpath import normpath
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.core.signals import Latency, ModuleReading, worst
from penstock.spark import progress as monitor
from penstock.spark.backend import Foreign
from penstock.spark.plant import Watched
from penstock.spark.progress import LEVELS, Batch
from penstock.spark.session import first_line

Source = Mapping[str, Any]
"""One of `sources` in a progress event."""


def counted(offset: Any) -> int | None:
    """Rows that had come by an offset; None where it does not count rows."""
    told = _parsed(offset)
    if not isinstance(told, dict):
        return None
    if isinstance(told.get("rows"), int):
        return int(told["rows"])
    parts = [part for topic in told.values() if isinstance(topic, dict) for part in topic.values()]
    topics_only = bool(told) and all(isinstance(topic, dict) for topic in told.values())
    if not topics_only or not all(isinstance(part, int) for part in parts):
        return None
    return sum(int(part) for part in parts)


def waiting(source: Source) -> float | None:
    """Rows of a source that have come and have not been read."""
    newest, read = counted(source.get("latestOffset")), counted(source.get("endOffset"))
    if newest is not None and read is not None:
        return float(max(newest - read, 0))
    return _behind(source)


def all_waiting(sources: Sequence[Source]) -> float | None:
    """Rows over all sources of a query; unknown where one of them does not tell."""
    told = [waiting(source) for source in sources]
    known = [rows for rows in told if rows is not None]
    return sum(known) if known and len(known) == len(told) else None


def all_arrived(sources: Sequence[Source]) -> int | None:
    """Rows that had come to all sources of a query; unknown where one of them does not tell."""
    told = [counted(source.get("latestOffset")) for source in sources]
    known = [rows for rows in told if rows is not None]
    return sum(known) if known and len(known) == len(told) else None


def _behind(source: Source) -> float | None:
    """What Kafka's own metrics say: the mean over the partitions, else the one furthest behind."""
    metrics = source.get("metrics") or {}
    mean, most = (_number(metrics.get(f"{which}OffsetsBehindLatest")) for which in ("avg", "max"))
    read = _parsed(source.get("endOffset"))
    topics = read.values() if isinstance(read, dict) else ()
    parts = sum(len(topic) for topic in topics if isinstance(topic, dict))
    return mean * parts if mean is not None and parts else most


def _parsed(offset: Any) -> Any:
    if not isinstance(offset, str):
        return offset
    try:
        return json.loads(offset)
    except ValueError:
        return None


def _number(told: Any) -> float | None:
    try:
        number = float(told)
    except (TypeError, ValueError):
        return None
    return number if isfinite(number) and number >= 0 else None


_AT_ONCE: Final = 0.1
"""Seconds between two batches that follow each other without a pause."""


def estimate(
    batches: Sequence[Batch],
    *,
    before: Batch | None = None,
    trigger: float | None = None,
    waits: float = 0.0,
) -> Latency | None:
    """Ages of the rows of these batches at the end of each; None where no row came.

    `before` is the batch before the first, `trigger` the seconds between two triggers, 0 where a
    query looks for rows all the time. `waits` are the seconds that rows spent in the source.

    >>> every = {"parts": {}, "idle": False, "service": None, "service_squared": None}
    >>> every |= {"created": None, "arrived": None, "read": None, "state_rows": None}
    >>> two = [Batch(number=n, started=10.0 * n, duration=4.0, rows=50, **every) for n in (1, 2)]
    >>> round(estimate(two, before=two[0], trigger=10.0).p95), round(estimate(two, trigger=0.0).p95)
    (13, 4)
    """
    if not batches:
        return None
    pairs = pairwise([before or batches[0], *batches])
    dated = [_dated(own, gap(last, own, trigger), waits) for last, own in pairs]
    return monitor.latency([batch for batch in dated if batch.rows])


def gap(last: Batch, own: Batch, trigger: float | None) -> float:
    """Seconds since a query had looked for rows, when it began a batch."""
    since = max(own.started - last.started, 0.0)
    if trigger is None or own.started - last.ended <= trigger + _AT_ONCE:
        return since
    return trigger  # it was idle, and looked at every trigger


def _dated(batch: Batch, since: float, waits: float) -> Batch:
    first = batch.started - waits - since
    return replace(batch, created=tuple(first + since * level for level in LEVELS))


def end_to_end(
    latencies: Mapping[str, Latency | None], feeds: Mapping[str, Sequence[str]]
) -> Latency | None:
    """The worst way through the queries: rows that pass several add up their times in each.

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
    """From a query to the end of the worst way from it; a circle is gone round once."""
    here = passed | {name}
    ways = [target for target in feeds.get(name, ()) if target not in here]
    after = worst(_onwards(way, latencies, feeds, here) for way in ways if way in latencies)
    return _added([latencies[name], after])


def _added(parts: Iterable[Latency | None]) -> Latency | None:
    known = [part for part in parts if part is not None]
    if not known:
        return None
    return Latency(
        p50=sum(part.p50 for part in known),
        p95=sum(part.p95 for part in known),
        p99=sum(part.p99 for part in known),
    )


# What one streaming query tells of itself, step by step, from its progress events alone.


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
        arrived=all_arrived(sources),
        waiting=all_waiting(sources),
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
        return estimate(batches, before=before, trigger=self.trigger, waits=waits)


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


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


def path(told: str) -> str:
    """One spelling of a folder.

    >>> path("file:///data//out/"), path("s3a://bucket/out")
    ('path:/data/out', 'path:s3a://bucket/out')
    """
    scheme, colon, rest = told.partition(":")
    if not colon or scheme == "file":
        return f"path:{normpath('/' + (rest if colon else told).strip('/'))}"
    return f"path:{scheme}://{rest.strip('/')}"


def written(options: Mapping[str, str], table: str | None = None) -> Places:
    """Where the plan of a query says that its rows go.

    >>> sorted(written({"topic": "clean", "checkpointLocation": "/c"}, "spark_catalog.default.t"))
    ['kafka:clean', 'table:spark_catalog.default.t']
    """
    told = {key.lower(): value for key, value in options.items()}
    found = [
        *([f"kafka:{told['topic']}"] if "topic" in told else ()),
        *([path(told["path"])] if "path" in told else ()),
        *([f"table:{table}"] if table else ()),
    ]
    return frozenset(found)


def ends(progress: Mapping[str, Any], also: Places = frozenset()) -> Ends:
    """Both ends of a query, from its progress and from what else is known of its sink."""
    sources = [str(source.get("description", "")) for source in progress.get("sources") or []]
    sink = str((progress.get("sink") or {}).get("description", ""))
    return Ends(
        reads=frozenset().union(*(places(source) for source in sources)),
        writes=places(sink) | also,
    )


def feeds(queries: Mapping[str, Ends]) -> dict[str, tuple[str, ...]]:
    """By query, those that read what it writes, itself apart."""
    return {
        name: tuple(
            other
            for other, told in queries.items()
            if other != name and told.reads & ends_of.writes
        )
        for name, ends_of in queries.items()
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
    watched: Watched
    reader: QueryReader = field(default_factory=QueryReader)
    ends: Ends | None = None
    """None before it told its first progress."""
    fresh: ModuleReading = field(default_factory=ModuleReading)
    """What it told in the newest step."""
    last: ModuleReading = field(default_factory=ModuleReading)
    """What it told last, step by step filled in."""
    told_at: float | None = None
    """When it told something."""


@dataclass(slots=True)
class Queries:
    """Those of one session, looked for anew in every step."""

    spark: SparkSession
    foreign: Foreign
    say: Callable[[str], None]
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
            self.say(f"query {gone.name} has ended{_why(gone.query)}")
        for run in started:
            self.running[run] = self._meet(run, active[run])
            self.say(f"query {self.running[run].name} is watched")
        return bool(started)

    def read(self, at: float, *, slots: float, since: float) -> bool:
        """Take in what the queries have told; True where one of them told something."""
        told = False
        for running in self.running.values():
            try:
                told |= self._read(running, at, slots, since)
            except Py4JError:
                if running.query.isActive:  # else it died between two calls, which look() tells
                    raise
        return told

    def feeds(self) -> dict[str, tuple[str, ...]]:
        """By query, those that read what it writes."""
        nothing = Ends(reads=frozenset(), writes=frozenset())
        known = tuple(self.running.values())  # others ask while a step takes place
        return feeds({each.name: each.ends or nothing for each in known})

    def _meet(self, run: str, query: StreamingQuery) -> Running:
        name = query.name or f"query-{str(query.id)[:8]}"
        taken = {each.name for each in self.running.values()}
        name = name if name not in taken else f"{name}-{run[:8]}"
        return Running(name=name, run=run, query=query, watched=Watched(module=name, query=query))

    def _read(self, running: Running, at: float, slots: float, since: float) -> bool:
        events: list[Event] = []
        for _, text in running.watched.collect():
            told = json.loads(text)
            event = read_event(told)
            if event.batch.ended >= since:
                events.append(event)
                self.on_progress(text)
            if running.ends is None:
                self._link(running, told)
        cost = self._service_time(running, events, slots)
        running.fresh = running.reader.advance(events, cost)
        running.last = filled(running.fresh, running.last)
        if not events:
            return False
        running.told_at = at
        # rows that came earlier are no older now: a batch without rows has no latency
        running.last = replace(running.last, latency=running.fresh.latency)
        return True

    def _link(self, running: Running, told: dict[str, object]) -> None:
        """Where rows of a query come from and go; the plan tells more than the progress."""
        running.ends = ends(told)
        try:
            plan = self.foreign.plan(running.query)
        except Py4JError:
            return  # what the progress says has to do
        running.reader.trigger = plan.trigger
        running.ends = ends(told, written(plan.options, plan.table))

    def _service_time(
        self, running: Running, events: Sequence[Event], slots: float
    ) -> float | None:
        """Seconds of one executor for a row, from the newest batches of a step."""
        sampled = [event for event in events if event.rows][-_SAMPLED:]
        rows = sum(event.rows for event in sampled)
        if not rows:
            return None
        batches = {event.batch.number for event in sampled}
        took = self.foreign.seconds_of(running.run, batches)
        return None if took is None else took / rows / max(slots, 1.0)


def filled(fresh: ModuleReading, before: ModuleReading) -> ModuleReading:
    """A reading whose gaps are filled with what was told before.

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
