"""Start an application's queries on a Spark session, one for each module of its file.

Every module is a streaming query with executors of its own. The module that shuffles runs under
Spark's default profile, where all of its stages stay together; each of the others carries a
profile that pins its single stage.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.resource import ResourceProfile
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import DoubleType, StructField, StructType

from penstock.core.errors import ClusterError, SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.pipeline.application import Application, Operator
from penstock.pipeline.settings import PipelineFile
from penstock.plant.spark import source, stream
from penstock.plant.spark.actuator import Actuator, Lane
from penstock.plant.spark.backend import DEFAULT_PROFILE, Backend
from penstock.plant.spark.monitor import LEVELS, METRICS
from penstock.plant.spark.plant import SparkPlant, Watched
from penstock.plant.spark.serve import SERVICE, Serve
from penstock.plant.spark.welcome import Welcome

_ARRIVAL_PATIENCE: Final = 120.0
"""Seconds for the first executors to come."""
_FIRST_ROWS: Final = 32
_HANDSHAKE: Final = 0.05
"""Seconds of a warm-up task: long enough that every executor gets one."""
_DRAIN_PATIENCE: Final = 60.0
"""Seconds for the last rows to get through after the workload has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A module with the operators that it runs."""

    module: Module
    operators: tuple[Operator, ...]
    source: str | None
    """The module that feeds it; None where the workload does."""

    @property
    def shuffles(self) -> bool:
        """Whether one of its operators does."""
        return any(operator.shuffles for operator in self.operators)

    @property
    def schema(self) -> str:
        """The columns that it puts out."""
        return self.operators[-1].schema


@dataclass(slots=True, kw_only=True)
class Deployment:
    """The queries of one application on one session."""

    spark: SparkSession
    file: PipelineFile
    application: Application
    workspace: Path
    """Where checkpoints, streams between modules and hints for the sources lie."""
    duration: float
    profiles: dict[str, ResourceProfile | None]
    stages: dict[str, Stage]
    feed: source.Feed
    actuator: Actuator
    consumer: Any

    def start(self) -> dict[str, Watched]:
        """Start every query, one after the other: Spark's look-up of sources knows no threads."""
        return {name: self._start(name) for name in self.file.graph.order()}

    def results(self, plant: SparkPlant) -> dict[str, Any]:
        """What came out, and whether it is all that went in."""
        fed, read = self.feed.arrived(time.time()), plant.queries[self.file.graph.source].read()
        return {**self.consumer.results(), "rows_fed": fed, "rows_waiting": fed - read}

    def _start(self, name: str) -> Watched:
        query = self._write(name, self._process(name, self._read(name)))
        return Watched(module=name, query=query, arrived=self._arrivals(name))

    def _read(self, name: str) -> DataFrame:
        stage, reader = self.stages[name], self.spark.readStream
        if stage.source is None:
            return reader.format(source.FORMAT).option("feed", self.feed.encode()).load()
        before = self.stages[stage.source]
        return (
            reader.format(stream.FORMAT)
            .option("path", self._stream_path(stage.source))
            .option("columns", before.schema)
            .option("hint", str(hint_path(self.workspace, name)))
            .load()
        )

    def _process(self, name: str, rows: DataFrame) -> DataFrame:
        stage, module = self.stages[name], self.stages[name].module
        serve = Serve(
            service_time=module.service_time, service_cv=module.service_cv, work=module.work
        )
        table = _observed(_served(rows, serve, self.profiles[name])).drop(SERVICE)
        for operator in stage.operators:
            table = operator.apply(table)
        return table

    def _write(self, name: str, table: DataFrame) -> StreamingQuery:
        stage = self.stages[name]
        writer = (
            table.writeStream.queryName(name)
            .outputMode("update" if stage.shuffles else "append")
            .option("checkpointLocation", str(self.workspace / "checkpoints" / name))
        )
        if stage.module.trigger > 0:
            writer = writer.trigger(
                processingTime=f"{round(stage.module.trigger * 1000)} milliseconds"
            )
        if self.file.graph.outputs(name):
            path = self._stream_path(name)
            stream.DurableStream(path).create()
            return writer.format(stream.FORMAT).option("path", path).start()
        return writer.foreachBatch(self._consume(name)).start()

    def _consume(self, name: str) -> Callable[[DataFrame, int], None]:
        def consume(batch: DataFrame, number: int) -> None:
            self.consumer(batch, number)
            self.actuator.batch_ended(name)

        return consume

    def _arrivals(self, name: str) -> Callable[[], int]:
        before = self.stages[name].source
        if before is None:
            return lambda: self.feed.arrived(time.time())
        return stream.Tail(stream.DurableStream(self._stream_path(before))).length

    def _stream_path(self, name: str) -> str:
        return str(self.workspace / "streams" / name)


