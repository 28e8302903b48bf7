"""A workload as a Spark streaming source: rows that arrive at the times of the workload.

Row number i is always the same row, created at the same time, so a batch can be replayed
exactly after a failure. An offset is a count of rows: what has arrived and what has been read
differ by the backlog.
"""

import base64
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows

from penstock.core.chance import uniform
from penstock.core.roles import Workload

FORMAT: Final = "penstock-workload"
_CHUNK: Final = 4096


class RowMaker(Protocol):
    """The content of rows besides their creation time."""

    @property
    def schema(self) -> str:
        """The columns, as Spark writes them."""
        ...

    def columns(self, index: NDArray[np.int64]) -> dict[str, pa.Array]:
        """The columns of rows with these numbers; the same number gives the same row."""
        ...


class RowPartitioner(Protocol):
    """Assigns the rows of one batch to workers, in the order of their arrival.

    Every worker has one, generates all rows of the batch and keeps its own: cheaper than an
    exchange, since rows are generated from their numbers. So it must be deterministic.
    """

    @property
    def workers(self) -> int:
        """Number of workers."""
        ...

    def assign(self, rows: pa.RecordBatch) -> NDArray[np.int32]:
        """The worker of each of these rows, which follow those of the previous call."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """Everything that determines the rows of a run, except its start time.

    The first rows arrive at once, to warm up every process; those of the workload follow when the
    gate opens: when its file holds the start time, in seconds since the epoch.
    """

    workload: Workload
    rows: RowMaker
    gate: Path
    total: int
    """Total rows of the workload."""
    first: int = 0
    """Rows that arrive before the gate opens."""
    disorder: float = 0.0
    """Rows are created up to this many seconds before they arrive, at random."""
    seed: int = 0
    max_rows: int | None = None
    """Most rows in one batch."""
    share: int | None = None
    """Most rows in one part of a batch."""
    hint: Path | None = None
    """A file with the number of parts of a batch; see `parallelism`."""
    partitioner: Callable[[], RowPartitioner] | None = None
    """Makes the partitioner of a batch; without it, a part is a range of rows."""

    def open(self, now: float) -> None:
        """Start the workload at this time, in seconds since the epoch."""
        _write(self.gate, now)

    def close(self, now: float) -> None:
        """End the workload at this time."""
        _write(self.gate.with_suffix(".closed"), now)

    def start(self) -> float | None:
        """Start time of the workload, or None while the gate is closed."""
        return _read(self.gate)

    def arrived(self, now: float) -> int:
        """Rows that have arrived by a time, in seconds since the epoch."""
        start, end = self.start(), _read(self.gate.with_suffix(".closed"))
        if start is None:
            return self.first
        now = now if end is None else min(now, end)
        count = self.workload.arrivals(np.array([max(now - start, 0.0)]))[0]
        return self.first + min(int(count), self.total)

    def read(self, spark: SparkSession) -> DataFrame:
        """The rows as a stream."""
        return spark.readStream.format(FORMAT).option("feed", self.encode()).load()

    def encode(self) -> str:
        """This feed as a string, for the options of a Spark source."""
        return base64.b64encode(pickle.dumps(self)).decode()

    def batch(self, begin: int, end: int, start: float) -> pa.RecordBatch:
        """Rows `begin` up to `end`, with their creation time as `ts`."""
        index = np.arange(begin, end, dtype=np.int64)
        order = (index - self.first).astype(np.float64)
        created = start + np.where(order < 0, 0.0, self.workload.times(np.maximum(order, 0.0)))
        if self.disorder > 0:
            created -= self.disorder * uniform(index, self.seed)
        micros = pa.array((created * 1e6).astype(np.int64), pa.timestamp("us", "UTC"))
        columns = {"ts": micros, **self.rows.columns(index)}
        return pa.RecordBatch.from_pydict(columns)


def _write(file: Path, moment: float) -> None:
    """Write a time atomically."""
    draft = file.with_name(f".{file.name}")
    draft.write_text(repr(moment))
    draft.replace(file)


def _read(file: Path) -> float | None:
    try:
        return float(file.read_text())
    except FileNotFoundError:
        return None


def decode(text: str) -> Feed:
    """The feed that `Feed.encode` wrote."""
    feed = pickle.loads(base64.b64decode(text))  # noqa: S301  # written by this very program
    assert isinstance(feed, Feed)  # noqa: S101  # for the type checker
    return feed


def parallelism(hint: Path | None, otherwise: int = 2) -> int:
    """The number of parts of the next batch, as the actuator last wrote it."""
    try:
        return max(int(hint.read_text()), 1) if hint is not None else otherwise
    except (OSError, ValueError):
        return otherwise


def slices(begin: int, end: int, parts: int) -> list[tuple[int, int]]:
    """Cut a range of rows into parts of nearly equal size.

    >>> slices(0, 10, 4)
    [(0, 2), (2, 5), (5, 7), (7, 10)]
    >>> slices(0, 1, 4)
    [(0, 1)]
    """
    edges = [begin + (end - begin) * part // parts for part in range(parts + 1)]
    return [(a, b) for a, b in pairwise(edges) if a < b]


class RowRange(InputPartition):
    """A range of row numbers, the start time of the workload, and the worker that reads it."""

    def __init__(
        self,
        begin: int,
        end: int,
        start: float,
        partitioner: RowPartitioner | None = None,
        worker: int = 0,
    ) -> None:
        super().__init__((begin, end, worker))
        self.begin, self.end, self.start = begin, end, start
        self.partitioner, self.worker = partitioner, worker


class RowCountReader(DataSourceStreamReader):
    """Reads rows batch by batch; an offset is a count of rows."""

    def __init__(self, hint: Path | None, max_rows: int | None, share: int | None) -> None:
        self._hint, self._max_rows, self._share = hint, max_rows, share

    def available(self) -> int:
        """Rows that have arrived, read or not."""
        raise NotImplementedError

    def initialOffset(self) -> dict[str, int]:  # noqa: N802  # Spark's name
        """Before the first row."""
        return {"rows": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """All rows that have arrived, or the maximum of a batch."""
        return ReadAllAvailable() if self._max_rows is None else ReadMaxRows(self._max_rows)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        """Where the next batch ends, within Spark's limit and that of its parts."""
        begin, end = start["rows"], self.available()
        if isinstance(limit, ReadMaxRows):
            end = min(end, begin + limit.max_rows)
        if self._share is not None:
            end = min(end, begin + self._share * parallelism(self._hint))
        return {"rows": max(end, begin)}

    def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802
        """Rows that have arrived, read or not."""
        return {"rows": self.available()}


