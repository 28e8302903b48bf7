"""A run folder as what the page draws, kept up to date for every request.

`Feed` follows the folder, `Board` holds what one run has come to. A tick is a row of numbers: a
JSON list made once, when its tick comes, and sent unchanged afterwards. Columns are only ever
added, so a row shorter than the list of columns lacks the last ones.
"""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, Final, Self

from penstock.core.errors import FileError
from penstock.core.signals import ModuleReading, Tick
from penstock.dashboard.metrics import MetricsState, forecast, one, render, text
from penstock.record.codec import plain
from penstock.record.folder import is_going_on
from penstock.record.load import Follower, News
from penstock.record.running import RunningSummary
from penstock.record.settings import RunSettings
from penstock.record.summary import Summary
from penstock.report.decisions import Decisions
from penstock.report.words import paragraph, subtitle, title

Column = tuple[str, str, str]
"""What it is of (`run`, `module` or `query`), the name of that, and the measure."""

_READ: Final = ("arrival_rate", "processed_rate", "backlog", "utilisation", "batch_duration")
_COUNTED: Final = ("wanted", "requested", "running")


class Columns:
    """The columns that have come up, and each tick as a row of them."""

    def __init__(self) -> None:
        self.names: list[Column] = []
        self._place: dict[Column, int] = {}

    def row(self, tick: Tick, running: RunningSummary) -> str:
        """A tick as a JSON list; what is unknown is null."""
        values = dict(_values(tick, running))
        for column in [name for name in values if name not in self._place]:
            self._place[column] = len(self.names)
            self.names.append(column)
        return f"[{','.join(_short(values.get(column)) for column in self.names)}]"


def _values(tick: Tick, running: RunningSummary) -> Iterator[tuple[Column, float | None]]:
    seen, latency = tick.seen, tick.seen.latency
    yield ("run", "", "at"), seen.at
    yield ("run", "", "step"), seen.step
    for quantile in ("p50", "p95", "p99"):
        yield ("run", "", quantile), getattr(latency, quantile) if latency else None
    yield ("run", "", "pool"), seen.pool
    yield ("run", "", "watts"), seen.power.watts if seen.power else None
    yield ("run", "", "cost"), running.cost
    yield ("run", "", "joules"), running.joules
    yield ("run", "", "executor_seconds"), running.executor_seconds
    for name, reading in seen.modules.items():
        yield from _reading("module", name, reading)
        for state in _COUNTED:
            yield ("module", name, state), getattr(reading, state)
        yield ("module", name, "forecast"), forecast(tick, name)
    for name, reading in seen.queries.items():
        yield from _reading("query", name, reading)


def _reading(of: str, name: str, reading: ModuleReading) -> Iterator[tuple[Column, float | None]]:
    for measure in _READ:
        yield (of, name, measure), getattr(reading, measure)


def _short(value: float | None) -> str:
    """A number in JSON, as exact as a pixel asks for.

    >>> _short(0.1234567891), _short(86400.25), _short(None), _short(float("nan"))
    ('0.1234568', '86400.25', 'null', 'null')
    """
    return "null" if value is None or not isfinite(value) else f"{value:.7g}"


# How the queries of an application that was attached to feed each other.


