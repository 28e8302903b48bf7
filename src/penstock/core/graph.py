"""The flow graph: modules, and the streams between them.

>>> graph = FlowGraph(
...     source="split",
...     modules=(Module(name="split", service_time=0.003), Module(name="count")),
...     streams=(Stream(origin="split", target="count", selectivity=2.0),),
... )
>>> graph.visits()
{'split': 1.0, 'count': 2.0}
"""

from collections.abc import Iterable
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from math import inf

from penstock.core.errors import SettingError
from penstock.core.settings import seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A streaming query, or a stage of one, with a degree of parallelism of its own."""

    name: str
    service_time: float = seconds(0.0)
    """Mean seconds that one replica takes for a row."""
    service_cv: float = 0.0
    """Coefficient of variation of the service time: 0 fixed, 1 exponential."""
    min_replicas: int = 1
    max_replicas: int = 20
    initial_replicas: int = 1
    buffer: float = inf
    """Rows that can wait before the module; a full buffer holds up the module before it."""
    trigger: float = seconds(0.0)
    """Seconds between micro-batches; 0 processes row by row."""
    overhead: float = seconds(0.0)
    """Seconds that a micro-batch takes beyond its rows: planning, commit, scheduling."""
    start_up: float = seconds(0.0)
    """Seconds from asking for an executor until it takes tasks."""
    price: float = 0.0
    """Cost of one replica for one control step."""
    delay_cost: float = 0.0
    """Cost of one second between results."""
    operators: tuple[str, ...] = ()
    """What the module runs on Spark, by the pipeline's names; its own name where none is given."""
    work: str = "wait"
    """How a row spends its service time on Spark: `wait` (as for a call to another system), `cpu`,
    or `none`."""

    def __post_init__(self) -> None:
        """Refuse what no module can be."""
        for name in (
            "service_time",
            "service_cv",
            "trigger",
            "overhead",
            "start_up",
            "price",
            "delay_cost",
        ):
            if not getattr(self, name) >= 0:
                raise SettingError(
                    f"{name} of module {self.name} must not be negative, got {getattr(self, name)}"
                )
        if not 1 <= self.min_replicas <= self.initial_replicas <= self.max_replicas:
            raise SettingError(
                f"module {self.name} needs 1 <= min_replicas <= initial_replicas <= max_replicas, "
                f"got {self.min_replicas}, {self.initial_replicas}, {self.max_replicas}"
            )
        if self.work not in ("wait", "cpu", "none"):
            raise SettingError(
                f"work of module {self.name} must be wait, cpu or none, got {self.work!r}"
            )
        if not self.buffer >= 1:
            raise SettingError(f"buffer of module {self.name} must hold a row, got {self.buffer}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Rows from one module to another."""

    origin: str
    target: str
    probability: float = 1.0
    """Share of the origin's output rows that take this way."""
    selectivity: float = 1.0
    """Rows that leave the origin for each row that it takes in, before they part ways."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowGraph:
    """An acyclic graph of modules with one source."""

    source: str
    modules: tuple[Module, ...]
    streams: tuple[Stream, ...] = ()

    def __post_init__(self) -> None:
        """Refuse graphs that no row could cross, naming the module."""
        names = [module.name for module in self.modules]
        for name in names:
            if names.count(name) > 1:
                raise SettingError(f"module {name} is defined twice; give one another name")
        for name in [self.source, *(end for s in self.streams for end in (s.origin, s.target))]:
            if name not in names:
                raise SettingError(f"there is no module {name!r}; there are {_listed(names)}")
        self.order()
        self._check_probabilities()
        for name, visits in self.visits().items():
            if visits == 0:
                raise SettingError(f"no row can reach module {name} from {self.source}")

    def __getitem__(self, name: str) -> Module:
        """The module of that name."""
        return next(module for module in self.modules if module.name == name)

    def names(self) -> tuple[str, ...]:
        """Every module's name, in the order of the file."""
        return tuple(module.name for module in self.modules)

    def order(self) -> tuple[str, ...]:
        """Every module's name, each after those that feed it."""
        sorter: TopologicalSorter[str] = TopologicalSorter(dict.fromkeys(self.names(), ()))
        for stream in self.streams:
            sorter.add(stream.target, stream.origin)
        try:
            return tuple(sorter.static_order())
        except CycleError as error:
            path = " -> ".join(reversed(error.args[1]))
            raise SettingError(f"the streams form a cycle: {path}; remove one of them") from None

    def outputs(self, name: str) -> tuple[Stream, ...]:
        """Streams that leave a module."""
        return tuple(stream for stream in self.streams if stream.origin == name)

    def sinks(self) -> tuple[str, ...]:
        """Modules that feed no other."""
        return tuple(name for name in self.names() if not self.outputs(name))

    def visits(self) -> dict[str, float]:
        """Rows that each module sees for one row of the source."""
        visits = dict.fromkeys(self.names(), 0.0)
        visits[self.source] = 1.0
        for name in self.order():
            for stream in self.outputs(name):
                visits[stream.target] += visits[name] * stream.selectivity * stream.probability
        return visits

    def _check_probabilities(self) -> None:
        for name in self.names():
            streams = self.outputs(name)
            if any(not 0 < stream.probability <= 1 for stream in streams):
                raise SettingError(f"probabilities of module {name} must be in (0, 1]")
            total = sum(stream.probability for stream in streams)
            if streams and abs(total - 1) > 1e-6:
                raise SettingError(
                    f"the probabilities of the streams from {name} must sum to 1, got {total:g}"
                )
            if any(not stream.selectivity > 0 for stream in streams):
                raise SettingError(f"selectivity of the streams from {name} must be above 0")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