@contextmanager
def deploy(
    spark: SparkSession,
    file: PipelineFile,
    application: Application,
    *,
    workspace: Path,
    results: Path,
    duration: float,
    on_progress: Callable[[str], None],
) -> Iterator[SparkPlant]:
    """The application running on the session, as a plant; drained and stopped at the end."""
    stages = lay_out(file.graph, application)
    backend = Backend(spark)
    profiles = _profiles(backend, stages, file.cluster.executor_memory)
    lanes = {
        name: _lane(name, stage, profiles[name], workspace, spark) for name, stage in stages.items()
    }
    actuator = Actuator(backend, lanes)
    welcome = Welcome(actuator, lambda name, tasks: _warm_up(spark, profiles[name], tasks))
    actuator.on_growth = welcome.expect
    actuator.want({name: stage.module.initial_replicas for name, stage in stages.items()})
    spark.conf.set("spark.sql.shuffle.partitions", _state_partitions(stages))
    spark.dataSource.register(source.WorkloadSource)
    spark.dataSource.register(stream.StreamSource)
    deployment = Deployment(
        spark=spark,
        file=file,
        application=application,
        workspace=workspace,
        duration=duration,
        profiles=profiles,
        stages=stages,
        feed=_feed(file, application, workspace, duration),
        actuator=actuator,
        consumer=application.consumer(results),
    )
    queries = deployment.start()
    plant = SparkPlant(
        queries=queries,
        actuator=actuator,
        step=file.step,
        duration=duration,
        final=file.graph.sinks()[0],
        on_progress=on_progress,
    )
    try:
        _await_executors(actuator)
        _await_first_rows(plant)
        deployment.feed.open(time.time())
        yield plant
        deployment.feed.close(time.time())
        _drain(plant)
    finally:
        welcome.close()
        plant.results.update(deployment.results(plant))
        for watched in queries.values():
            watched.query.stop()


def lay_out(graph: FlowGraph, application: Application) -> dict[str, Stage]:
    """Which module runs which operators, checked against the application's order."""
    order = graph.order()
    for name in order:
        if len(graph.outputs(name)) > 1:
            raise SettingError(f"module {name} feeds several modules; this pipeline is a chain")
    named = {name: graph[name].operators or (name,) for name in order}
    chain = [operator for name in order for operator in named[name]]
    if chain != list(application.operators):
        raise SettingError(
            f"the modules run {', '.join(chain)}; "
            f"this pipeline needs {', '.join(application.operators)}, in this order"
        )
    feeds = {s.target: s.origin for s in graph.streams}
    return {
        name: Stage(
            module=graph[name],
            operators=tuple(application.operators[operator] for operator in named[name]),
            source=feeds.get(name),
        )
        for name in order
    }


def hint_path(workspace: Path, name: str) -> Path:
    """The file that tells a module's source in how many parts to read a batch."""
    return workspace / "hints" / name


def _profiles(
    backend: Backend, stages: dict[str, Stage], memory: str
) -> dict[str, ResourceProfile | None]:
    default = next((name for name, stage in stages.items() if stage.shuffles), next(iter(stages)))
    return {name: None if name == default else backend.add_profile(memory) for name in stages}


