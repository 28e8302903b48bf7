"""The inner level of the ppq paper on Spark: after every batch, how panes are split in the next.

Executors do not change here. The load of a batch adapts the threshold; the number of running
executors is the number of workers. Both are written to a file that the partitioner reads.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from penstock.core.errors import PenstockError
from penstock.core.signals import ModuleReading
from penstock.pipeline.application import Application
from penstock.pipeline.deploy.loads import LoadMeter, pane_seconds, panes_of
from penstock.pipeline.deploy.module import hint_path
from penstock.pipeline.settings import PipelineFile
from penstock.policy.fuzzy.splitting import SplittingControl, SplittingMemory
from penstock.query.preference.splitting import Split, Splitting
from penstock.spark.progress import Batch, WatchedQuery
from penstock.spark.rates import rows_behind
from penstock.spark.source import RowPartitioner, parallelism

_PERIOD: Final = 0.25
"""Seconds between two samples where panes stay whole."""


def splitting_of(file: PipelineFile, workspace: Path) -> Splitting:
    """The file with the splitting of a run."""
    most = file.graph[file.graph.source].max_replicas
    return Splitting(path=workspace / "splitting", workers=most)


def partitioner_of(
    application: Application, file: PipelineFile, workspace: Path
) -> Callable[[], RowPartitioner] | None:
    """Makes the partitioner of each batch; None where rows are not partitioned by pane."""
    if application.partitioning is None:
        return None
    splitting = splitting_of(file, workspace)
    splitting.write(workers=file.graph[file.graph.source].initial_replicas)
    return application.partitioning.partitioner(splitting)


def split_panes(
    application: Application, watched: WatchedQuery, file: PipelineFile, workspace: Path
) -> AbstractContextManager[None]:
    """The running inner level, if the application has one; `watched` is the pane stage."""
    if application.partitioning is None:
        return nullcontext()
    module, hint = file.graph[watched.module], hint_path(workspace, watched.module)
    ask = watched.arrived
    return SplittingLoop(
        control=application.partitioning.control,
        splitting=splitting_of(file, workspace),
        load=LoadMeter.of(module, pane_seconds),
        events=_NewBatches(replace(watched)),  # a copy, which reads progress independently
        arrived=lambda: (ask() if ask else None) or 0,
        workers=lambda: parallelism(hint, otherwise=module.initial_replicas),
    ).running()


@dataclass(slots=True)
class _NewBatches:
    """New progress events; called often, so it first checks whether there are any."""

    watched: WatchedQuery
    _newest: str | None = None

    def __call__(self) -> list[Batch]:
        before, self._newest = self._newest, self.watched.newest()
        if self._newest == before:
            return []
        return [batch for batch, _ in self.watched.collect()]


@dataclass(slots=True, kw_only=True)
class SplittingLoop:
    """Splits panes so that the load of the pane stage meets its setpoint."""

    control: SplittingControl | None
    """None where panes stay whole, and only the number of workers changes."""
    splitting: Splitting
    load: LoadMeter
    events: Callable[[], Sequence[Batch]]
    """Progress events of the query since the last call."""
    arrived: Callable[[], int]
    """Rows that have arrived by now."""
    workers: Callable[[], int]
    """Executors that run now."""
    now: Callable[[], float] = time.time
    _memory: SplittingMemory = field(default_factory=SplittingMemory)
    _sizes: tuple[float, ...] = ()
    _panes: int = 0
    _in_force: Split | None = None

    def sample(self) -> None:
        """One sampling period: read the batches that have ended, and write the new splitting."""
        batches = [batch for batch in self.events() if not batch.idle]
        if batches:
            self._take(batches)
        self._write()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Samples until the end of the block."""
        self.events()  # skip the batches before the workload
        stop = threading.Event()
        thread = threading.Thread(target=self._run, args=(stop,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _run(self, stop: threading.Event) -> None:
        while not stop.wait(_PERIOD if self.control is None else self.control.period):
            # A sample that fails changes nothing.
            with suppress(Py4JError, PySparkException, PenstockError, OSError):
                self.sample()

    def _take(self, batches: Sequence[Batch]) -> None:
        waiting = rows_behind(self.arrived(), batches[-1].read or 0)
        load = self.load(batches, ModuleReading(backlog=waiting), now=self.now())
        if self.control is not None:
            self._memory = self.control.step(self._memory, load)
        panes = panes_of(batches[-1])
        if panes is not None and panes.part_sizes is not None:
            mean, deviation = panes.part_sizes
            self._sizes = (mean - deviation, mean + deviation)  # which have that very deviation
            self._panes += panes.panes

    def _threshold(self) -> int | None:
        if self.control is None:
            return None
        rows = self.control.threshold(self._memory, self._sizes, self._panes)
        return None if rows is None else max(round(rows), 1)

    def _write(self) -> None:
        workers = min(max(self.workers(), 1), self.splitting.workers)
        split = Split(workers=workers, threshold=self._threshold())
        if split != self._in_force:
            self.splitting.write(threshold=split.threshold, workers=split.workers)
            self._in_force = split
