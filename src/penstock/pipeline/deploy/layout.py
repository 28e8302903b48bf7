"""Which module runs which operators, under which profile, and when its executors may leave."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.resource import ResourceProfile
from pyspark.sql import SparkSession

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.pipeline.application import Application, Meter, Operator
from penstock.pipeline.shape import Shape, misfits, operators_of
from penstock.query.keyed import KeyedWork
from penstock.spark.actuator import Lane
from penstock.spark.backend import DEFAULT_PROFILE, Backend


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A module with the operators that it runs."""

    module: Module
    operators: tuple[Operator, ...]
    sources: tuple[str, ...]
    """The modules that feed it; none where the workload does."""
    targets: Mapping[str, str]
    """The modules that it feeds, by the operator that a row may be meant for."""

    @property
    def route(self) -> str | None:
        """The column that tells where a row goes, where there are several ways."""
        return self.operators[-1].route if len(self.targets) > 1 else None

    @property
    def shuffles(self) -> bool:
        """Whether one of its operators does."""
        return any(operator.shuffles or operator.keyed for operator in self.operators)

    @property
    def updates(self) -> bool:
        """Whether one of its operators replaces earlier results."""
        return any(operator.updates for operator in self.operators)

    @property
    def state_parts(self) -> int:
        """Parts of its state: fixed for good, so as many as executors can ever use, unless its
        operators know better."""
        return max((o.state_parts for o in self.operators if o.state_parts), default=0) or (
            self.module.max_replicas
        )

    @property
    def keyed(self) -> KeyedWork | None:
        """Its work by key, where it has any."""
        return self.operators[0].keyed

    def measure(self) -> Meter:
        """What measures its operators, each with fields of its own."""
        meters = [o.meter(self.module) for o in self.operators if o.meter is not None]
        return lambda *seen: {k: v for meter in meters for k, v in meter(*seen).items()}

    @property
    def schema(self) -> str:
        """The columns that it puts out."""
        return self.operators[-1].schema


def lay_out(graph: FlowGraph, shape: Shape, application: Application) -> dict[str, Stage]:
    """Which module runs which operators, checked against the application's shape."""
    for misfit in misfits(graph, shape):
        raise SettingError(misfit.message)
    named = operators_of(graph)
    first = {operators[0]: module for module, operators in named.items()}
    return {
        name: Stage(
            module=graph[name],
            operators=tuple(application.operators[operator] for operator in named[name]),
            sources=tuple(s.origin for s in graph.streams if s.target == name),
            targets={after: first[after] for after in shape.after(named[name][-1])},
        )
        for name in graph.order()
    }


def hint_path(workspace: Path, name: str) -> Path:
    """The file that tells a module's source in how many parts to read a batch."""
    return workspace / "hints" / name


def default_module(stages: Mapping[str, Stage]) -> str:
    """The module under Spark's own profile: the one that shuffles, or else the first."""
    return next((name for name, stage in stages.items() if stage.shuffles), next(iter(stages)))


def assign_profiles(
    backend: Backend, stages: dict[str, Stage], memory: str, places: Mapping[str, str]
) -> dict[str, ResourceProfile | None]:
    """A profile for every module, which asks for the resource that marks the module's place, if
    any; None is Spark's own, for the one that shuffles."""
    default = default_module(stages)
    return {
        name: None if name == default else backend.add_profile(memory, places.get(name))
        for name in stages
    }


def make_lane(
    name: str, stage: Stage, profile: ResourceProfile | None, workspace: Path, spark: SparkSession
) -> Lane:
    """A module's executors, as the actuator knows them."""
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


def state_partitions(stages: dict[str, Stage]) -> int:
    """Parts that the state is kept in."""
    return max((stage.state_parts for stage in stages.values() if stage.shuffles), default=1)
