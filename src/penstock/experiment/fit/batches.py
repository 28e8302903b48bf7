"""The micro-batches of a recording, from Spark's progress events or else from its steps.

A step records the mean duration of its batches and how many rows they finished, not the number of
batches. A batch begins at the next trigger after the one before, or at once where that overran,
so that there is one in every `max(trigger, duration)`.

Spark's progress events in a run folder, and the moment at which the run began by their clock.

Events have the time of day, steps the seconds since the run began. The mean duration in a step is
that of the events it took in, to the millisecond: where the two agree, the step came just after the
last of those events, and most such pairs agree about when the run began.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from penstock.core.graph import Module
from penstock.core.signals import Tick
from penstock.record import Run
from penstock.record.folder import PROGRESS
from penstock.spark.progress import Batch, parse_line

_MOST: Final = 6
"""Events that one step may have taken in."""
_NEAR: Final = 0.25
"""Seconds by which pairs may differ about the beginning: a step comes a moment after an event."""
_FEWEST: Final = 3
"""Pairs that must agree."""


@lru_cache(maxsize=4)
def events(folder: Path) -> Mapping[str, tuple[Batch, ...]]:
    """The micro-batches by query, oldest first; what is no event, or only half of one, is left out.

    Events without work are left out too: there was nothing to do.
    """
    try:
        lines = (folder / PROGRESS).read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return {}
    batches: dict[str, list[Batch]] = {}
    for batch in map(parse_line, lines):
        if batch is not None and not batch.idle:
            batches.setdefault(str(batch.query), []).append(batch)
    return {name: tuple(sorted(own, key=lambda b: b.started)) for name, own in batches.items()}


def aligned(batches: Sequence[Batch], ticks: Sequence[Tick], name: str) -> float | None:
    """When the run began, in seconds since 1970; None where steps and events do not agree."""
    votes = np.array([vote for tick in ticks for vote in _votes(batches, tick, name)])
    if not votes.size:
        return None
    agreeing = [int((np.abs(votes - vote) <= _NEAR).sum()) for vote in votes]
    best = votes[int(np.argmax(agreeing))]
    agreed = votes[np.abs(votes - best) <= _NEAR]
    # the step comes after the event: the latest of these is nearest to the truth
    return float(agreed.max()) if agreed.size >= _FEWEST else None


def _votes(batches: Sequence[Batch], tick: Tick, name: str) -> Iterator[float]:
    seen = tick.seen.modules.get(name)
    if seen is None or seen.batch_duration is None:
        return
    durations = np.array([event.duration for event in batches])
    for size in range(1, min(_MOST, len(batches)) + 1):
        means = np.convolve(durations, np.full(size, 1 / size), mode="valid")
        for place in np.flatnonzero(np.abs(means - seen.batch_duration) < 1e-6).tolist():
            yield batches[place + size - 1].ended - tick.seen.at


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBatch:
    """A micro-batch of one module, or the mean of several like it."""

    at: float
    """When it ended, in seconds since the run began."""
    duration: float
    rows: float
    replicas: int
    """Executors that it was spread over."""
    service: float | None
    """Seconds of service of one row, by the module's own clock."""
    squared: float | None = None
    """Mean square of the same."""
    count: float = 1.0
    """Batches that it stands for."""

    @property
    def share(self) -> float:
        """Rows of one executor.

        >>> MicroBatch(at=9.0, duration=1.0, rows=60, replicas=3, service=None).share
        20.0
        """
        return self.rows / self.replicas


def micro_batches(run: Run, module: Module) -> tuple[MicroBatch, ...]:
    """Those of a module within the steps of the run, oldest first; none where it has none."""
    batches = events(run.path).get(module.name, ())
    begin = aligned(batches, run.ticks, module.name)
    if begin is not None:
        return tuple(_of_events(batches, begin, run.ticks, module.name))
    return tuple(_of_steps(run.ticks, module))


def _of_events(
    batches: Sequence[Batch], begin: float, ticks: Sequence[Tick], name: str
) -> Iterator[MicroBatch]:
    last = ticks[-1].seen.at
    for event in batches:
        started, ended = event.started - begin, event.ended - begin
        replicas = _running(ticks, name, started)
        rows = event.input_rows if event.rows is None else event.rows
        if not rows or replicas is None or started < 0 or ended > last:
            continue
        yield MicroBatch(
            at=ended,
            duration=event.duration,
            rows=rows,
            replicas=replicas,
            service=None if event.service is None else event.service / rows,
            squared=None if event.service_squared is None else event.service_squared / rows,
        )


def _running(ticks: Sequence[Tick], name: str, at: float) -> int | None:
    """Executors at a moment: those that the last step before it saw, or the first one ever."""
    known = [tick for tick in ticks if name in tick.seen.modules]
    before = [tick for tick in known if tick.seen.at <= at] or known[:1]
    return before[-1].seen.modules[name].running or None if before else None


def _of_steps(ticks: Sequence[Tick], module: Module) -> Iterator[MicroBatch]:
    """The mean batch of each step."""
    for tick in ticks:
        seen = tick.seen.modules.get(module.name)
        if not (seen and seen.batch_duration and seen.processed_rate and seen.running):
            continue
        cv = seen.service_cv or 0.0
        every = max(module.trigger, seen.batch_duration)
        yield MicroBatch(
            at=tick.seen.at,
            duration=seen.batch_duration,
            rows=seen.processed_rate * every,
            count=tick.seen.step / every,
            replicas=seen.running,
            service=seen.service_time,
            squared=None if seen.service_time is None else seen.service_time**2 * (1 + cv**2),
        )
