"""The work of a module on each row, and its measured service time.

`wait` models a call to another system: an executor waits and the machine's cores stay free, so
executors beyond the number of cores still help. `cpu` keeps a core busy. The time of real work on a
row counts towards its service time, and only the rest is spent. The measured seconds are in the
column `service`.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

SERVICE: Final = "service"
_CLOCK_GRAIN: Final = 1e-3
"""Rows shorter than this are served in groups: the resolution of a sleep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Serve:
    """Spends each row's service time, for `mapInArrow`."""

    service_time: float
    service_cv: float = 0.0
    work: str = "wait"
    own: tuple[Callable[[pa.RecordBatch], pa.RecordBatch], ...] = ()
    """Real work on each row, one after the other."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Serve every row, adding how long it took."""
        random = np.random.default_rng()
        for batch in batches:
            if self.own:
                yield from self._work(batch, random)
            else:
                yield _with_service(batch, self._serve(batch.num_rows, random))

    def _work(self, batch: pa.RecordBatch, random: np.random.Generator) -> list[pa.RecordBatch]:
        """Each row through its real work, then through the rest of its service time."""
        times = draw(self.service_time, self.service_cv, batch.num_rows, random)
        done: list[pa.RecordBatch] = []
        for number, expected in enumerate(times):
            begin, row = time.perf_counter(), batch.slice(number, 1)
            for work in self.own:
                row = work(row)
            left = float(expected) - (time.perf_counter() - begin)
            spend(self.work, left)
            done.append(_with_service(row, np.array([time.perf_counter() - begin])))
        return pa.Table.from_batches(done).combine_chunks().to_batches() if done else []

    def _serve(self, rows: int, random: np.random.Generator) -> NDArray[np.float64]:
        if self.work == "none" or self.service_time == 0:
            return np.zeros(rows)
        spend, group = _SPEND[self.work], max(1, int(_CLOCK_GRAIN / self.service_time))
        times = draw(self.service_time, self.service_cv, rows, random)
        took = np.empty(rows)
        for begin in range(0, rows, group):
            end = min(begin + group, rows)
            took[begin:end] = spend(float(times[begin:end].sum())) / (end - begin)
        return took


def draw(mean: float, cv: float, rows: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Service times of a given mean and coefficient of variation (a gamma distribution)."""
    if cv == 0:
        return np.full(rows, mean)
    shape = 1 / cv**2
    return random.gamma(shape, mean / shape, rows)


def _with_service(batch: pa.RecordBatch, took: NDArray[np.float64]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [*batch.columns, pa.array(took)], [*batch.schema.names, SERVICE]
    )


def spend(how: str, seconds: float) -> float:
    """Spend seconds by waiting (`wait`), by computing (`cpu`) or not at all (`none`).

    >>> spend("none", 1.0)
    0.0
    """
    return _SPEND[how](seconds) if how in _SPEND and seconds > 0 else 0.0


def _wait(seconds: float) -> float:
    begin = time.perf_counter()
    time.sleep(seconds)
    return time.perf_counter() - begin


def _compute(seconds: float) -> float:
    begin, clock = time.perf_counter(), time.thread_time
    end = clock() + seconds
    while clock() < end:
        pass
    return time.perf_counter() - begin


_SPEND: Final[dict[str, Callable[[float], float]]] = {"wait": _wait, "cpu": _compute}
