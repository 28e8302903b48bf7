"""The streaming queries of a session: who runs, who feeds whom, and what each has told."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.attaching import links
from penstock.attaching.links import Ends
from penstock.attaching.queries import Event, QueryReader, read_event
from penstock.core.signals import ModuleReading
from penstock.plant.spark.foreign import Foreign
from penstock.plant.spark.plant import Watched
from penstock.plant.spark.session import first_line

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
        return links.feeds({each.name: each.ends or nothing for each in known})

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
        running.ends = links.ends(told)
        try:
            plan = self.foreign.plan(running.query)
        except Py4JError:
            return  # what the progress says has to do
        running.reader.trigger = plan.trigger
        running.ends = links.ends(told, links.written(plan.options, plan.table))

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
