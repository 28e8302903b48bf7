"""Start the queries of one or several applications on a Spark session, and stop them again.

Every module is a streaming query with executors of its own. The module that shuffles runs under
Spark's default profile, where all of its stages stay together; each of the others carries a
profile that pins its single stage. Where several pipelines share executors, all modules run under
the default profile, each in a scheduler pool with a share that is decided; or each pipeline in one,
where Spark's own scheduler is to divide.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyspark.resource import ResourceProfile
from pyspark.sql import SparkSession

from penstock.core.errors import ClusterError
from penstock.model.power import VOLTAGES, VoltageTable
from penstock.pipeline.deploy.kafka import KafkaFeed
from penstock.pipeline.deploy.module import ModuleQuery, assign_profiles, state_partitions, warm_up
from penstock.pipeline.deploy.pipeline import Deployment
from penstock.pipeline.deploy.splitting import split_panes
from penstock.pipeline.settings import PipelineFile
from penstock.pipeline.sharing import shares_executors, uses_spark_scheduler
from penstock.spark import source, streams
from penstock.spark.actuator import Actuator, ExecutorPool
from penstock.spark.backend import Backend
from penstock.spark.machine import FrequencyControl, Processors, find_processors
from penstock.spark.plant import SparkPlant
from penstock.spark.progress import WatchedQuery
from penstock.spark.regions import Regions
from penstock.spark.warmup import ExecutorWarmup

_START_TIMEOUT: Final = 120.0
"""Seconds for the first executors to start, and for the first rows to be processed."""
_DRAIN_TIMEOUT: Final = 60.0
"""Seconds for the last rows to be processed after the end of the workload."""


def _await(lacks: Callable[[], str | None]) -> None:
    """Wait until nothing is lacking; raise what still is after a while."""
    deadline = time.monotonic() + _START_TIMEOUT
    while (lack := lacks()) is not None:
        if time.monotonic() > deadline:
            raise ClusterError(lack)
        time.sleep(0.05)


def await_executors(actuator: Actuator | ExecutorPool) -> None:
    """Wait until every module has its initial executors."""

    def lacks() -> str | None:
        running = actuator.running(actuator.backend.executors())
        short = [m for m, n in actuator.expected().items() if len(running[m]) < n]
        return (
            f"no executor started for {', '.join(short)} in {_START_TIMEOUT:.0f} s; "
            "see whether the cluster has a free core and enough memory"
            if short
            else None
        )

    _await(lacks)


def await_first_rows(plant: SparkPlant, modules: Collection[str]) -> None:
    """Wait until these queries have processed the first rows, which warms up every process."""
    lack = (
        f"the first rows were not processed within {_START_TIMEOUT:.0f} s; "
        "see whether the executors can read and write the run folder"
    )
    _await(lambda: None if plant.drained(modules) else lack)
    plant.collect_progress()


def drain(plant: SparkPlant) -> None:
    """Wait until every row that arrived is processed, up to a timeout.

    One module after the other, for the rows that have arrived by then: those of a topic never end.
    """
    deadline = time.monotonic() + _DRAIN_TIMEOUT
    for name, watched in plant.queries.items():
        arrived = (watched.arrived() if watched.arrived else None) or 0
        while not plant.through(name, arrived) and time.monotonic() < deadline:
            time.sleep(0.05)
    plant.collect_progress()


_SCHEDULER_POOL: Final = "spark.scheduler.pool"
_NO_POOL: Final = "default"
"""Spark's name of the pool of jobs without one."""

