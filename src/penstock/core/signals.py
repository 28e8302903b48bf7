"""What is seen, what is decided, and one turn of the loop that holds both.

Everything here is frozen. What could not be measured is `None`, never zero: a policy that
mistakes silence for idleness scales a busy pipeline in.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from types import MappingProxyType
from typing import Final

from penstock.core.errors import SettingError
from penstock.core.routing import Routing
from penstock.core.settings import near

UNRECORDED: Final = MappingProxyType({"record": False})
"""Marks a field that recordings leave out: it would be most of their size, and is not used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Seconds from a row's creation to its result, at three quantiles.

    >>> Latency(p50=0.8, p95=1.4, p99=2.0).p95
    1.4
    """

    p50: float
    p95: float
    p99: float


def worst(latencies: Iterable[Latency | None]) -> Latency | None:
    """The latency with the highest 95th percentile, of those that are known.

    >>> worst([None, Latency(p50=1, p95=2, p99=3), Latency(p50=0, p95=4, p99=5)]).p95
    4
    """
    known = [latency for latency in latencies if latency is not None]
    return max(known, key=lambda latency: latency.p95, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """Watts that the processors took.

    >>> Power(watts=31.5, modelled=True).modelled
    True
    """

    watts: float
    modelled: bool
    """Whether it comes from the model of `penstock.model.power` and not from a meter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLoads:
    """What one control step measured of each key; keys that did not come are left out."""

    rates: Mapping[str, float]
    """Rows a second of each key that came."""
    service_times: Mapping[str, float]
    """Mean seconds of a replica's time that a row of each key took, where it was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleReading:
    """What one control step measured of one module. Rates are rows a second."""

    arrival_rate: float | None = None
    """Rows a second that came in, whether or not they were processed."""
    processed_rate: float | None = None
    """Rows a second that were taken in and finished."""
    backlog: float | None = None
    """Rows that have arrived and are not yet finished."""
    utilisation: float | None = None
    """Busy share of the module's slots, 0 to 1."""
    load: float | None = None
    """Work that came by the work that running executors could have done: above 1 where they fall
    behind, and by how much, which `utilisation` does not show."""
    splitting: float | None = None
    """Parts that a pane was split into on average, of a module that finds panes."""
    results_rate: float | None = None
    """Results a second, where these are counted apart from rows: windows of a query."""
    service_time: float | None = None
    """Seconds of one executor's time that a row takes."""
    service_cv: float | None = None
    """Coefficient of variation of the service time."""
    arrival_cv: float | None = None
    """Coefficient of variation of the time between two rows that came."""
    waiting_time: float | None = None
    """Mean seconds that a row waited, from its arrival until a replica took it up."""
    keys: KeyLoads | None = field(default=None, metadata=UNRECORDED)
    """Of a module whose rows are routed by key."""
    routing: Routing | None = field(default=None, metadata=UNRECORDED)
    """The routing table in force, where rows are routed by key."""
    batch_duration: float | None = None
    """Mean seconds a micro-batch took, from trigger to commit."""
    batch_parts: Mapping[str, float] | None = None
    """Mean seconds of each phase of a micro-batch, by Spark's names."""
    latency: Latency | None = None
    """Of the rows that left this module, since their creation at the source."""
    state_rows: int | None = None
    failed_tasks: int | None = None
    """Tasks that failed in this step."""
    wanted: int | None = None
    """Executors the last decision wanted."""
    requested: int | None = None
    """Executors the cluster has been asked for."""
    running: int | None = None
    """Executors that can take tasks now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionReading:
    """What one control step measured of one region and its nodes. Unknown where it did not answer.

    >>> RegionReading(nodes=3, idle=1).answers, RegionReading().answers
    (True, False)
    """

    nodes: int | None = None
    """Nodes that can host replicas now."""
    idle: int | None = None
    """Those of them that host nothing."""
    free: int | None = None
    """Replicas that they could still take."""
    replicas: int | None = None
    """Replicas that they host."""
    utilisation: float | None = None
    """Mean busy share of the replicas that it hosts, 0 to 1."""
    unmet: int | None = None
    """Replicas that were asked for in this step and found no node with room."""
    wanted: int | None = None
    """Nodes the last decision wanted."""
    requested: int | None = None
    """Nodes that have been asked for, those that are still to come included."""
    trouble: str | None = None
    """What is wrong with it, in a few words; None where nothing is."""

    @property
    def answers(self) -> bool:
        """Whether it said how many nodes it has."""
        return self.nodes is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What one control step measured.

    >>> seen = Observation(at=2.0, step=1.0, modules={"count": ModuleReading(running=3)})
    >>> seen.running
    3
    """

    at: float
    """Seconds since the run began."""
    step: float
    """Seconds that this observation covers."""
    modules: Mapping[str, ModuleReading]
    latency: Latency | None = None
    """End to end: from a row's creation to its result at a sink."""
    frequency: float | None = None
    """GHz at which the processors run, where that can be decided."""
    power: Power | None = None
    regions: Mapping[str, RegionReading] = field(default_factory=dict)
    """By name, where nodes are decided about."""
    pool: int | None = None
    """Executors that run for all modules alike, where none has executors of its own; what modules
    want are then shares of them."""
    queries: Mapping[str, ModuleReading] = field(default_factory=dict)
    """By name, the streaming queries of an application that was attached to: they share its
    executors, so that it is the one module, and they are listed beside it."""

    @property
    def wanted(self) -> int | None:
        """Executors wanted in all, or None where a module's are unknown."""
        return _total([module.wanted for module in self.modules.values()])

    @property
    def requested(self) -> int | None:
        """Executors requested in all, or None where a module's are unknown."""
        return _total([module.requested for module in self.modules.values()])

    @property
    def running(self) -> int | None:
        """Executors running in all, or None where a module's are unknown."""
        if self.pool is not None:
            return self.pool
        return _total([module.running for module in self.modules.values()])


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """What can be decided: executors of each module, who has which key, the clock, and nodes.

    >>> Configuration(degrees={"split": 2, "count": 4}).executors
    6
    """

    degrees: Mapping[str, int]
    routing: Mapping[str, Routing] = field(default_factory=dict, metadata=UNRECORDED)
    """By module, the table for its new degree; a module without one keeps its own, or
    redistributes its keys where its degree changes."""
    frequency: float | None = None
    """GHz at which the processors are to run; None leaves them alone."""
    nodes: Mapping[str, int] = field(default_factory=dict)
    """By region; one that is left out keeps what it has."""

    @property
    def executors(self) -> int:
        """Executors in all."""
        return sum(self.degrees.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the manager of one module or region proposed, and what the one above it answered.

    >>> asked = Request(
    ...     level="infrastructure", manager="dc1", change=1, why="no idle node",
    ...     granted=False, answer="8 nodes are all that the budget allows",
    ... )
    >>> asked.granted
    False
    """

    level: str
    """`application` or `infrastructure`."""
    manager: str
    """The module or region."""
    change: int
    """Replicas or nodes more, or fewer where negative."""
    why: str
    """Why it was proposed."""
    granted: bool
    answer: str
    """Why it was granted or refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The next configuration, and why, in a sentence that a tired operator can read."""

    configuration: Configuration
    why: str
    proposed: Configuration | None = None
    """What the policy wanted before a guard changed it; in a dry run, what would have been done
    after all guards. None where no guard changed anything."""
    expects: Mapping[str, float] = field(default_factory=dict)
    """What the policy expects of the next step, such as `utilisation:count`."""
    requests: tuple[Request, ...] = ()
    """What managers of modules and regions proposed, granted or not, where there are managers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """One turn of the loop: what was seen, what was decided, what was asked of the plant."""

    seen: Observation
    decided: Decision
    asked: Configuration | None
    """None where nothing had to change."""


def current(seen: Observation) -> Configuration:
    """The configuration in force: what the cluster was last asked for, where that is known.

    >>> reading = ModuleReading(requested=4, running=3)
    >>> current(Observation(at=1, step=1, modules={"count": reading})).degrees
    {'count': 4}
    """
    degrees: dict[str, int] = {}
    for name, module in seen.modules.items():
        known = [n for n in (module.requested, module.wanted, module.running) if n is not None]
        if known:
            degrees[name] = known[0]
    routing = {n: m.routing for n, m in seen.modules.items() if m.routing is not None}
    return Configuration(degrees=degrees, routing=routing, frequency=seen.frequency)


def _total(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


# What every plant refuses to be asked for.


def check_degrees(degrees: Mapping[str, int], modules: Iterable[str]) -> None:
    """Refuse degrees of modules that are not there, and degrees below one.

    >>> check_degrees({"counter": 0}, ["counter"])
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: module counter needs at least one executor, got 0
    """
    known = tuple(modules)
    for module, degree in degrees.items():
        if module not in known:
            raise SettingError(f"there is no module {module!r} to scale{near(module, known)}")
        if degree < 1:
            raise SettingError(f"module {module} needs at least one executor, got {degree}")


def check_decision(decided: object) -> Decision:
    """What a policy returned, where it is a decision; a policy may be any callable.

    >>> check_decision(Decision(configuration=Configuration(degrees={"counter": 2.5}), why="half"))
    Traceback (most recent call last):
    ...
    TypeError: it must ask for a whole number of executors, got 2.5
    """
    if not isinstance(decided, Decision) or not isinstance(decided.configuration, Configuration):
        raise TypeError(f"it must return a Decision, got {decided!r}")
    if not isinstance(decided.why, str):
        raise TypeError(f"it must say why in a sentence, got {decided.why!r}")
    for degree in decided.configuration.degrees.values():
        if isinstance(degree, bool) or not isinstance(degree, Integral):
            raise TypeError(f"it must ask for a whole number of executors, got {degree!r}")
    return decided