def _lane(
    name: str, stage: Stage, profile: ResourceProfile | None, workspace: Path, spark: SparkSession
) -> Lane:
    hint = hint_path(workspace, name)
    hint.parent.mkdir(parents=True, exist_ok=True)
    return Lane(
        module=name,
        profile=DEFAULT_PROFILE if profile is None else profile.id,
        hint=hint,
        shuffles=stage.shuffles,
        between_batches=lambda: _between_batches(spark, name),
    )


def _between_batches(spark: SparkSession, name: str) -> bool:
    running = [query for query in spark.streams.active if query.name == name]
    return not any(query.status["isTriggerActive"] for query in running)


def _feed(
    file: PipelineFile, application: Application, workspace: Path, duration: float
) -> source.Feed:
    return source.Feed(
        workload=file.workload,
        rows=application.rows(file.seed),
        gate=workspace / "start",
        first=_FIRST_ROWS,
        total=int(file.workload.arrivals(np.array([duration]))[0]),
        disorder=file.source.disorder,
        seed=file.seed,
        max_rows=file.source.max_rows,
        hint=hint_path(workspace, file.graph.source),
    )


def _served(rows: DataFrame, serve: Serve, profile: ResourceProfile | None) -> DataFrame:
    schema = StructType([*rows.schema, StructField(SERVICE, DoubleType())])
    return rows.mapInArrow(serve, schema, profile=profile)


def _observed(served: DataFrame) -> DataFrame:
    created = sql.unix_micros("ts") / 1e6
    return served.observe(
        METRICS,
        sql.count(sql.lit(1)).alias("rows"),
        sql.sum(SERVICE).alias("service"),
        sql.sum(sql.col(SERVICE) * sql.col(SERVICE)).alias("service_squared"),
        sql.percentile_approx(created, list(LEVELS), 1000).alias("created"),
    )


def _await_executors(actuator: Actuator) -> None:
    give_up = time.monotonic() + _ARRIVAL_PATIENCE
    while True:
        running = actuator.running(actuator.backend.executors())
        short = [m for m, n in actuator.wanted.items() if len(running[m]) < n]
        if not short:
            return
        if time.monotonic() > give_up:
            raise ClusterError(
                f"no executor came for {', '.join(short)} in {_ARRIVAL_PATIENCE:.0f} s; "
                "see whether the cluster has a free core and enough memory"
            )
        time.sleep(0.05)


def _warm_up(spark: SparkSession, profile: ResourceProfile | None, tasks: int) -> None:
    """A task for each executor of a profile, through Python and back."""
    rows = spark.range(0, tasks, 1, tasks)
    with suppress(PySparkException, Py4JError):  # the session may end in the middle of it
        _served(rows, Serve(service_time=_HANDSHAKE), profile).collect()


def _await_first_rows(plant: SparkPlant) -> None:
    """Wait until the first rows have been through every query, and every process is awake."""
    give_up = time.monotonic() + _ARRIVAL_PATIENCE
    while not plant.drained():
        if time.monotonic() > give_up:
            raise ClusterError(
                f"the first {_FIRST_ROWS} rows are not through after {_ARRIVAL_PATIENCE:.0f} s; "
                "see whether the executors can read and write the run folder"
            )
        time.sleep(0.05)
    plant.collect_progress()


def _state_partitions(stages: dict[str, Stage]) -> int:
    """Parts that the state is kept in: fixed for good, so as many as executors can ever use."""
    return max((s.module.max_replicas for s in stages.values() if s.shuffles), default=1)


def _drain(plant: SparkPlant) -> None:
    """Wait until every row that came has been through, within bounds."""
    give_up = time.monotonic() + _DRAIN_PATIENCE
    while not plant.drained() and time.monotonic() < give_up:
        time.sleep(0.05)
    plant.collect_progress()
