"""How loaded the stages of a preference query are, from the batches of their queries.

The load is the work that arrived, divided by the capacity of the executors. The work is that of the
rows of the batches that have ended, and of those that wait now. The period starts when rows of the
first of these batches started to arrive; a share of it is batch overhead. For the pane stage it is
the mean over workers, weighted by their rows (ppq, Section 3.1): it falls when panes are split more
evenly, whereas utilisation does not.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, isinf
from typing import Any, Final, TypeVar

from penstock.core.graph import Module
from penstock.core.signals import ModuleReading
from penstock.query.preference.measures import PaneLoad, WindowLoad, known
from penstock.spark.progress import Batch

QUERY: Final = "preference"
"""The name of the query's measures."""


L = TypeVar("L", PaneLoad, WindowLoad)


def _load_of(batch: Batch, name: str, kind: type[L]) -> L | None:
    """The load of a stage in a batch, service time included; None if unknown."""
    observed = batch.observed.get(name)
    if not observed:
        return None
    load = kind(**known(observed))
    return replace(load, busy=load.busy + (batch.service or 0.0))


def panes_of(batch: Batch) -> PaneLoad | None:
    """The load of the pane stage."""
    return _load_of(batch, f"{QUERY}_panes", PaneLoad)


def windows_of(batch: Batch) -> WindowLoad | None:
    """The load of the window stage."""
    return _load_of(batch, f"{QUERY}_windows", WindowLoad)


def pane_seconds(batch: Batch) -> float | None:
    """Seconds of work of a worker of the pane stage, weighted by the rows that each had."""
    load = panes_of(batch)
    return None if load is None else load.utilisation(period=1.0)


def window_seconds(batch: Batch) -> float | None:
    """Seconds of work of the window stage, of all executors."""
    load = windows_of(batch)
    return None if load is None else load.busy


@dataclass(slots=True, kw_only=True)
class LoadMeter:
    """The load of a stage in the batches since the last call."""

    seconds: Callable[[Batch], float | None]
    """The work of a batch."""
    longest: float = inf
    """Seconds of work that an executor takes on in a batch, at most."""
    trigger: float = 0.0
    """Seconds between batches."""
    _since: float | None = None
    """Start of the last batch before these."""
    _ended: float = 0.0
    """End of that batch."""
    _overhead: float = inf
    """Seconds of that batch beyond its work."""

    @classmethod
    def of(cls, module: Module, seconds: Callable[[Batch], float | None]) -> "LoadMeter":
        """Of a module."""
        longest = module.rows_a_batch * (module.service_time or 1.0)
        return cls(seconds=seconds, longest=longest, trigger=module.trigger)

    def __call__(
        self, events: Sequence[Batch], seen: ModuleReading, *, now: float, executors: int = 1
    ) -> float | None:
        """The load of so many executors that share the work; None if unknown.

        Of the reading, the backlog is used, and for the very first batch the arrival rate, since
        the period of its arrivals is unknown.
        """
        batches = [batch for batch in events if not batch.idle and batch.rows]
        if not batches:
            return None
        since = self._arrivals_start(batches[0])
        self._since, self._ended = batches[-1].started, batches[-1].ended
        taken = sum(batch.rows or 0 for batch in batches)
        arrived = taken + (seen.backlog or 0.0)
        period = now - since if since is not None else arrived / (seen.arrival_rate or inf)
        work = [self.seconds(batch) for batch in batches]
        known = [seconds / executors for seconds in work if seconds is not None]
        if len(known) < len(work):
            return None
        capacity = period * self._share(batches, known)
        return sum(known) * arrived / taken / capacity if capacity > 0 else None

    def _arrivals_start(self, batch: Batch) -> float | None:
        """Since when the rows of a batch have arrived: since the start of the previous one, or for
        one trigger interval after a pause: older rows would have been in an earlier batch."""
        paused = 0 < 1.5 * self.trigger < batch.started - self._ended
        return batch.started - self.trigger if self._since and paused else self._since

    def _share(self, batches: Sequence[Batch], work: Sequence[float]) -> float:
        """The share of an executor's time that goes to rows, in batches of maximum length.

        The least overhead of the newest batches counts, the last one before included: a batch that
        waits for a new executor is not typical.
        """
        beyond = [max(b.duration - took, 0.0) for b, took in zip(batches, work, strict=True)]
        least, self._overhead = min([self._overhead, *beyond]), beyond[-1]
        return 1.0 if isinf(self.longest) else self.longest / (self.longest + least)


@dataclass(slots=True, kw_only=True)
class PaneMeter:
    """Measures the pane stage in a step, as fields of its reading."""

    load: LoadMeter
    now: Callable[[], float] = time.time

    @classmethod
    def of(cls, module: Module) -> "PaneMeter":
        """Of a module that finds panes."""
        return cls(load=LoadMeter.of(module, pane_seconds))

    def __call__(self, reading: ModuleReading, events: Sequence[Batch]) -> dict[str, Any]:
        """Load and splitting."""
        loads = [load for batch in events if (load := panes_of(batch)) is not None]
        parts, panes = sum(load.parts for load in loads), sum(load.panes for load in loads)
        split = max(parts / panes, 1.0) if panes else None  # panes are counted nearly exactly
        return {"load": self.load(events, reading, now=self.now()), "splitting": split}


@dataclass(slots=True, kw_only=True)
class WindowMeter:
    """Measures the window stage in a step, as fields of its reading."""

    load: LoadMeter
    now: Callable[[], float] = time.time
    _ended: float | None = None
    """When the last batch before these ended."""

    @classmethod
    def of(cls, module: Module) -> "WindowMeter":
        """Of a module that answers windows."""
        return cls(load=LoadMeter.of(module, window_seconds))

    def __call__(self, reading: ModuleReading, events: Sequence[Batch]) -> dict[str, Any]:
        """Load, and windows a second."""
        running = max(reading.running or 0, 1)
        load = self.load(events, reading, now=self.now(), executors=running)
        return {"load": load, "results_rate": self._rate(events)}

    def _rate(self, events: Sequence[Batch]) -> float | None:
        if not events:
            return None
        before, self._ended = self._ended, events[-1].ended
        done = sum(load.windows for batch in events if (load := windows_of(batch)) is not None)
        return None if before is None or self._ended <= before else done / (self._ended - before)