class WorkloadReader(RowCountReader):
    """Reads a feed, batch by batch."""

    def __init__(self, feed: Feed) -> None:
        super().__init__(feed.hint, feed.max_rows, feed.share)
        self._feed = feed

    def available(self) -> int:
        """Rows that have arrived."""
        return self._feed.arrived(time.time())

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[RowRange]:
        """The batch in as many parts as the module has executors."""
        began = self._feed.start() or time.time()
        if self._feed.partitioner is not None:
            partitioner = self._feed.partitioner()
            whole = (start["rows"], end["rows"], began, partitioner)
            return [RowRange(*whole, worker) for worker in range(partitioner.workers)]
        parts = parallelism(self._hint)
        return [RowRange(a, b, began) for a, b in slices(start["rows"], end["rows"], parts)]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """The rows of one part."""
        # a part may be read again, and by other tasks
        partitioner = deepcopy(partition.partitioner)
        for begin in range(partition.begin, partition.end, _CHUNK):
            end = min(begin + _CHUNK, partition.end)
            rows = self._feed.batch(begin, end, partition.start)
            if partitioner is not None:
                rows = rows.filter(pa.array(partitioner.assign(rows) == partition.worker))
            yield rows


class WorkloadSource(DataSource):
    """`spark.readStream.format("penstock-workload").option("feed", feed.encode())`."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return FORMAT

    def schema(self) -> str:
        """The creation time, and the content of the rows."""
        return f"ts timestamp, {self._feed().rows.schema}"

    def streamReader(self, schema: Any) -> WorkloadReader:  # noqa: N802, ARG002
        """The reader of the feed in the options."""
        return WorkloadReader(self._feed())

    def _feed(self) -> Feed:
        return decode(self.options["feed"])
