"""What a control step measured of both stages."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.signals import Latency, ModuleReading
from penstock.plant.twin.panes_sampling import Sample, mean_load, task_load
from penstock.plant.twin.panes_state import PaneState


@dataclass(frozen=True, slots=True, kw_only=True)
class PaneTotals:
    """What has happened since the start, or between two moments."""

    tuples: int = 0
    dropped: int = 0
    """Tuples that came after their pane was closed."""
    waiting: int = 0
    """Tuples that are not done, or by how many there are more of them."""
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
        return cls(
            tuples=int(clock["arrived"]),
            dropped=int(clock["dropped"]),
            waiting=int(state.workers["queue"]["count"].sum()),
            panes=int(clock["closed"]),
            parts=int(clock["parts"]),
            kept=float(clock["kept"]),
            received=int(other["received"]),
            updates=int(other["updates"]),
            merges=int(other["merged"]),
            windows=int(other["windows"]),
            busy_seconds=float(other["busy_seconds"]),
            worker_seconds=float(other["worker_seconds"]),
        )

    def __sub__(self, before: "PaneTotals") -> "PaneTotals":
        names = [f.name for f in fields(self)]
        return PaneTotals(**{n: getattr(self, n) - getattr(before, n) for n in names})

    @property
    def tasks(self) -> int:
        """Of both kinds."""
        return self.updates + self.merges


def read_panes(
    state: PaneState, change: PaneTotals, samples: Sequence[Sample], workers: float, step: float
) -> ModuleReading:
    """The pane stage in a step; `workers` are worker-seconds."""
    done = sum(s.done for s in samples)
    return ModuleReading(
        arrival_rate=change.tuples / step,
        processed_rate=(change.tuples - change.dropped - change.waiting) / step,
        backlog=float(state.workers["queue"]["count"].sum()),
        utilisation=_share(sum(s.busy for s in samples), workers),
        load=mean_load(samples),
        splitting=change.parts / change.panes if change.panes else None,
        service_time=sum(s.service for s in samples) / done if done else None,
    )


def read_windows(
    state: PaneState, change: PaneTotals, task_time: float | None, step: float
) -> ModuleReading:
    """The window stage in a step; its rows are parts of panes."""
    idle = max(change.worker_seconds - change.busy_seconds, 0.0)
    pending = int(state.other["pending"][0])
    return ModuleReading(
        arrival_rate=change.received / step,
        backlog=float(pending),
        utilisation=_share(change.busy_seconds, change.worker_seconds),
        load=task_load(change.tasks, pending, idle, task_time),
        service_time=task_time,
        results_rate=change.windows / step,
    )


def latency_of(windows: NDArray[np.float64]) -> Latency | None:
    """From the end of windows to their results."""
    if not len(windows):
        return None
    p50, p95, p99 = np.quantile(windows[:, 1] - windows[:, 0], [0.5, 0.95, 0.99]).tolist()
    return Latency(p50=p50, p95=p95, p99=p99)


def _share(busy: Any, of: float) -> float | None:
    return float(min(max(busy / of, 0.0), 1.0)) if of > 0 else None
