"""Start an application's queries on a Spark session, one for each module of its file.

Every module is a streaming query with executors of its own. The module that shuffles runs under
Spark's default profile, where all of its stages stay together; each of the others carries a
profile that pins its single stage.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
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
from penstock.model.power import VOLTAGES, VoltageTable
from penstock.pipeline.application import Application
from penstock.pipeline.inner import emitter_of, split_panes
from penstock.pipeline.keyed import KeyedModule, appending, handing, make_keyed
from penstock.pipeline.layout import (
    Stage,
    assign_profiles,
    hint_path,
    lay_out,
    make_lane,
    state_partitions,
)
from penstock.pipeline.query import process, warm_up, watch
from penstock.pipeline.settings import APPLICATIONS, PipelineFile
from penstock.pipeline.waiting import await_executors, await_first_rows, drain
from penstock.plant.machine import Processors
from penstock.plant.spark import source, stream
from penstock.plant.spark.actuator import Actuator
from penstock.plant.spark.backend import Backend
from penstock.plant.spark.clock import Clock, find_processors
from penstock.plant.spark.durable import DurableStream
from penstock.plant.spark.plant import SparkPlant, Watched
from penstock.plant.spark.regions import Regions
from penstock.plant.spark.welcome import Welcome
from penstock.query.keyed.operator import Sink

_FIRST_ROWS: Final = 32
"""Rows that go through every query before the workload begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A Spark session, and how to see whether the cluster beneath it still stands."""

    spark: SparkSession
    check_cluster: Callable[[], None] = lambda: None
    """Raises where it does not; a cluster that is not ours is not ours to watch."""
    regions: Regions | None = None
    """Whose nodes host the executors, where they are ours to decide about."""


@dataclass(slots=True, kw_only=True)
class Deployment:
    """The queries of one application on one session."""

    spark: SparkSession
    file: PipelineFile
    workspace: Path
    """Where checkpoints, streams between modules and hints for the sources lie."""
    profiles: dict[str, ResourceProfile | None]
    stages: dict[str, Stage]
    feed: source.Feed
    actuator: Actuator
    consumer: Any
    keyed: dict[str, KeyedModule] = field(default_factory=dict)
    """Modules whose rows are routed by key."""

    def start(self) -> dict[str, Watched]:
        """Start every query, one after the other: Spark's look-up of sources knows no threads."""
        return {name: self._start(name) for name in self.file.graph.order()}

    def results(self, plant: SparkPlant) -> dict[str, Any]:
        """What came out, and whether it is all that went in."""
        fed = self.feed.arrived(time.time())
        refused = {name: dict(+module.monitor.refused) for name, module in self.keyed.items()}
        told = {"rows_refused": {n: of for n, of in refused.items() if of}} if refused else {}
        waiting = plant.waiting()
        return {**self.consumer.results(), "rows_fed": fed, "rows_waiting": waiting, **told}

    def settle(self) -> None:
        """Let rows that wait for the state of their key wait no longer."""
        for module in self.keyed.values():
            module.operator.settle()

    def pace(self, share: float) -> None:
        """Let rows take as much longer as modelled processors are slower."""
        for module in self.keyed.values():
            module.pace(share)

    def _start(self, name: str) -> Watched:
        if self.stages[name].keyed is not None:
            return self._start_keyed(name)
        table = process(self.stages[name], self._read(name), self.profiles[name])
        return Watched(
            module=name,
            query=self._write(name, table),
            arrived=self._arrivals(name),
            measured=self.stages[name].measure(),
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
        )

    def _keyed_sink(self, name: str) -> Sink:
        targets = self.stages[name].targets.values()
        streams = [DurableStream(self._stream_path(name, target)) for target in targets]
        for stream_ in streams:
            stream_.create()
        take = appending(streams[0]) if streams else self.consumer.take
        return handing(take, lambda: self.actuator.batch_ended(name))

    def _read(self, name: str) -> DataFrame:
        stage, reader = self.stages[name], self.spark.readStream
        if not stage.sources:
            return reader.format(source.FORMAT).option("feed", self.feed.encode()).load()
        streams = [
            reader.format(stream.FORMAT)
            .option("path", self._stream_path(origin, name))
            .option("columns", self.stages[origin].schema)
            .option("hint", str(hint_path(self.workspace, name)))
            .option("share", _share(stage.module, len(stage.sources)) or "")
            .load()
            for origin in stage.sources
        ]
        return reduce(DataFrame.unionByName, streams)

    def _write(self, name: str, table: DataFrame) -> StreamingQuery:
        stage = self.stages[name]
        writer = self._writer(name, table, mode="update" if stage.updates else "append")
        if not self.file.graph.outputs(name):
            return writer.foreachBatch(self._ending_batches(name, self.consumer)).start()
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

    def _arrivals(self, name: str) -> Callable[[], int]:
        origins = self.stages[name].sources
        if not origins:
            return lambda: self.feed.arrived(time.time())
        streams = [DurableStream(self._stream_path(origin, name)) for origin in origins]
        return lambda: sum(stream.length() for stream in streams)

    def _stream_path(self, origin: str, target: str) -> str:
        return str(self.workspace / "streams" / f"{origin}--{target}")


