"""The queries of one application on one session, one for each module of its file."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from math import isinf
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.resource import ResourceProfile
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.core.graph import Module
from penstock.pipeline.application import Application
from penstock.pipeline.deploy.inner import emitter_of
from penstock.pipeline.deploy.kafka import KafkaFeed, TopicWriter
from penstock.pipeline.deploy.keyed import KeyedModule, appending, handing, make_keyed
from penstock.pipeline.deploy.layout import Stage, hint_path
from penstock.pipeline.deploy.query import process, watch
from penstock.pipeline.settings import PipelineFile
from penstock.query.keyed.operator import Sink
from penstock.spark import source
from penstock.spark import streams as stream
from penstock.spark.actuator import Actuator, Pool
from penstock.spark.plant import SparkPlant, Watched
from penstock.spark.streams import DurableStream

_FIRST_ROWS: Final = 32
"""Rows that go through every query before the workload begins."""


@dataclass(slots=True, kw_only=True)
class Deployment:
    """The queries of one application on one session."""

    spark: SparkSession
    file: PipelineFile
    workspace: Path
    """Where checkpoints, streams between modules and hints for the sources lie."""
    profiles: dict[str, ResourceProfile | None]
    stages: dict[str, Stage]
    feed: source.Feed | KafkaFeed
    actuator: Actuator | Pool
    consumer: Any
    keyed: dict[str, KeyedModule] = field(default_factory=dict)
    """Modules whose rows are routed by key."""
    parts: int = 1
    """Parts of a batch for each executor that a module has or may have."""
    topic: TopicWriter | None = None
    """Where results go besides, if anywhere."""

    def results(self, plant: SparkPlant) -> dict[str, Any]:
        """What came out, and whether it is all that went in."""
        fed = self.feed.arrived(time.time())
        refused = self._refused()
        told = {"rows_refused": {n: of for n, of in refused.items() if of}} if refused else {}
        waiting = {name: rows for name, rows in plant.waiting().items() if name in self.stages}
        return {**self.consumer.results(), "rows_fed": fed, "rows_waiting": waiting, **told}

    def _refused(self) -> dict[str, dict[str, int]]:
        """By module that may refuse rows, those that it did, by reason."""
        refused = {name: +module.monitor.refused for name, module in self.keyed.items()}
        if isinstance(self.feed, KafkaFeed):
            first = self.file.graph.source
            refused[first] = refused.get(first, Counter()) + self.feed.refused
        return {name: dict(reasons) for name, reasons in refused.items()}

    def close(self) -> None:
        """Let go of what the session does not end."""
        if isinstance(self.feed, KafkaFeed):
            self.feed.offsets.close()

    def settle(self) -> None:
        """Let rows that wait for the state of their key wait no longer."""
        for module in self.keyed.values():
            module.operator.settle()

    def pace(self, share: float) -> None:
        """Let rows take as much longer as modelled processors are slower."""
        for module in self.keyed.values():
            module.pace(share)

    def start(self, name: str) -> Watched:
        """Start the query of a module, one after the other: Spark's look-up of sources knows no
        threads."""
        if self.stages[name].keyed is not None:
            return self._start_keyed(name)
        table = process(self.stages[name], self._read(name), self.profiles[name])
        return Watched(
            module=name,
            query=self._write(name, table),
            arrived=self._arrivals(name),
            measured=self.stages[name].measure(),
            **self._counting(name),
        )

    def _start_keyed(self, name: str) -> Watched:
        module = make_keyed(name, self.stages[name], self.workspace, self._keyed_sink(name))
        self.keyed[name] = module
        writer = self._writer(name, watch(self._read(name)), mode="append")
        return Watched(
            module=name,
            query=writer.foreachBatch(module.operator.take).start(),
            arrived=self._arrivals(name),
            measured=lambda *_: module.measured(),
            **self._counting(name),
        )

    def _counting(self, name: str) -> dict[str, Any]:
        """How the rows of a topic are counted."""
        if self.stages[name].sources or not isinstance(self.feed, KafkaFeed):
            return {}
        return {"base": self.feed.base, "on_batch": self.feed.hear}

    def _keyed_sink(self, name: str) -> Sink:
        targets = self.stages[name].targets.values()
        streams = [DurableStream(self._stream_path(name, target)) for target in targets]
        for stream_ in streams:
            stream_.create()
        take = appending(streams[0]) if streams else self._to_topic_too(self.consumer.take)
        return handing(take, lambda: self.actuator.batch_ended(name))

    def _to_topic_too(self, take: Sink) -> Sink:
        return take if self.topic is None else self.topic.before_tables(take)

    def _read(self, name: str) -> DataFrame:
        stage, reader = self.stages[name], self.spark.readStream
        if not stage.sources:
            return self.feed.read(self.spark)
        streams = [
            reader.format(stream.FORMAT)
            .option("path", self._stream_path(origin, name))
            .option("columns", self.stages[origin].schema)
            .option("hint", str(hint_path(self.workspace, name)))
            .option("share", _share(stage.module, len(stage.sources) * self.parts) or "")
            .load()
            for origin in stage.sources
        ]
        return reduce(DataFrame.unionByName, streams)

    def _write(self, name: str, table: DataFrame) -> StreamingQuery:
        stage = self.stages[name]
        writer = self._writer(name, table, mode="update" if stage.updates else "append")
        if not self.file.graph.outputs(name):
            last = self.consumer if self.topic is None else self.topic.before(self.consumer)
            return writer.foreachBatch(self._ending_batches(name, last)).start()
        paths = {key: self._stream_path(name, to) for key, to in stage.targets.items()}
        for path in paths.values():
            DurableStream(path).create()
        if stage.shuffles:  # Spark writes updates to no sink of ours
            sink = _appending(DurableStream(next(iter(paths.values()))))
            return writer.foreachBatch(self._ending_batches(name, sink)).start()
        return writer.format(stream.FORMAT).options(**stream.ways(paths, stage.route)).start()

    def _writer(self, name: str, table: DataFrame, *, mode: str) -> DataStreamWriter:
        writer = (
            table.writeStream.queryName(name)
            .outputMode(mode)
            .option("checkpointLocation", str(self.workspace / "checkpoints" / name))
        )
        trigger = self.stages[name].module.trigger
        if trigger <= 0:
            return writer
        return writer.trigger(processingTime=f"{round(trigger * 1000)} milliseconds")

    def _ending_batches(
        self, name: str, sink: Callable[[DataFrame, int], None]
    ) -> Callable[[DataFrame, int], None]:
        """A sink that tells the actuator when a batch has ended."""

        def take(batch: DataFrame, number: int) -> None:
            sink(batch, number)
            self.actuator.batch_ended(name)

        return take

    def _arrivals(self, name: str) -> Callable[[], int | None]:
        origins = self.stages[name].sources
        if not origins:
            return lambda: self.feed.arrived(time.time())
        streams = [DurableStream(self._stream_path(origin, name)) for origin in origins]
        return lambda: sum(stream.length() for stream in streams)

    def _stream_path(self, origin: str, target: str) -> str:
        return str(self.workspace / "streams" / f"{origin}--{target}")


def rows_of(file: PipelineFile, application: Application) -> source.RowMaker:
    """What the source makes, of as many keys as the file says where rows have any."""
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
        emitter=emitter_of(application, file, workspace),
    )


def _share(module: Module, parts: int) -> int | None:
    """Rows in one of so many parts of what an executor takes on in a batch, at most."""
    rows = module.rows_a_batch
    return None if isinf(rows) else max(int(rows) // parts, 1)


def _appending(to: DurableStream) -> Callable[[DataFrame, int], None]:
    """Writes a batch of updates, one row for each key at the most, by way of the driver."""

    def append(batch: DataFrame, number: int) -> None:
        table = batch.toArrow()
        columns = pa.schema([column.with_nullable(True) for column in table.schema])
        written = to.write_file(iter(table.to_batches()), columns)
        if not to.append(number, [written]):
            to.delete_files([written[0]])

    return append
