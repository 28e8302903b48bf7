"""Spark's progress events in a run folder, and the moment at which the run began by their clock.

Events tell the time of day, steps the seconds since the run began. The mean duration that a step
tells is that of the events it took in, to the millisecond: where the two agree, the step came just
after the last of those events, and most such pairs agree about when the run began.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from penstock.core.signals import Tick
from penstock.record.place import PROGRESS

_MOST: Final = 6
"""Events that one step may have taken in."""
_NEAR: Final = 0.25
"""Seconds by which pairs may differ about the beginning: a step comes a moment after an event."""
_FEWEST: Final = 3
"""Pairs that must agree."""
_METRICS: Final = "penstock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One micro-batch by Spark's account. Moments are seconds since 1970."""

    started: float
    duration: float
    rows: float
    service: float | None
    """Summed seconds of service of its rows, where the module counts them."""
    squared: float | None

    @property
    def ended(self) -> float:
        """When it was committed."""
        return self.started + self.duration


@lru_cache(maxsize=4)
def events(folder: Path) -> Mapping[str, tuple[Event, ...]]:
    """The micro-batches by query, oldest first; what is no event, or only half of one, is left out.

    Events without work are left out too: there was nothing to do.
    """
    try:
        lines = (folder / PROGRESS).read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return {}
    found: dict[str, list[Event]] = {}
    for told in _objects(lines):
        event = _event(told)
        if event is not None:
            found.setdefault(str(told.get("name")), []).append(event)
    return {name: tuple(sorted(all_, key=lambda e: e.started)) for name, all_ in found.items()}


def _objects(lines: Sequence[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            told = json.loads(line or "null")
        except ValueError:
            continue  # a run that was killed may have left half a line
        if isinstance(told, dict):
            yield told


def _event(told: Mapping[str, Any]) -> Event | None:
    try:
        phases = told["durationMs"]
        if "addBatch" not in phases:
            return None
        metrics = (told.get("observedMetrics") or {}).get(_METRICS) or {}
        return Event(
            started=datetime.fromisoformat(told["timestamp"]).timestamp(),
            duration=float(phases["triggerExecution"]) / 1000,
            rows=float(metrics.get("rows", told.get("numInputRows", 0))),
            service=metrics.get("service"),
            squared=metrics.get("service_squared"),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def aligned(told: Sequence[Event], ticks: Sequence[Tick], name: str) -> float | None:
    """When the run began, in seconds since 1970; None where steps and events do not agree."""
    votes = np.array([vote for tick in ticks for vote in _votes(told, tick, name)])
    if not votes.size:
        return None
    agreeing = [int((np.abs(votes - vote) <= _NEAR).sum()) for vote in votes]
    best = votes[int(np.argmax(agreeing))]
    found = votes[np.abs(votes - best) <= _NEAR]
    # the step comes after the event: the latest of these is nearest to the truth
    return float(found.max()) if found.size >= _FEWEST else None


def _votes(told: Sequence[Event], tick: Tick, name: str) -> Iterator[float]:
    seen = tick.seen.modules.get(name)
    if seen is None or seen.batch_duration is None:
        return
    durations = np.array([event.duration for event in told])
    for size in range(1, min(_MOST, len(told)) + 1):
        means = np.convolve(durations, np.full(size, 1 / size), mode="valid")
        for place in np.flatnonzero(np.abs(means - seen.batch_duration) < 1e-6).tolist():
            yield told[place + size - 1].ended - tick.seen.at
