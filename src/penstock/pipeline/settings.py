"""What a pipeline file says, checked and with every default filled in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph
from penstock.core.interference import Interference
from penstock.core.regions import Infrastructure
from penstock.core.roles import Workload
from penstock.core.schema import (
    Count,
    Like,
    NotNegativeSeconds,
    Port,
    PositiveRate,
    PositiveSeconds,
    SizeText,
    checked,
)
from penstock.core.units import parse_size
from penstock.pipeline.format.kafka import KafkaSink, KafkaSource
from penstock.pipeline.format.preference import PreferenceQuery

OURS: Final = frozenset(
    {"spark.dynamicAllocation.enabled", "spark.decommission.enabled", "spark.executor.cores"}
)
"""Settings of Spark's without which executors could not be scaled one by one."""

_MEMORY: Final = "spark.executor.memory"
_LEAST_EXECUTOR: Final = 450 * 2**20  # Spark refuses an executor with less


@dataclass(frozen=True, slots=True)
class Part:
    """A policy, a manager or a guard by its name, with its settings as they were written."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class InfrastructureSettings:
    """The regions that host replicas, what proposes nodes for each, and what grants them."""

    places: Infrastructure
    policy: Part
    manager: Part


@dataclass(frozen=True, slots=True, kw_only=True)
@checked("source")
class Source:
    """Where rows enter the graph, and how fast where there is no workload."""

    module: str
    """The module that takes them."""
    rate: PositiveRate | None = None
    """Rows a second."""
    inter_arrival: PositiveSeconds | None = None
    """Seconds between two rows."""
    disorder: NotNegativeSeconds = 0.0
    """Rows are created up to this many seconds before they arrive, at random."""
    max_rows: Count | None = None
    """Most rows in one micro-batch on Spark; all that wait, unless given."""
    kafka: Annotated[KafkaSource, Like("{servers: localhost:9092, topic: lines}")] | None = None
    """The topic that rows come from on Spark, instead of from the workload."""

    def __post_init__(self) -> None:
        """Refuse two rates, or none at all."""
        if self.rate is not None and self.inter_arrival is not None:
            why = "source has both rate and inter_arrival; keep one of them"
            raise SettingError(why, fields=("rate", "inter_arrival"))

    def rows_a_second(self) -> float | None:
        """The constant rate, where one was given.

        >>> Source(module="split", inter_arrival=0.5).rows_a_second()
        2.0
        """
        return self.rate if self.inter_arrival is None else 1 / self.inter_arrival


@dataclass(frozen=True, slots=True, kw_only=True)
@checked("slo")
class Slo:
    """What the user was promised. Seconds from a row's creation to its result.

    >>> Slo(latency_p95=5.0).stated()
    {'latency_p95': 5.0}
    """

    latency_p95: PositiveSeconds | None = None
    """Latency that 95 % of the rows are to keep, from a row's creation to its result."""

    def stated(self) -> dict[str, float]:
        """The promises that were made."""
        limits = {name: getattr(self, name) for name in self.__slots__}
        return {name: limit for name, limit in limits.items() if limit is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
@checked("cluster")
class ClusterSettings:
    """The embedded cluster: a Spark standalone master and its workers on this machine.

    >>> ClusterSettings(workers=0)
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: workers of cluster must be 1 or more, got 0
    """

    workers: Count = 2
    """Workers on this machine."""
    cores: Count = 8
    """Slots that each worker offers; an executor takes one."""
    memory: SizeText = "8g"
    """Memory that each worker offers."""
    executor_memory: SizeText = "512m"
    """Memory of an executor, at least 450m."""
    port: Port = 0
    """Port of the master on loopback; 0 takes any free one."""
    ui_port: Port | None = None
    """Port of Spark's web pages; without one there are none."""
    workspace: str | None = None
    """A folder that every machine of the cluster sees, for checkpoints and the streams between
    modules; in the run folder unless given."""
    conf: Mapping[str, str | bool] = field(default_factory=dict)
    """Settings handed on to Spark."""

    def __post_init__(self) -> None:
        """Refuse what Spark would refuse later, half-started."""
        self._check_memory()
        if self.workspace is not None and "://" in self.workspace:
            raise SettingError(
                f"workspace of cluster must be a folder that every machine sees under the same "
                f"path, got {self.workspace}",
                path=("workspace",),
            )
        for key in self.conf:
            if not key.startswith("spark."):
                raise SettingError(
                    f"conf of cluster takes settings of Spark, got {key!r}", path=("conf", key)
                )
            if key in OURS:
                raise SettingError(
                    f"{key} is Penstock's to set, or it could not scale; take it out of conf",
                    path=("conf", key),
                )

    def spark_conf(self) -> dict[str, str]:
        """`conf` as Spark writes it."""
        return {k: v if isinstance(v, str) else str(v).lower() for k, v in self.conf.items()}

    def room(self) -> int:
        """Executors that the embedded cluster can hold.

        >>> ClusterSettings(conf={"spark.executor.memory": "3g"}).room()
        4
        """
        return self.workers * self.room_of_worker(self.cores)

    def room_of_worker(self, cores: int) -> int:
        """Executors that a worker of so many cores can hold.

        >>> ClusterSettings(memory="2g", executor_memory="1g").room_of_worker(3)
        2
        """
        worker = parse_size(self.memory, "memory of cluster")
        return min(cores, worker // parse_size(self.memory_of_executor(), _MEMORY))

    def memory_of_executor(self) -> str:
        """Memory of one executor, as Spark's configuration has it."""
        return str(self.conf.get(_MEMORY, self.executor_memory))

    def _check_memory(self) -> None:
        worker = parse_size(self.memory, "memory of cluster")
        executor = parse_size(self.executor_memory, "executor_memory of cluster")
        if executor < _LEAST_EXECUTOR:
            raise SettingError(
                f"executor_memory of cluster must be at least 450m, got {self.executor_memory}",
                fields=("executor_memory",),
            )
        if executor > worker:
            raise SettingError(
                f"executor_memory of cluster is {self.executor_memory}, more than a worker has; "
                f"raise memory, which is {self.memory}",
                fields=("executor_memory", "memory"),
            )
        theirs = self.conf.get(_MEMORY)
        if theirs is not None and parse_size(str(theirs), _MEMORY) < _LEAST_EXECUTOR:
            why = f"{_MEMORY} must be at least 450m, got {theirs}"
            raise SettingError(why, path=("conf", _MEMORY))


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineFile:
    """A pipeline, what feeds it, what decides for it, and what was promised of it."""

    name: str
    """Of the application that runs on Spark; for a graph file, its own name."""
    application: str | None
    """The application as the file names it; None of a graph file, and of several pipelines."""
    graph: FlowGraph
    step: float
    """Seconds between two decisions."""
    duration: float
    """Seconds that a run lasts."""
    seed: int
    source: Source
    workload: Workload
    policy: Part
    guards: tuple[Part, ...]
    """Innermost first; the clamp to each module's bounds comes on top of them."""
    manager: Part | None = None
    """What grants the replicas that the policy proposes; without one all are granted."""
    infrastructure: InfrastructureSettings | None = None
    """The regions whose nodes are decided about as well; None where they are not."""
    slo: Slo
    cluster: ClusterSettings
    query: PreferenceQuery | None = None
    """What a pipeline of preference queries is asked; None for others."""
    sink: KafkaSink | None = None
    """The topic that results go to, besides being published; None where there is none."""
    interference: Interference | None = None
    """Busy processes beside the executors; None where there are none."""
    parts: Mapping[str, "PipelineFile"] = field(default_factory=dict)
    """The pipelines that share the cluster, by name, where there are several: `graph` then holds
    the modules of all of them, `fraud.lookup` being the lookup of fraud."""
    cores: int | None = None
    """Executors of one core that they share."""
    executors: str = "own"
    """`own` where every module has executors of its own, `shared` where it has a share of them."""
    weight: float = 1.0
    """What a result of this pipeline is worth beside those of others."""
    origin: str
    """The file's path as it was given, or the name of a built-in one."""
    text: str
    """The file as it was written."""
    resolved: Mapping[str, Any]
    """Everything above as plain values, overrides and defaults included: itself a pipeline file."""

    @property
    def runnable(self) -> bool:
        """Whether it can run on Spark; a graph file cannot."""
        parts = self.parts.values()
        return all(p.runnable for p in parts) if parts else self.application is not None

    def lack_of_room(self) -> str | None:
        """Why the embedded cluster would not do for this file; None where it would."""
        if self.infrastructure is not None:
            return self._lack_of_nodes(self.infrastructure.places)
        most = self.cores or sum(module.max_replicas for module in self.graph.modules)
        if most <= self.cluster.room():
            return None
        if self.cores:
            return (
                f"cores is {self.cores} and the cluster has room for {self.cluster.room()} "
                "executors; raise workers, cores or memory of cluster, or lower cores"
            )
        return (
            f"the modules may grow to {most} executors and the cluster has room for "
            f"{self.cluster.room()}; raise workers, cores or memory of cluster, "
            "or lower max_replicas"
        )

    def _lack_of_nodes(self, places: Infrastructure) -> str | None:
        """Why its regions could not host what they may be asked for; None where each could."""
        for module in self.graph.modules:
            region = places[str(module.region)]
            if module.max_replicas > region.max_slots:
                return (
                    f"module {module.name} may grow to {module.max_replicas} executors and region "
                    f"{region.name} has room for {region.max_slots}; raise max_nodes or slots of "
                    "the region, or lower max_replicas"
                )
        for region in places.regions:
            room = self.cluster.room_of_worker(region.slots)
            if room < region.slots:
                return (
                    f"a node of region {region.name} has {region.slots} slots and memory of "
                    f"cluster, {self.cluster.memory}, is enough for {room} "
                    f"executor{'s' * (room != 1)}; raise memory, or lower slots or executor_memory"
                )
        return None
