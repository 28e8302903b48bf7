"""A module of a pipeline on Spark: its operators, its query and its executors.

In its query, rows are served, counted, timed and dated on their way through the operators.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.resource import ResourceProfile
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.types import DoubleType, StructField, StructType

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.core.settings import near
from penstock.pipeline.application import Application, Meter, Operator
from penstock.pipeline.shape import Shape, misfits, operators_of
from penstock.query.keyed import KeyedWork
from penstock.spark.backend import DEFAULT_PROFILE, Backend
from penstock.spark.progress import LEVELS, METRICS, WatchedQuery
from penstock.spark.serve import SERVICE, Serve

if TYPE_CHECKING:
    from penstock.pipeline.deploy.keyed import KeyedModule


@dataclass(slots=True, kw_only=True, eq=False)
class ModuleQuery:
    """One module of a run.

    It is laid out before anything starts; then it gets a workspace and a resource profile, and at
    last its query is started. The actuator asks it when executors may be released, the plant reads
    the progress of its query.
    """

    module: Module
    operators: tuple[Operator, ...]
    sources: tuple[str, ...]
    """The modules that feed it; none where the workload does."""
    targets: Mapping[str, str]
    """The modules that it feeds, by the operator that a row may be meant for."""
    workspace: Path = field(default=Path(), init=False)
    """Where the checkpoints, streams and hints of the run lie."""
    resources: ResourceProfile | None = field(default=None, init=False)
    """The profile of its executors; None is Spark's own."""
    watched: WatchedQuery | None = field(default=None, init=False)
    """Its query, once that has been started."""
    by_key: "KeyedModule | None" = field(default=None, init=False)
    """Its operator, once its query has been started, where rows are routed by key."""

    def place(self, workspace: Path, resources: ResourceProfile | None) -> None:
        """Set its workspace and the profile of its executors."""
        self.workspace, self.resources = workspace, resources
        self.hint.parent.mkdir(parents=True, exist_ok=True)

    @property
    def name(self) -> str:
        """Of the module, and of its query."""
        return self.module.name

    @property
    def profile(self) -> int:
        """The number of the profile that its executors carry."""
        return DEFAULT_PROFILE if self.resources is None else int(self.resources.id)

    @property
    def hint(self) -> Path:
        """The file with the number of parts in which its source reads a batch."""
        return hint_path(self.workspace, self.name)

    @property
    def checkpoint(self) -> Path:
        """The checkpoint of its query."""
        return self.workspace / "checkpoints" / self.name

    def stream_to(self, target: str) -> str:
        """The folder of the stream from it to another module."""
        return stream_path(self.workspace, self.name, target)

    def streams_in(self) -> dict[str, str]:
        """The folders of the streams that feed it, by the module that writes each."""
        return {name: stream_path(self.workspace, name, self.name) for name in self.sources}

    def between_batches(self) -> bool:
        """Whether its query has no batch under way, or has not been started."""
        return self.watched is None or not self.watched.query.status["isTriggerActive"]

    @property
    def route(self) -> str | None:
        """The column with the target of a row, if there are several."""
        return self.operators[-1].route if len(self.targets) > 1 else None

    @property
    def shuffles(self) -> bool:
        """Whether one of its operators shuffles."""
        return any(operator.shuffles or operator.keyed for operator in self.operators)

    @property
    def updates(self) -> bool:
        """Whether one of its operators replaces earlier results."""
        return any(operator.updates for operator in self.operators)

    @property
    def state_parts(self) -> int:
        """Partitions of its state, fixed at the start: the maximum number of executors, unless its
        operators set it."""
        return max((o.state_parts for o in self.operators if o.state_parts), default=0) or (
            self.module.max_replicas
        )

    @property
    def keyed_work(self) -> KeyedWork | None:
        """Its work by key, where it has any."""
        return self.operators[0].keyed

    def measure(self) -> Meter:
        """The meters of its operators as one, each with fields of its own."""
        meters = [o.meter(self.module) for o in self.operators if o.meter is not None]
        return lambda *seen: {k: v for meter in meters for k, v in meter(*seen).items()}

    @property
    def schema(self) -> str:
        """The columns of its output."""
        return self.operators[-1].schema