def links(file: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Pairs of queries, the first feeding the second, from `queries` of the settings.

    >>> links({"queries": [{"name": "parse", "feeds": ["count", "store"]}, {"name": "count"}]})
    (('parse', 'count'), ('parse', 'store'))
    >>> links({"queries": "none"})
    ()
    """
    queries = file.get("queries")
    return tuple(_links(queries)) if isinstance(queries, list | tuple) else ()


def _links(queries: list[object] | tuple[object, ...]) -> Iterator[tuple[str, str]]:
    for query in queries:
        if not isinstance(query, Mapping) or not isinstance(query.get("feeds"), list | tuple):
            continue
        for fed in query["feeds"]:
            yield str(query.get("name")), str(fed)


# All that the page shows of one run, as JSON texts made once and sent to every client.


_BATCH: Final = 5_000
"""Ticks in one event at most: more would keep a phone from drawing."""


class Board:
    """One run: ticks go in, what the page asks for comes out."""

    def __init__(self, settings: RunSettings, key: str) -> None:
        self.key = key
        self.state = MetricsState.of(settings)
        self.rows: list[str] = []
        self._settings = settings
        self._columns = Columns()
        self._decisions = Decisions(dry=settings.dry)
        self._summary: Summary | None = None

    def add(self, tick: Tick) -> None:
        """One more tick."""
        act = self.state.add(tick)
        self.rows.append(self._columns.row(tick, self.state.running))
        self._decisions.add(tick, act, len(self.rows))

    def finish(self, summary: Summary) -> None:
        """The run has ended."""
        self._summary = summary

    def whole(self, status: dict[str, Any]) -> str:
        """`/run.json`: the settings that matter and every tick until now."""
        return self._written({"settings": self._about()}, 0, len(self.rows), status, True)

    def batch(self, after: int, status: dict[str, Any], *, columns: bool) -> tuple[str, int]:
        """What is new after that many ticks, and how many there are with it."""
        until = min(after + _BATCH, len(self.rows))
        return self._written({}, after, until, status, columns), until

    def width(self) -> int:
        """How many columns there are by now."""
        return len(self._columns.names)

    def _written(
        self, more: dict[str, Any], after: int, until: int, status: dict[str, Any], columns: bool
    ) -> str:
        message = {
            "run": self.key,
            "after": after,
            "now": {**status, **self._now()},
            "decisions": self._decisions.since(after),
            **({"columns": self._columns.names} if columns else {}),
            **more,
        }
        rows = ",".join(self.rows[after:until])
        return f'{json.dumps(plain(message), separators=(",", ":"))[:-1]},"rows":[{rows}]}}'

    def _now(self) -> dict[str, Any]:
        running = self.state.running
        return {
            "cost": running.cost,
            "joules": running.joules,
            "origin": running.energy.origin if running.energy else "",
            "executor_seconds": running.executor_seconds,
            "met": running.met,
            "violated": running.violated,
            "unknown": running.unknown,
            "outcome": paragraph(self._summary) if self._summary else "",
        }

    def _about(self) -> dict[str, Any]:
        settings, graph = self._settings, self._settings.graph
        return {
            "title": title(settings),
            "subtitle": subtitle(settings),
            "slo": settings.slo_latency_p95,
            "sources": graph.sources,
            "modules": [{"name": m.name, "most": m.max_replicas} for m in graph.modules],
            "streams": graph.streams,
            "links": links(settings.file),
        }


_POLL: Final = 0.1
"""Seconds between two looks at the folder; each is two calls of stat where nothing happens."""
_QUIET: Final = 3.0
"""Seconds without a tick after which one looks whether somebody still writes."""


class Feed:
    """Reads a run folder in the background, and wakes those who wait for more.

    `waits` is for a folder in which no run has begun yet.
    """

    def __init__(self, path: Path, *, waits: bool = False) -> None:
        self.changed = threading.Condition()
        self.closing = False
        self.board: Board | None = None
        self._coming: Board | None = None
        """One that is still being read, while another is shown: sums must not seem to fall."""
        self._waits = waits
        self._path = path
        self._follower = Follower(path, fresh=waits)
        self._status = {"state": "waiting", "trouble": ""}
        self._heard = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="penstock-feed", daemon=True)

    @property
    def status(self) -> dict[str, Any]:
        """`state` is `waiting`, `live`, `finished` or `stopped`; `trouble` is a sentence."""
        return dict(self._status)

    def start(self) -> None:
        """Read what is there, and go on reading; raises FileError where that cannot be a run."""
        try:
            self._first()
        except BaseException:
            self._follower.close()
            raise
        self._thread.start()

    def _first(self) -> None:
        if not self._waits:
            self._follower.check()
        while self._poll().more:
            pass
        if not self._waits and self._status["trouble"]:
            raise FileError(self._status["trouble"])

    def close(self) -> None:
        """Read once more, wake the waiting threads, and stop."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        while self._poll().more:
            pass
        with self.changed:
            self.closing = True
            self.changed.notify_all()
        self._follower.close()

    def metrics(self) -> str:
        """What `/metrics` answers; before a run has begun only that none is up."""
        with self.changed:
            if self.board is None:
                return text({"up": one(0)})
            return render(self.board.state)

    def whole(self) -> str:
        """What `/run.json` answers."""
        with self.changed:
            return (
                '{"now":{"state":"waiting"}}'
                if self.board is None
                else self.board.whole(self.status)
            )

    def _watch(self) -> None:
        while not self._stop.wait(_POLL):
            while self._poll().more and not self._stop.is_set():
                pass

    def _poll(self) -> News:
        try:
            news = self._follower.poll()
        except OSError as error:  # a disk that fails, a share that has gone: the page says so
            news = News(trouble=f"cannot read {self._path}: {error.strerror}")
        with self.changed:
            before = dict(self._status)
            self._take(news)
            if news.settings or news.ticks or before != self._status:
                self.changed.notify_all()
        return news

    def _take(self, news: News) -> None:
        if news.settings is not None:
            self._coming = Board(news.settings, news.key)
            self._status = {"state": "live", "trouble": ""}
        if news.trouble:
            self._status["trouble"] = news.trouble
        if (reading := self._coming or self.board) is None:
            return
        for tick in news.ticks:
            reading.add(tick)
        if self._coming and (self.board is None or not news.more):
            self.board, self._coming = self._coming, None
        if self.board is not None:
            self._end(news, self.board)

    def _end(self, news: News, board: Board) -> None:
        if news.summary is not None:
            board.finish(news.summary)
            self._status["state"] = "finished"
        self._look(heard=bool(news.settings or news.ticks), board=board)

    def _look(self, *, heard: bool, board: Board) -> None:
        """After a silence, check whether the run goes on or was killed."""
        now = time.monotonic()
        if heard:
            self._heard = now
        if self._status["state"] == "live" and (now - self._heard > _QUIET or not self._begun()):
            self._heard = now
            if not is_going_on(self._path):
                self._status["state"] = "stopped"
        elif self._status["state"] == "stopped" and heard:
            self._status["state"] = "live"
        board.state.up = self._status["state"] == "live"

    def _begun(self) -> bool:
        return self._thread.ident is not None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
