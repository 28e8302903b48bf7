"""What a control step measured of both stages, their loads as in the ppq paper (Section 3.1)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from math import isnan, nan
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.signals import Latency
from penstock.twin.observing import Reading, Totals, measured
from penstock.twin.panes.state import PaneState
from penstock.twin.records import NO_INDEX, Array

_NOTHING: Final = 1e-9
"""Tuples: fewer that could have been served are a rounding error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The pane stage over one sampling period."""

    load: float
    """The utilisation factor, each worker's weighted by its tuples; NaN without any."""
    done: int
    """Tuples."""
    service: float
    """Seconds that those took."""


def sample(state: PaneState, period: float, arrived: int, share: float) -> Sample:
    """What the workers did in a period, which ends now; the next begins.

    `arrived` are the tuples that came in it, whether or not a micro-batch took them, and `share` is
    that of the workers' time that is left for tuples in batches of the greatest length.
    """
    now, active = float(state.clock["now"][0]), int(state.stages["active"][0])
    workers = state.workers
    busy_ever = workers["service"] - np.maximum(workers["free_at"] - now, 0.0)
    busy = busy_ever - workers["busy_before"]
    made = Sample(
        load=_batch_load(workers[:active], arrived, period * share)
        if state.stages["batch"]["trigger"][0]
        else _load(workers[:active], busy[:active], period),
        done=int(workers["done"].sum()),
        service=float(workers["done_service"].sum()),
    )
    workers["busy_before"] = busy_ever
    workers["scheduled"] = workers["done"] = 0
    workers["done_service"] = 0.0
    return made


def _load(workers: Array, busy: Array, period: float) -> float:
    """The mean of tuples that came by tuples that could have been served, weighted by the first."""
    came, done = workers["scheduled"].astype(float), int(workers["done"].sum())
    if not came.sum() or not done:
        return nan
    service = workers["done_service"].sum() / done
    idle = np.maximum(period - busy, 0.0)
    capacity = workers["done"] + (idle / service if service > 0 else np.inf)
    stuck = (capacity < _NOTHING) & (came > 0)  # a tuple that takes longer than the period
    loads = np.divide(came, capacity, out=np.zeros_like(came), where=capacity >= _NOTHING)
    loads[stuck] = came[stuck] * service / period
    return float((came * loads).sum() / came.sum())


def _batch_load(workers: Array, arrived: int, period: float) -> float:
    """The same with micro-batches, as the Spark plant measures it, in the time left for tuples.

    A stage that takes fewer tuples than come falls behind, however soon its batches are done.
    """
    came, done = workers["scheduled"].astype(float), int(workers["done"].sum())
    if not arrived or not done:
        return nan
    work = arrived * float(workers["done_service"].sum()) / done
    shares = came / came.sum() if came.any() else np.full(len(came), 1.0 / len(came))
    return float((shares**2).sum()) * work / period


def mean_load(samples: Iterable[Sample]) -> float | None:
    """Over those periods in which tuples came."""
    known = [s.load for s in samples if not isnan(s.load)]
    return sum(known) / len(known) if known else None


def task_load(done: int, pending: int, idle: float, mean: float | None) -> float | None:
    """Of the window stage: tasks that were done or wait, by those that could have been done.

    >>> task_load(done=7, pending=3, idle=1.0, mean=0.5)
    1.1111111111111112
    """
    if mean is None or not mean > 0:
        return None
    capacity = done + idle / mean
    return (done + pending) / capacity if capacity > 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PaneTotals:
    """What has happened since the start, or between two moments."""

    tuples: int = 0
    dropped: int = 0
    """Tuples that came after their pane was closed."""
    panes: int = 0
    """Panes that were closed,"""
    parts: int = 0
    """and their parts."""
    kept: float = 0.0
    """Tuples that went on to the window stage."""
    received: int = 0
    """Parts that came there."""
    updates: int = 0
    """Tasks that put a part into a window,"""
    merges: int = 0
    """and those that made one part of two."""
    windows: int = 0
    busy_seconds: float = 0.0
    """Of the workers of the window stage,"""
    worker_seconds: float = 0.0
    """and seconds of all that there were."""

    @classmethod
    def of(cls, state: PaneState) -> "PaneTotals":
        """Up to now."""
        clock, other = state.clock[0], state.other[0]
        panes, windows = state.stages["totals"]
        return cls(
            tuples=int(panes["arrived"] + clock["held"]),
            dropped=int(clock["dropped"]),
            panes=int(clock["closed"]),
            parts=int(clock["parts"]),
            kept=float(clock["kept"]),
            received=int(windows["arrived"]),
            updates=int(other["updates"]),
            merges=int(other["merged"]),
            windows=int(other["windows"]),
            busy_seconds=float(windows["busy_seconds"]),
            worker_seconds=float(windows["server_seconds"]),
        )

    def __sub__(self, before: "PaneTotals") -> "PaneTotals":
        names = [f.name for f in fields(self)]
        return PaneTotals(**{n: getattr(self, n) - getattr(before, n) for n in names})

    @property
    def tasks(self) -> int:
        """Of both kinds."""
        return self.updates + self.merges


def read_panes(
    state: PaneState, step: Totals, change: PaneTotals, samples: Sequence[Sample]
) -> Reading:
    """The pane stage in a step."""
    clock, totals = state.clock[0], state.stages["totals"][0]
    done = sum(s.done for s in samples)
    backlog = totals["arrived"] + clock["held"] - clock["dropped"] - totals["finished"]
    return measured(step) | {
        "arrival_rate": change.tuples / step.seconds,
        "backlog": float(backlog),
        "load": mean_load(samples),
        "splitting": change.parts / change.panes if change.panes else None,
        "service_time": sum(s.service for s in samples) / done if done else None,
    }


def read_windows(
    state: PaneState, step: Totals, change: PaneTotals, task_time: float | None
) -> Reading:
    """The window stage in a step; its rows are parts of panes."""
    idle = max(step.server_seconds - step.busy_seconds, 0.0)
    pending = int(state.other["pending"][0]) + _parts_before_trigger(state)
    return measured(step) | {
        "processed_rate": None,
        "backlog": float(pending),
        "load": task_load(change.tasks, pending, idle, task_time),
        "service_time": task_time,
        "results_rate": change.windows / step.seconds,
    }


def _parts_before_trigger(state: PaneState) -> int:
    """Parts that have come and wait for a trigger."""
    if not state.stages["batch"]["trigger"][1]:
        return 0
    parts, places = 0, [int(state.clock["sent"]["first_done"][0])]
    while places:
        place = places.pop()
        if place != NO_INDEX and state.results["done"][place] <= state.other["now"][0]:
            parts += 1
            places += [int(state.results["next"][place]), int(state.results["right"][place])]
    return parts


def latency_of(windows: NDArray[np.float64]) -> Latency | None:
    """From the end of windows to their results."""
    if not len(windows):
        return None
    p50, p95, p99 = np.quantile(windows[:, 1] - windows[:, 0], [0.5, 0.95, 0.99]).tolist()
    return Latency(p50=p50, p95=p95, p99=p99)
