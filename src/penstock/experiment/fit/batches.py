"""The micro-batches of a recording, from Spark's progress events or else from its steps.

A step tells the mean duration of its batches and how many rows they finished, not how many batches
there were. A batch begins at the next trigger after the one before, or at once where that overran,
so that there is one in every `max(trigger, duration)`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.core.graph import Module
from penstock.core.signals import ModuleReading, Tick
from penstock.experiment.fit.events import Event, aligned, events
from penstock.record import Run


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
    told = events(run.path).get(module.name, ())
    begin = aligned(told, run.ticks, module.name)
    if begin is not None:
        return tuple(_of_events(told, begin, run.ticks, module.name))
    return tuple(_of_steps(run.ticks, module))


def _of_events(
    told: Sequence[Event], begin: float, ticks: Sequence[Tick], name: str
) -> Iterator[MicroBatch]:
    last = ticks[-1].seen.at
    for event in told:
        started, ended = event.started - begin, event.ended - begin
        replicas = _running(ticks, name, started)
        if not event.rows or replicas is None or started < 0 or ended > last:
            continue
        yield MicroBatch(
            at=ended,
            duration=event.duration,
            rows=event.rows,
            replicas=replicas,
            service=None if event.service is None else event.service / event.rows,
            squared=None if event.squared is None else event.squared / event.rows,
        )


def _running(ticks: Sequence[Tick], name: str, at: float) -> int | None:
    """Executors at a moment: those that the last step before it saw, or the first one ever."""
    known = [tick for tick in ticks if name in tick.seen.modules]
    before = [tick for tick in known if tick.seen.at <= at] or known[:1]
    return before[-1].seen.modules[name].running or None if before else None


def _of_steps(ticks: Sequence[Tick], module: Module) -> Iterator[MicroBatch]:
    for tick in ticks:
        seen = tick.seen.modules.get(module.name)
        batch = _of_step(tick, seen, module.trigger) if seen else None
        if batch is not None:
            yield batch


def _of_step(tick: Tick, seen: ModuleReading, trigger: float) -> MicroBatch | None:
    """The mean batch of a step."""
    if not (seen.batch_duration and seen.processed_rate and seen.running):
        return None
    cv = seen.service_cv or 0.0
    every = max(trigger, seen.batch_duration)
    return MicroBatch(
        at=tick.seen.at,
        duration=seen.batch_duration,
        rows=seen.processed_rate * every,
        count=tick.seen.step / every,
        replicas=seen.running,
        service=seen.service_time,
        squared=None if seen.service_time is None else seen.service_time**2 * (1 + cv**2),
    )