Modules = Mapping[str, ModuleQuery]


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A Spark session, and the check of its cluster."""

    spark: SparkSession
    check_cluster: Callable[[], None] = lambda: None
    """Raises if the cluster has ended; a cluster of others is not checked."""
    regions: Regions | None = None
    """The regions whose nodes are decided."""


@contextmanager
def deploy(
    session: Session,
    file: PipelineFile,
    pipelines: Mapping[str, Deployment],
    *,
    workspace: Path,
    results: Path,
    duration: float,
    on_progress: Callable[[str], None],
) -> Iterator[SparkPlant]:
    """The pipelines running on the session, as a plant; drained and stopped at the end.

    `file` has their common settings. A single pipeline has the name "", and each of several
    publishes in a folder of its own within `results`.
    """
    spark = session.spark
    for name, pipeline in pipelines.items():
        (results / name).mkdir(parents=True, exist_ok=True)
        pipeline.application.prepare()
    modules = {name: each for pipe in pipelines.values() for name, each in pipe.modules.items()}
    actuator = _actuator(session, file, modules, workspace)
    warmup = ExecutorWarmup(actuator, lambda name, tasks: warm_up(spark, modules.get(name), tasks))
    actuator.on_growth = warmup.expect
    if isinstance(actuator, ExecutorPool):
        actuator.open()
    actuator.want({name: each.module.initial_replicas for name, each in modules.items()})
    spark.conf.set("spark.sql.shuffle.partitions", state_partitions(modules))
    spark.dataSource.register(source.WorkloadSource)
    spark.dataSource.register(streams.StreamSource)
    for name, pipeline in pipelines.items():
        pipeline.connect(
            spark, actuator, workspace=workspace, results=results / name, duration=duration
        )
    queries = _start(
        spark, pipelines, by_module=shares_executors(file) and not uses_spark_scheduler(file)
    )
    processors = _processors(file)
    plant = SparkPlant(
        queries=queries,
        actuator=actuator,
        step=file.step,
        duration=duration,
        finals=file.graph.sinks(),
        on_progress=on_progress,
        check_cluster=session.check_cluster,
        regions=session.regions,
        reroute={
            name: keyed.operator.reroute
            for pipeline in pipelines.values()
            for name, keyed in pipeline.by_key().items()
        },
        frequency=_frequency_control(processors, pipelines.values()) if processors else None,
    )
    own_rows = [d for d in pipelines.values() if not isinstance(d.feed, KafkaFeed)]
    with processors or nullcontext():  # which restore the frequency at the end
        try:
            await_executors(actuator)
            # a topic has no first rows of ours
            await_first_rows(plant, {name for each in own_rows for name in each.modules})
            began = time.time()  # of all workloads
            with ExitStack() as splitting:
                for each in pipelines.values():
                    each.feed.open(began)
                for each in pipelines.values():
                    first = queries[each.file.graph.source]
                    loop = split_panes(each.application, first, each.file, workspace)
                    splitting.enter_context(loop)
                yield plant
                ended = time.time()
                for each in pipelines.values():
                    each.feed.close(ended)
                drain(plant)
            for each in pipelines.values():
                each.settle()
        finally:
            warmup.close()
            plant.results.update(_results(pipelines, plant))
            for watched in queries.values():
                watched.query.stop()
            for each in pipelines.values():
                each.close()


def _actuator(
    session: Session, file: PipelineFile, modules: Modules, workspace: Path
) -> Actuator | ExecutorPool:
    """What asks for executors; the modules get their profiles and their places in the workspace."""
    backend = Backend(session.spark)
    if shares_executors(file):
        profiles: Mapping[str, ResourceProfile | None] = dict.fromkeys(modules)
    else:
        memory = session.spark.sparkContext.getConf().get("spark.executor.memory")
        places = session.regions.resources() if session.regions else {}
        profiles = assign_profiles(backend, modules, memory or file.cluster.executor_memory, places)
    for name, profile in profiles.items():
        modules[name].place(workspace, profile)
    if shares_executors(file):
        divided, most = not uses_spark_scheduler(file), file.cores or len(modules)
        return ExecutorPool(backend, modules, most, divided=divided)
    return Actuator(backend, modules)


def _start(
    spark: SparkSession, pipelines: Mapping[str, Deployment], *, by_module: bool
) -> dict[str, WatchedQuery]:
    """Start every query, each in the scheduler pool of its module or of its pipeline.

    A query keeps the pool of the thread that started it.
    """
    queries: dict[str, WatchedQuery] = {}
    for name, deployment in pipelines.items():
        for module in deployment.file.graph.order():
            pool = module if by_module else name or _NO_POOL
            spark.sparkContext.setLocalProperty(_SCHEDULER_POOL, pool)
            queries[module] = deployment.start(module)
    spark.sparkContext.setLocalProperty(_SCHEDULER_POOL, _NO_POOL)
    return queries


def _results(pipelines: Mapping[str, Deployment], plant: SparkPlant) -> dict[str, object]:
    """The results of each pipeline, under its name if there are several."""
    results = {name: deployment.results(plant) for name, deployment in pipelines.items()}
    if "" in results:
        return results[""]
    waiting = {
        name: rows for of in results.values() for name, rows in of.pop("rows_waiting").items()
    }
    through = plant.finished()
    out = {name: through.get(name, 0) for name in plant.finals}
    return {"pipelines": results, "rows_waiting": waiting, "rows_out": out}


def _frequency_control(
    processors: Processors, pipelines: Collection[Deployment]
) -> FrequencyControl:
    def slow_down(share: float) -> None:
        for deployment in pipelines:
            deployment.slow_down(share)

    return FrequencyControl(processors=processors, on_slowdown=slow_down)


def _processors(file: PipelineFile) -> Processors | None:
    """The machine's, or modelled ones where the policy chooses a frequency, with its voltages."""
    settings = file.policy.settings
    decides = str(settings.get("strategy", "")).endswith("-power")
    given = settings.get("voltages")
    voltages = VOLTAGES if given is None else VoltageTable.parse(given)
    return find_processors(decides=decides, voltages=voltages)
