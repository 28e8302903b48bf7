"""Loads of both stages over a period, as the ppq paper has them (Section 3.1)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import Final

import numpy as np

from penstock.plant.twin.panes_state import PaneState
from penstock.plant.twin.state import Array

_NOTHING: Final = 1e-9
"""Tuples: fewer that could have been served are a rounding error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The pane stage over one sampling period."""

    load: float
    """The utilisation factor, each worker's weighted by its tuples; NaN without any."""
    busy: float
    """Seconds of work of all workers."""
    done: int
    """Tuples."""
    service: float
    """Seconds that those took."""


def sample(state: PaneState, period: float) -> Sample:
    """What the workers did in a period, which ends now; the next begins."""
    now, active = float(state.clock["now"][0]), int(state.clock["active"][0])
    workers = state.workers
    busy_ever = workers["service"] - np.maximum(workers["free_at"] - now, 0.0)
    busy = busy_ever - workers["busy_before"]
    made = Sample(
        load=_load(workers[:active], busy[:active], period),
        busy=float(busy.sum()),
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


def recent_sizes(state: PaneState) -> Sequence[int]:
    """Tuples of the parts of the panes that were closed last."""
    sizes: Sequence[int] = state.sizes[state.sizes > 0].tolist()
    return sizes
