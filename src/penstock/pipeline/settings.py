"""What a pipeline file says, checked and with every default filled in.

Which operators an application has and which feed which, and whether the modules of a file fit.

>>> shape = chain("splitter", "filter", "counter")
>>> from penstock.core.graph import FlowGraph, Module, Stream
>>> graph = FlowGraph(
...     source="front",
...     modules=(
...         Module(name="front", operators=("splitter", "filter")),
...         Module(name="counter"),
...     ),
...     streams=(Stream(origin="front", target="counter"),),
... )
>>> misfits(graph, shape)
[]
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph
from penstock.core.interference import Interference
from penstock.core.regions import Infrastructure
from penstock.core.roles import Workload
from penstock.core.settings import near, seconds
from penstock.core.units import parse_size
from penstock.pipeline.format.flow import Source
from penstock.pipeline.format.kafka import KafkaSink
from penstock.pipeline.format.preference import Asked


@dataclass(frozen=True, slots=True)
class Shape:
    """An application's operators, and who hands rows to whom."""

    operators: tuple[str, ...]
    """In an order in which rows cross them."""
    feeds: tuple[tuple[str, str], ...]
    keyed: tuple[str, ...] = ()
    """Operators that work by key, and so each begin a module that has keys."""
    exchanges: bool = False
    """Whether rows change places between executors."""

    def after(self, operator: str) -> tuple[str, ...]:
        """Operators that take its rows."""
        return tuple(b for a, b in self.feeds if a == operator)

    def before(self, operator: str) -> tuple[str, ...]:
        """Operators whose rows it takes."""
        return tuple(a for a, b in self.feeds if b == operator)


