"""All that the page shows of one run, as JSON texts made once and sent to whoever asks."""

import json
from typing import Any, Final

from penstock.core.signals import Tick
from penstock.dashboard.columns import Columns
from penstock.dashboard.decisions import Decisions
from penstock.dashboard.links import links
from penstock.dashboard.metrics import MetricsState
from penstock.record.codec import plain
from penstock.record.settings import RunSettings
from penstock.record.summary import Summary
from penstock.report.page import subtitle, title
from penstock.report.words import paragraph

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
        self.rows.append(self._columns.row(tick, self.state.so_far))
        self._decisions.add(tick, act, len(self.rows))

    def finish(self, summary: Summary) -> None:
        """The run has ended."""
        self._summary = summary

    def whole(self, status: dict[str, Any]) -> str:
        """`/run.json`: the settings that matter and every tick so far."""
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
        told = {
            "run": self.key,
            "after": after,
            "now": {**status, **self._now()},
            "decisions": self._decisions.since(after),
            **({"columns": self._columns.names} if columns else {}),
            **more,
        }
        rows = ",".join(self.rows[after:until])
        return f'{json.dumps(plain(told), separators=(",", ":"))[:-1]},"rows":[{rows}]}}'

    def _now(self) -> dict[str, Any]:
        so_far = self.state.so_far
        return {
            "cost": so_far.cost,
            "joules": so_far.joules,
            "origin": so_far.origin,
            "executor_seconds": so_far.executor_seconds,
            "met": so_far.met,
            "violated": so_far.violated,
            "unknown": so_far.unknown,
            "told": paragraph(self._summary) if self._summary else "",
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