@contextmanager
def deploy(
    session: Session,
    file: PipelineFile,
    application: Application,
    *,
    workspace: Path,
    results: Path,
    duration: float,
    on_progress: Callable[[str], None],
) -> Iterator[SparkPlant]:
    """The application running on the session, as a plant; drained and stopped at the end."""
    spark = session.spark
    application.prepare()
    stages = lay_out(file.graph, APPLICATIONS[file.name], application)
    backend = Backend(spark)
    memory = spark.sparkContext.getConf().get("spark.executor.memory")
    places = session.regions.resources() if session.regions else {}
    profiles = assign_profiles(backend, stages, memory or file.cluster.executor_memory, places)
    lanes = {
        name: make_lane(name, stage, profiles[name], workspace, spark)
        for name, stage in stages.items()
    }
    actuator = Actuator(backend, lanes)
    welcome = Welcome(actuator, lambda name, tasks: warm_up(spark, profiles[name], tasks))
    actuator.on_growth = welcome.expect
    actuator.want({name: stage.module.initial_replicas for name, stage in stages.items()})
    spark.conf.set("spark.sql.shuffle.partitions", state_partitions(stages))
    spark.dataSource.register(source.WorkloadSource)
    spark.dataSource.register(stream.StreamSource)
    deployment = Deployment(
        spark=spark,
        file=file,
        workspace=workspace,
        profiles=profiles,
        stages=stages,
        feed=_feed(file, application, workspace, duration),
        actuator=actuator,
        consumer=application.consumer(results),
    )
    queries = deployment.start()
    processors = _processors(file)
    plant = SparkPlant(
        queries=queries,
        actuator=actuator,
        step=file.step,
        duration=duration,
        final=file.graph.sinks()[0],
        on_progress=on_progress,
        check_cluster=session.check_cluster,
        regions=session.regions,
        reroute={name: module.operator.reroute for name, module in deployment.keyed.items()},
        clock=None if processors is None else Clock(processors=processors, on_pace=deployment.pace),
    )
    with processors or nullcontext():  # which leave the clock as they found it
        try:
            await_executors(actuator)
            await_first_rows(plant)
            deployment.feed.open(time.time())
            with split_panes(application, queries[file.graph.source], file, workspace):
                yield plant
                deployment.feed.close(time.time())
                drain(plant)
            deployment.settle()
        finally:
            welcome.close()
            plant.results.update(deployment.results(plant))
            for watched in queries.values():
                watched.query.stop()


def _processors(file: PipelineFile) -> Processors | None:
    """The machine's, or modelled ones where the policy chooses a frequency, with its voltages."""
    settings = file.policy.settings
    decides = str(settings.get("strategy", "")).endswith("-power")
    given = settings.get("voltages")
    voltages = VOLTAGES if given is None else VoltageTable.parse(given)
    return find_processors(decides=decides, voltages=voltages)


def _rows(file: PipelineFile, application: Application) -> source.RowMaker:
    """What the source makes, of as many keys as the file says where rows have any."""
    keys = file.graph[file.graph.source].keys
    return application.rows(file.seed, keys) if keys else application.rows(file.seed)


def _feed(
    file: PipelineFile, application: Application, workspace: Path, duration: float
) -> source.Feed:
    return source.Feed(
        workload=file.workload,
        rows=_rows(file, application),
        gate=workspace / "start",
        first=_FIRST_ROWS,
        total=int(file.workload.arrivals(np.array([duration]))[0]),
        disorder=file.source.disorder,
        seed=file.seed,
        max_rows=file.source.max_rows,
        share=_share(file.graph[file.graph.source]),
        hint=hint_path(workspace, file.graph.source),
        emitter=emitter_of(application, file, workspace),
    )


def _share(module: Module, sources: int = 1) -> int | None:
    """Rows that an executor takes on in a batch from each of so many sources, at most."""
    rows = module.rows_a_batch
    return None if isinf(rows) else max(int(rows) // sources, 1)


def _appending(to: DurableStream) -> Callable[[DataFrame, int], None]:
    """Writes a batch of updates, one row for each key at the most, by way of the driver."""

    def append(batch: DataFrame, number: int) -> None:
        table = batch.toArrow()
        columns = pa.schema([column.with_nullable(True) for column in table.schema])
        written = to.write_file(iter(table.to_batches()), columns)
        if not to.append(number, [written]):
            to.delete_files([written[0]])

    return append