def chain(*operators: str, keyed: tuple[str, ...] = (), exchanges: bool = False) -> Shape:
    """Operators one after the other."""
    return Shape(operators, tuple(pairwise(operators)), keyed, exchanges or bool(keyed))


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why the modules of a file cannot run an application, and where in the file it shows."""

    message: str
    module: str | None = None
    setting: str = "operators"
    """Of the module, where the file is to be changed."""


def operators_of(graph: FlowGraph) -> dict[str, tuple[str, ...]]:
    """What each module runs: its own name, unless it says otherwise."""
    return {module.name: module.operators or (module.name,) for module in graph.modules}


def misfits(graph: FlowGraph, shape: Shape) -> list[Misfit]:
    """Everything that keeps these modules from running this application; the first kind only."""
    named = operators_of(graph)
    return (
        list(_strangers(named, shape))
        or list(_miscounted(named, shape))
        or list(_unfused(named, shape))
        or list(_streams_amiss(graph, named, shape))
    )


def misplaced_keys(graph: FlowGraph, shape: Shape) -> list[Misfit]:
    """Modules with keys that do not work by key, and those that do and have none.

    >>> from penstock.core.graph import Module
    >>> graph = FlowGraph(source="trader", modules=(Module(name="trader"),))
    >>> misplaced_keys(graph, chain("trader", keyed=("trader",)))[0].message
    'trader works by key; give its module keys, such as keys: 2836'
    """
    found = []
    for name, (first, *_) in operators_of(graph).items():
        keys, keyed = graph[name].keys, first in shape.keyed
        if keys and not keyed:
            what = f"module {name} has keys, and {first} does not work by key; leave keys out"
            found.append(Misfit(what, name, "keys"))
        if keyed and not keys:
            what = f"{first} works by key; give its module keys, such as keys: 2836"
            found.append(Misfit(what, name, "keys"))
    return found


def _strangers(named: dict[str, tuple[str, ...]], shape: Shape) -> Iterable[Misfit]:
    for module, operators in named.items():
        for operator in operators:
            if operator not in shape.operators:
                what = f"this pipeline has no operator {operator!r}"
                yield Misfit(what + near(operator, shape.operators), module)


def _miscounted(named: dict[str, tuple[str, ...]], shape: Shape) -> Iterable[Misfit]:
    counts = Counter(operator for operators in named.values() for operator in operators)
    for operator in shape.operators:
        if counts[operator] == 0:
            yield Misfit(f"no module runs {operator}; {_must(shape)}")
        if counts[operator] > 1:
            yield Misfit(f"{operator} is run by {counts[operator]} modules; leave it to one")


def _unfused(named: dict[str, tuple[str, ...]], shape: Shape) -> Iterable[Misfit]:
    """Operators of one module must follow each other, with no other way in or out between them."""
    for module, operators in named.items():
        for a, b in pairwise(operators):
            if shape.after(a) != (b,) or shape.before(b) != (a,):
                listed = ", ".join(operators)
                yield Misfit(
                    f"module {module} cannot run {listed} together, since rows do not go from {a} "
                    f"to {b} alone; {_must(shape)}",
                    module,
                )


def _streams_amiss(
    graph: FlowGraph, named: dict[str, tuple[str, ...]], shape: Shape
) -> Iterable[Misfit]:
    home = {operator: module for module, operators in named.items() for operator in operators}
    needed = {(home[a], home[b]) for a, b in shape.feeds if home[a] != home[b]}
    given = {(stream.origin, stream.target) for stream in graph.streams}
    for origin, target in sorted(needed - given):
        yield Misfit(f"rows of {origin} go to {target}; add a stream from {origin} to {target}")
    for origin, target in sorted(given - needed):
        yield Misfit(f"no rows of {origin} go to {target} in this pipeline; remove the stream")


def _must(shape: Shape) -> str:
    return f"the modules must run {', '.join(shape.operators)} in this order"


APPLICATIONS: Final[Mapping[str, Shape]] = {
    "wordcount": chain("splitter", "filter", "counter", "consumer", exchanges=True),
    "recognition": Shape(
        ("dispatcher", "denoiser-1", "denoiser-2", "edge-detector", "recognizer"),
        (
            ("dispatcher", "denoiser-1"),
            ("dispatcher", "denoiser-2"),
            ("denoiser-1", "edge-detector"),
            ("denoiser-2", "edge-detector"),
            ("edge-detector", "recognizer"),
        ),
    ),
    "trading": chain("algotrader", "consumer", keyed=("algotrader",)),
    "preference": chain("plq", "wlq", "consumer", exchanges=True),
    "enrichment": chain("lookup", "score"),
}
"""Applications that run on Spark, how rows cross their operators, and which work by key."""

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
class Slo:
    """What the user was promised. Seconds from a row's creation to its result.

    >>> Slo(latency_p95=5.0).stated()
    {'latency_p95': 5.0}
    """

    latency_p95: float | None = seconds(None)

    def __post_init__(self) -> None:
        """Refuse a promise that nothing can keep."""
        for name, limit in self.stated().items():
            if limit <= 0:
                raise SettingError(f"{name} of slo must be above 0, got {limit:g}s")

    def stated(self) -> dict[str, float]:
        """The promises that were made."""
        limits = {name: getattr(self, name) for name in self.__slots__}
        return {name: limit for name, limit in limits.items() if limit is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """The embedded cluster: a Spark standalone master and its workers on this machine.

    >>> ClusterSettings(workers=0)
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: workers of cluster must be at least 1, got 0
    """

    workers: int = 2
    cores: int = 8
    """Slots that each worker offers; an executor takes one."""
    memory: str = "8g"
    """Memory that each worker offers."""
    executor_memory: str = "512m"
    port: int = 0
    """Port of the master on loopback; 0 takes any free one."""
    ui_port: int | None = None
    """Port of Spark's web pages; without one there are none."""
    workspace: str | None = None
    """A folder that every machine of the cluster sees, for checkpoints and the streams between
    modules; in the run folder unless given."""
    conf: Mapping[str, str | bool] = field(default_factory=dict)
    """Settings handed on to Spark."""

    def __post_init__(self) -> None:
        """Refuse what Spark would refuse later, half-started."""
        for name in ("workers", "cores"):
            if getattr(self, name) < 1:
                raise SettingError(f"{name} of cluster must be at least 1, got {self._of(name)}")
        for name in ("port", "ui_port"):
            if not 0 <= (self._of(name) or 0) <= 65535:
                raise SettingError(f"{name} of cluster must be 0 to 65535, got {self._of(name)}")
        self._check_memory()
        if self.workspace is not None and "://" in self.workspace:
            raise SettingError(
                f"workspace of cluster must be a folder that every machine sees under the same "
                f"path, got {self.workspace}"
            )
        for key in self.conf:
            if not key.startswith("spark."):
                raise SettingError(f"conf of cluster takes settings of Spark, got {key!r}")
            if key in OURS:
                raise SettingError(
                    f"{key} is Penstock's to set, or it could not scale; take it out of conf"
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
        """Memory of one executor, as Spark is told."""
        return str(self.conf.get(_MEMORY, self.executor_memory))

    def _of(self, name: str) -> Any:
        return getattr(self, name)

    def _check_memory(self) -> None:
        worker = parse_size(self.memory, "memory of cluster")
        executor = parse_size(self.executor_memory, "executor_memory of cluster")
        if executor < _LEAST_EXECUTOR:
            raise SettingError(
                f"executor_memory of cluster must be at least 450m, got {self.executor_memory}"
            )
        if executor > worker:
            raise SettingError(
                f"executor_memory of cluster is {self.executor_memory}, more than a worker has; "
                f"raise memory, which is {self.memory}"
            )
        theirs = self.conf.get(_MEMORY)
        if theirs is not None and parse_size(str(theirs), _MEMORY) < _LEAST_EXECUTOR:
            raise SettingError(f"{_MEMORY} must be at least 450m, got {theirs}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineFile:
    """A pipeline, what feeds it, what decides for it, and what was promised of it."""

    name: str
    """The application that runs on Spark; for a graph file, its own name."""
    runnable: bool
    """Whether the file names an application; a graph file does not."""
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
    """What grants the replicas that the policy proposes; None where nobody has to."""
    infrastructure: InfrastructureSettings | None = None
    """The regions whose nodes are decided about as well; None where they are not."""
    slo: Slo
    cluster: ClusterSettings
    query: Asked | None = None
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
