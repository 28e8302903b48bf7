"""One pipeline on a session: a streaming query for each of its modules, and the streams between."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from math import isinf
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import uuid4

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.core.errors import PenstockError, SettingError, describe
from penstock.core.extras import require
from penstock.core.graph import Module
from penstock.core.plugins import is_ours, load
from penstock.core.settings import choose
from penstock.pipeline.application import Application, Meter
from penstock.pipeline.deploy.kafka import KafkaFeed, TopicWriter, offsets_of
from penstock.pipeline.deploy.keyed import KeyedModule, appending, make_keyed
from penstock.pipeline.deploy.module import (
    ModuleQuery,
    columns_of,
    hint_path,
    lay_out,
    process,
    watch,
)
from penstock.pipeline.deploy.splitting import partitioner_of
from penstock.pipeline.settings import PipelineFile
from penstock.pipeline.shape import APPLICATIONS, AppSpec
from penstock.query.keyed import KeyedWork
from penstock.query.keyed.operator import Sink
from penstock.spark import source
from penstock.spark.actuator import PARTS, Actuator, ExecutorPool
from penstock.spark.plant import SparkPlant
from penstock.spark.progress import WatchedQuery
from penstock.spark.streams import FORMAT, DurableStream, write_options

T = TypeVar("T")

_FIRST_ROWS: Final = 32
"""Rows that go through every query before the workload begins."""


def spec_of(part: PipelineFile) -> AppSpec:
    """The declaration of the application that a file names."""
    return choose(APPLICATIONS, part.application or part.name, of="pipeline")


def application_of(part: PipelineFile) -> Application:
    """What the application that a file names runs on Spark."""
    spec = spec_of(part)
    built_in = (part.application or part.name) in APPLICATIONS.built_in
    require("apps" if built_in else None, spec.name, *spec.needs)
    try:
        made = load(spec.spark)
    except SettingError as error:
        raise SettingError(f"pipeline {spec.name!r} cannot be loaded: {error}") from error
    if callable(made) and not isinstance(made, Application):
        factory = made
        try:
            made = factory(part)
        except (Exception, SystemExit) as error:
            if isinstance(error, PenstockError) or is_ours(factory):
                raise
            raise SettingError(
                f"pipeline {spec.name!r} cannot be made: {spec.spark} raises {describe(error)}"
            ) from error
    if not isinstance(made, Application):
        raise SettingError(
            f"pipeline {spec.name!r} cannot be used: {spec.spark} must be an Application, or a "
            f"function that makes one of a pipeline file, got {made!r}"
        )
    return made


@dataclass(slots=True, kw_only=True, eq=False)
class Deployment:
    """One pipeline of a run, alone or beside others: its modules, its feed and its consumer.

    It is laid out before anything starts, and connected to a session later.
    """

    file: PipelineFile
    application: Application
    modules: dict[str, ModuleQuery]
    spark: SparkSession = field(init=False)
    actuator: Actuator | ExecutorPool = field(init=False)
    feed: source.Feed | KafkaFeed = field(init=False)
    consumer: Any = field(init=False)
    topic: TopicWriter | None = field(default=None, init=False)
    """The topic that results are written to as well."""
    parts: int = field(default=1, init=False)
    """Parts of a batch for each executor that a module has or may have."""

    @classmethod
    def of(cls, file: PipelineFile) -> "Deployment":
        """The pipeline of a file, laid out; refused where modules do not fit the application."""
        application = application_of(file)
        modules = lay_out(file.graph, spec_of(file).shape, application)
        return cls(file=file, application=application, modules=modules)

    def connect(
        self,
        spark: SparkSession,
        actuator: Actuator | ExecutorPool,
        *,
        workspace: Path,
        results: Path,
        duration: float,
    ) -> None:
        """Make ready what feeds the modules and what takes their results, published in a folder."""
        self.spark, self.actuator = spark, actuator
        self.parts = PARTS if isinstance(actuator, ExecutorPool) else 1
        self.feed = make_feed(
            spark, self.file, self.application, workspace, duration, parts=self.parts
        )
        self.consumer = self.application.consumer(results)
        self.topic = self._topic(results.name)

    def _topic(self, run: str) -> TopicWriter | None:
        """What writes results to the file's topic, which must be there and have a key of theirs."""
        sink = self.file.sink
        if sink is None:
            return None
        run = f"{run}-{uuid4().hex[:8]}"  # the name of a folder may be reused
        writer = TopicWriter(spark=self.spark, sink=sink, run=run)
        last = self.modules[self.file.graph.sinks()[0]]
        writer.check(columns_of(last.schema).fieldNames())
        offsets = offsets_of(self.spark, sink, "kafka of sink")
        offsets.latest()
        offsets.close()
        return writer

    def by_key(self) -> dict[str, KeyedModule]:
        """The modules whose rows are routed by key, once they have been started."""
        keyed = {name: running.by_key for name, running in self.modules.items()}
        return {name: module for name, module in keyed.items() if module is not None}

    def results(self, plant: SparkPlant) -> dict[str, Any]:
        """The results, with the counts of rows fed, waiting and refused."""
        fed = self.feed.arrived(time.time())
        refused = self._refused()
        counts = {"rows_refused": {n: of for n, of in refused.items() if of}} if refused else {}
        waiting = {name: rows for name, rows in plant.waiting().items() if name in self.modules}
        return {**self.consumer.results(), "rows_fed": fed, "rows_waiting": waiting, **counts}

    def _refused(self) -> dict[str, dict[str, int]]:
        """By module that may refuse rows, those that it did, by reason."""
        refused = {name: +module.monitor.refused for name, module in self.by_key().items()}
        if isinstance(self.feed, KafkaFeed):
            first = self.file.graph.source
            refused[first] = refused.get(first, Counter()) + self.feed.refused
        return {name: dict(reasons) for name, reasons in refused.items()}

    def close(self) -> None:
        """Close what does not end with the session."""
        if isinstance(self.feed, KafkaFeed):
            self.feed.offsets.close()

    def settle(self) -> None:
        """Process rows that wait for the state of their key."""
        for module in self.by_key().values():
            module.operator.settle()

    def slow_down(self, share: float) -> None:
        """Lengthen service times as on a machine at a share of its highest frequency."""
        for module in self.by_key().values():
            module.slow_down(share)

    def start(self, name: str) -> WatchedQuery:
        """Start the query of a module, one after the other: Spark's look-up of sources knows no
        threads."""
        running = self.modules[name]
        work = running.keyed_work
        running.watched = self._start(running) if work is None else self._keyed(running, work)
        return running.watched

    def _start(self, running: ModuleQuery) -> WatchedQuery:
        query = self._write(running, process(running, self._read(running)))
        return self._watch(running, query, running.measure())

    def _keyed(self, running: ModuleQuery, work: KeyedWork) -> WatchedQuery:
        keyed = running.by_key = make_keyed(running, work, self._keyed_sink(running))
        writer = self._writer(running, watch(self._read(running)), mode="append")
        query = writer.foreachBatch(keyed.operator.take).start()
        return self._watch(running, query, lambda *_: keyed.measured())

    def _watch(self, running: ModuleQuery, query: StreamingQuery, measured: Meter) -> WatchedQuery:
        """The query with what counts its rows; those of a topic are counted by the topic."""
        watched = WatchedQuery(
            module=running.name, query=query, arrived=self._arrivals(running), measured=measured
        )
        if not running.sources and isinstance(self.feed, KafkaFeed):
            watched.base, watched.on_batch = self.feed.base, self.feed.count_refused
        return watched

    def _keyed_sink(self, running: ModuleQuery) -> Sink:
        streams = [DurableStream(running.stream_to(to)) for to in running.targets.values()]
        for stream_ in streams:
            stream_.create()
        if streams:
            take = appending(streams[0])
        else:
            last: Sink = self.consumer.take
            take = last if self.topic is None else self.topic.before_tables(last)
        return self._notifying(running, take)

    def _notifying(
        self, running: ModuleQuery, take: Callable[[T, int], None]
    ) -> Callable[[T, int], None]:
        """A sink that notifies the actuator at the end of each batch."""

        def both(batch: T, number: int) -> None:
            take(batch, number)
            self.actuator.batch_ended(running.name)

        return both

    def _read(self, running: ModuleQuery) -> DataFrame:
        if not running.sources:
            return self.feed.read(self.spark)
        share = _share(running.module, len(running.sources) * self.parts) or ""
        streams = [
            self.spark.readStream.format(FORMAT)
            .option("path", path)
            .option("columns", self.modules[origin].schema)
            .option("hint", str(running.hint))
            .option("share", share)
            .load()
            for origin, path in running.streams_in().items()
        ]
        return reduce(DataFrame.unionByName, streams)

    def _write(self, running: ModuleQuery, table: DataFrame) -> StreamingQuery:
        writer = self._writer(running, table, mode="update" if running.updates else "append")
        if not self.file.graph.outputs(running.name):
            last = self.consumer if self.topic is None else self.topic.before(self.consumer)
            return writer.foreachBatch(self._notifying(running, last)).start()
        paths = {key: running.stream_to(to) for key, to in running.targets.items()}
        for path in paths.values():
            DurableStream(path).create()
        if running.shuffles:  # Spark supports no update mode for our sink
            # a batch of updates, one row for each key at the most, by way of the driver
            sink = _of_batches(appending(DurableStream(next(iter(paths.values())))))
            return writer.foreachBatch(self._notifying(running, sink)).start()
        return writer.format(FORMAT).options(**write_options(paths, running.route)).start()

    def _writer(self, running: ModuleQuery, table: DataFrame, *, mode: str) -> DataStreamWriter:
        writer = (
            table.writeStream.queryName(running.name)
            .outputMode(mode)
            .option("checkpointLocation", str(running.checkpoint))
        )
        trigger = running.module.trigger
        if trigger <= 0:
            return writer
        return writer.trigger(processingTime=f"{round(trigger * 1000)} milliseconds")

    def _arrivals(self, running: ModuleQuery) -> Callable[[], int | None]:
        if not running.sources:
            return lambda: self.feed.arrived(time.time())
        streams = [DurableStream(path) for path in running.streams_in().values()]
        return lambda: sum(each.length() for each in streams)


