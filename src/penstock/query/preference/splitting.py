"""Heavy panes split over the workers of the pane stage (ppq, Algorithm 1).

The first tuple of a pane makes the least loaded worker its owner; after `threshold` tuples, the
least loaded worker becomes the next owner. Threshold and workers are read from a file in every
batch, so that a controller can change them while the query runs.
"""

import json
from collections.abc import Iterator
from dataclasses import astuple, dataclass, field
from numbers import Integral
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.core.errors import FileError, SettingError
from penstock.core.panes import Panes
from penstock.query.preference.parts import Columns, where
from penstock.query.preference.punctuation import Arrivals
from penstock.query.preference.tuples import Ints, times, usable

WORKER: Final = "pane_worker"
TASK: Final = "pane_task"
ARRIVALS: Final = "pane_arrivals"
SET_ASIDE: Final = "pane_set_aside"
FIELDS: Final = [
    pa.field(WORKER, pa.int32()),
    pa.field(TASK, pa.int32()),
    pa.field(ARRIVALS, pa.list_(pa.int64())),
    pa.field(SET_ASIDE, pa.int64()),
]
COLUMNS: Final = tuple(column.name for column in FIELDS)


@dataclass(frozen=True, slots=True)
class Split:
    """The settings of a batch."""

    workers: int
    threshold: int | None = None
    """Tuples of a pane that a partition of the source sends to one worker before the next one; None
    where panes stay whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Splitting:
    """How panes are split, in a file that every machine of the cluster can read.

    >>> import tempfile
    >>> splitting = Splitting(path=Path(tempfile.mkdtemp()) / "splitting.json", workers=4)
    >>> splitting.read()
    Split(workers=4, threshold=None)
    >>> splitting.write(threshold=500, workers=2)
    >>> splitting.read()
    Split(workers=2, threshold=500)
    """

    path: Path | str
    workers: int
    """The maximum."""

    def __post_init__(self) -> None:
        """Refuse a stage without workers."""
        if self.workers is None:
            raise SettingError("workers of splitting must be a whole number, got None; write 4")
        _check(workers=self.workers)

    def write(self, *, threshold: int | None = None, workers: int | None = None) -> None:
        """Set it from the next batch on."""
        given = {"threshold": threshold, "workers": self.workers if workers is None else workers}
        _check(**given)
        path = Path(self.path)
        draft = path.with_name(f".{path.name}")
        try:
            draft.write_text(json.dumps(given))
            draft.replace(path)
        except OSError as error:
            raise FileError(
                f"splitting cannot be written to {path} ({error.strerror}); name another file"
            ) from None

    def read(self) -> Split:
        """The current settings; panes stay whole without a readable file."""
        try:
            settings = json.loads(Path(self.path).read_text())
            threshold, workers = settings["threshold"], int(settings["workers"])
            threshold = None if threshold is None else int(threshold)
            _check(threshold=threshold)
        except (OSError, ValueError, KeyError, TypeError, OverflowError, SettingError):
            return Split(self.workers)
        return Split(min(max(workers, 1), self.workers), threshold)


def _check(**counts: object) -> None:
    for name, value in counts.items():
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
            raise SettingError(
                f"{name} of splitting must be a whole number of at least 1, got {value!r}"
            )


@dataclass(slots=True)
class Owners:
    """Assigns the tuples of panes to workers."""

    split: Split
    first: int = 0
    """The worker to prefer among equally loaded ones; it differs between tasks."""
    loads: Ints = field(init=False)
    _owner: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By pane, its owner and how many more tuples it gets."""

    def __post_init__(self) -> None:
        """Start without load."""
        self.loads = np.zeros(self.split.workers, np.int64)

    def assign(self, panes: Ints) -> NDArray[np.int32]:
        """The worker of each tuple, given its pane.

        >>> Owners(Split(workers=3, threshold=2)).assign(np.array([7, 7, 7, 8, 7, 7]))
        array([0, 0, 1, 2, 1, 2], dtype=int32)
        """
        workers = np.empty(len(panes), np.int32)
        for pane in dict.fromkeys(panes.tolist()):
            rows = np.flatnonzero(panes == pane)
            while len(rows):
                owner, left = self._owner.get(pane) or self._next()
                taken = rows if self.split.threshold is None else rows[:left]
                workers[taken], rows = owner, rows[len(taken) :]
                self.loads[owner] += len(taken)
                left -= len(taken)
                if left > 0 or self.split.threshold is None:
                    self._owner[pane] = (owner, left)
                else:
                    self._owner.pop(pane, None)
        return workers

    def _next(self) -> tuple[int, int]:
        """The least loaded worker, and how many tuples it gets."""
        turned = np.roll(self.loads, -self.first)
        owner = (int(turned.argmin()) + self.first) % len(self.loads)
        return owner, self.split.threshold or 0


@dataclass(slots=True)
class PanePartitioner:
    """Assigns rows to workers by their panes, for a source that every worker reads.

    >>> rows = pa.RecordBatch.from_pydict({"ts": pa.array([1, 2, 3], pa.timestamp("us", "UTC"))})
    >>> owners = Owners(Split(workers=2, threshold=2))
    >>> PanePartitioner(Panes(window=10, slide=10), owners).assign(rows)
    array([0, 0, 1], dtype=int32)
    """

    panes: Panes
    owners: Owners
    time: str = "ts"

    @property
    def workers(self) -> int:
        """Number of workers."""
        return self.owners.split.workers

    def assign(self, rows: pa.RecordBatch) -> NDArray[np.int32]:
        """The worker of each of these rows, which follow those of the previous call."""
        return self.owners.assign(self.panes.of(times(pa.Table.from_batches([rows]), self.time)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PanePartitioning:
    """Makes the partitioner of a batch, with the settings at its start."""

    panes: Panes
    splitting: Splitting

    def __call__(self) -> PanePartitioner:
        """A partitioner, to be copied for every worker."""
        return PanePartitioner(self.panes, Owners(self.splitting.read()))


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutePanes:
    """For `mapInArrow`: rows with the worker of each; the last row reports arrivals."""

    columns: Columns
    panes: Panes
    splitting: Splitting

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One task."""
        here = where()
        split = self.splitting.read()
        owners = Owners(split, here.task % split.workers)
        arrivals, set_aside, schema = Arrivals(), 0, None
        for batch in batches:
            table = pa.Table.from_batches([batch])
            # every column is nullable: they are null in the report
            own = (column.with_nullable(True) for column in batch.schema)
            schema = schema or pa.schema([*own, *FIELDS])
            good = table.filter(usable(table, self.columns.on, self.columns.time))
            set_aside += table.num_rows - good.num_rows
            moments = times(good, self.columns.time)
            arrivals = arrivals.also(Arrivals.of(moments))
            workers = owners.assign(self.panes.of(moments))
            yield from _routed(good, workers, here.task, schema)
        if schema is not None:
            report: dict[str, Any] = {
                WORKER: here.task % split.workers,
                TASK: here.task,
                ARRIVALS: list(astuple(arrivals)),
                SET_ASIDE: set_aside,
            }
            yield pa.RecordBatch.from_pylist([report], schema=schema)


def _routed(
    table: pa.Table, workers: NDArray[np.int32], task: int, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    rows = table.num_rows
    extra = [pa.array(workers), pa.array(np.full(rows, task, np.int32))]
    nothing = [pa.nulls(rows, column.type) for column in FIELDS[2:]]
    yield from (
        pa.Table.from_arrays([*table.columns, *extra, *nothing], schema=schema)
        .combine_chunks()
        .to_batches()
    )