def lay_out(graph: FlowGraph, shape: Shape, application: Application) -> dict[str, ModuleQuery]:
    """Which module runs which operators, checked against the application's shape."""
    for misfit in misfits(graph.modules, graph.streams, shape):
        raise SettingError(misfit.message)
    for operator in shape.operators:
        if operator not in application.operators:
            raise SettingError(
                f"the shape of this pipeline has an operator {operator!r} that its Application "
                f"does not have{near(operator, application.operators)}"
            )
    named = operators_of(graph.modules)
    first = {operators[0]: module for module, operators in named.items()}
    return {
        name: ModuleQuery(
            module=graph[name],
            operators=tuple(application.operators[operator] for operator in named[name]),
            sources=tuple(s.origin for s in graph.streams if s.target == name),
            targets={after: first[after] for after in shape.after(named[name][-1])},
        )
        for name in graph.order()
    }


def hint_path(workspace: Path, name: str) -> Path:
    """The file with the number of parts in which a module's source reads a batch."""
    return workspace / "hints" / name


def stream_path(workspace: Path, origin: str, target: str) -> str:
    """The folder of the stream between two modules."""
    return str(workspace / "streams" / f"{origin}--{target}")


def default_module(modules: Mapping[str, ModuleQuery]) -> str:
    """The module under Spark's own profile: the one that shuffles, or else the first."""
    return next((name for name, each in modules.items() if each.shuffles), next(iter(modules)))


def assign_profiles(
    backend: Backend, modules: Mapping[str, ModuleQuery], memory: str, places: Mapping[str, str]
) -> dict[str, ResourceProfile | None]:
    """A profile for every module, which asks for the resource that marks the module's place, if
    any; None is Spark's own, for the one that shuffles."""
    default = default_module(modules)
    return {
        name: None if name == default else backend.add_profile(memory, places.get(name))
        for name in modules
    }


def state_partitions(modules: Mapping[str, ModuleQuery]) -> int:
    """Parts that the state is kept in."""
    return max((each.state_parts for each in modules.values() if each.shuffles), default=1)


_HANDSHAKE: Final = 0.05
"""Seconds of a warm-up task: long enough that every executor gets one."""


def process(running: ModuleQuery, rows: DataFrame) -> DataFrame:
    """What the module makes of its rows, on executors of its profile."""
    module = running.module
    own = tuple(operator.work for operator in running.operators if operator.work is not None)
    serve = Serve(
        service_time=module.service_time,
        service_cv=module.service_cv,
        work=module.work,
        own=own,
    )
    columns = columns_of(running.schema) if own else rows.schema
    table = _observed(_served(rows, columns, serve, running.resources)).drop(SERVICE)
    for operator in running.operators:
        table = operator.apply(table)
    return table


def watch(rows: DataFrame) -> DataFrame:
    """Rows on their way to work that times itself, counted and dated."""
    return _observed(rows.withColumn(SERVICE, sql.lit(0.0))).drop(SERVICE)


def columns_of(ddl: str) -> StructType:
    """Columns that are written as Spark writes them."""
    parsed = StructType.fromDDL(ddl)
    assert isinstance(parsed, StructType)  # noqa: S101  # a list of columns is nothing else
    return parsed


def warm_up(spark: SparkSession, running: ModuleQuery | None, tasks: int) -> None:
    """A task for each executor of a module, or of all, through Python and back."""
    rows = spark.range(0, tasks, 1, tasks)
    profile = None if running is None else running.resources
    # The session may end in the middle of it, and PySpark then looks for what is no longer there.
    with suppress(PySparkException, Py4JError, AttributeError):
        _served(rows, rows.schema, Serve(service_time=_HANDSHAKE), profile).collect()


def _served(
    rows: DataFrame, columns: StructType, serve: Serve, profile: ResourceProfile | None
) -> DataFrame:
    schema = StructType([*columns, StructField(SERVICE, DoubleType())])
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