def _of_batches(take: Sink) -> Callable[[DataFrame, int], None]:
    return lambda batch, number: take(batch.toArrow(), number)


def rows_of(file: PipelineFile, application: Application) -> source.RowMaker:
    """The rows of the source, with the number of keys of the file if rows have keys."""
    keys = file.graph[file.graph.source].keys
    return application.rows(file.seed, keys) if keys else application.rows(file.seed)


def make_feed(
    spark: SparkSession,
    file: PipelineFile,
    application: Application,
    workspace: Path,
    duration: float,
    *,
    parts: int,
) -> source.Feed | KafkaFeed:
    """The rows of a run: those of the file's topic, or of its workload when the feed is opened."""
    if file.source.kafka is not None:
        return KafkaFeed.at(
            spark,
            file.source.kafka,
            file.graph[file.graph.source],
            schema=rows_of(file, application).schema,
            format=file.source.kafka.format_for(str(file.application)),
            max_rows=file.source.max_rows,
        )
    return source.Feed(
        workload=file.workload,
        rows=rows_of(file, application),
        gate=workspace / f"start-{file.graph.source}",
        first=_FIRST_ROWS,
        total=int(file.workload.arrivals(np.array([duration]))[0]),
        disorder=file.source.disorder,
        seed=file.seed,
        max_rows=file.source.max_rows,
        share=_share(file.graph[file.graph.source], parts),
        hint=hint_path(workspace, file.graph.source),
        partitioner=partitioner_of(application, file, workspace),
    )


def _share(module: Module, parts: int) -> int | None:
    """Rows in one of so many parts of what an executor takes on in a batch, at most."""
    rows = module.rows_a_batch
    return None if isinf(rows) else max(int(rows) // parts, 1)
