"""Learning when a module needs more replicas: what `rl`, `q-learning` and `warm-start` share."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isnan
from typing import Any, ClassVar

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph
from penstock.core.settings import rate, seconds
from penstock.core.signals import ModuleReading
from penstock.core.units import format_duration, parse_duration
from penstock.policy.learning.agent import State
from penstock.policy.learning.costs import (
    Floats,
    check_pace,
    check_size,
    check_weights,
    known_costs,
)
from penstock.policy.learning.levels import check_levels, level_of


def _durations(given: object) -> object:
    if isinstance(given, Mapping):
        return {str(name): parse_duration(value) for name, value in given.items()}
    return parse_duration(given)


@dataclass
class OperatorSettings:
    """What a module's response is worth beside its replicas, and how finely rates are told apart.

    The three weights are those of e2df, Expr. 6, and sum to one.
    """

    called: ClassVar[str] = "policy rl"
    """As messages call it."""

    graph: FlowGraph
    slo: float | None = None
    """Seconds of latency that 95 % of the rows were promised; taken from the file."""
    reconfiguration_weight: float = 1 / 3
    """Of a change of replicas."""
    performance_weight: float = 1 / 3
    """Of a response that takes longer than the bound."""
    resource_weight: float = 1 / 3
    """Of having as many replicas as there may be."""
    discount: float = 0.99
    """What a cost counts one step later."""
    learning_rate: float = 0.1
    """Weight of the newest penalty beside those before."""
    levels: int = 10
    """Into which arrival rates are divided."""
    bound: float | Mapping[str, float] | None = field(default=None, metadata={"read": _durations})
    """Seconds that a row may take in a module, for all or by module. Unless given, every module's
    equal share of the SLO; without one, only a module that falls behind pays."""
    peak: float | None = rate(None)
    """Rows a second at the source that the levels span. Unless given, what each module's
    max_replicas can serve."""
    catch_up: float | None = seconds(30.0)
    """Seconds in which rows that wait are to be worked off: they count as arrivals beside those
    that come. None counts only these, as the paper does, where nothing ever waits for long."""
    load: str | None = None
    """File with what was learned before."""
    _spans: dict[str, float] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse what nothing can be learned with."""
        weights = ("reconfiguration_weight", "performance_weight", "resource_weight")
        check_weights({name: getattr(self, name) for name in weights}, of=self.called)
        check_pace(self.discount, self.learning_rate, of=self.called)
        check_levels(self.levels, of=self.called)
        for module in self.graph.modules:
            states = self.levels * (module.max_replicas + 1)
            check_size(states, table=module.name, remedy="lower levels or max_replicas")
        self._check_bounds()
        self._check_peak()
        if self.catch_up is not None and not self.catch_up > 0:
            raise SettingError(
                f"catch_up of {self.called} must be above 0s, got {self.catch_up:g}s; leave rows "
                "that wait aside with catch_up: null"
            )
        visits = self.graph.visits()  # once: graphs may have thousands of modules
        self._spans = {name: self._span(name, visits[name]) for name in self.graph.names()}

    def knows(self, name: str) -> bool:
        """Whether a module is in the graph."""
        return name in self._spans

    def known(self, name: str) -> Floats:
        """What a module's changes and replicas cost."""
        module = self.graph[name]
        return known_costs(
            module.min_replicas,
            module.max_replicas,
            each=self.resource_weight,
            change=self.reconfiguration_weight,
        )

    def bound_of(self, name: str) -> float:
        """Seconds that a row may take in a module; inf where nothing was promised."""
        given = self.bound.get(name) if isinstance(self.bound, Mapping) else self.bound
        if given is not None:
            return given
        return inf if self.slo is None else self.slo / len(self.graph.modules)

    def span_of(self, name: str) -> float:
        """Rows a second of a module that its levels span."""
        return self._spans[name]

    def penalty(self, name: str, response: float) -> float:
        """What a response time costs: e2df, Expr. 6."""
        late = response > self.bound_of(name) or response == inf
        return self.performance_weight * late

    def state(self, name: str, reading: ModuleReading, degree: int) -> State | str:
        """Where a module is, or what is not known of it."""
        arrivals, running = reading.arrival_rate, reading.running
        if running is None:
            return "its running executors are unknown"
        if arrivals is None or isnan(arrivals) or arrivals < 0:
            return "its arrival rate is unknown"
        here = min(running, degree, self.graph[name].max_replicas)
        asked = arrivals + self._behind(reading)
        return State(number=here, level=level_of(asked, self.span_of(name), self.levels))

    def meaning(self, name: str) -> dict[str, Any]:
        """What a table of a module can only be read with, as plain values."""
        bound = self.bound_of(name)
        return {
            "reconfiguration_weight": self.reconfiguration_weight,
            "performance_weight": self.performance_weight,
            "resource_weight": self.resource_weight,
            "bound": bound if bound < inf else None,
            "span": self.span_of(name),
            "catch_up": self.catch_up,
            "min_replicas": self.graph[name].min_replicas,
        }

    def _behind(self, reading: ModuleReading) -> float:
        """Rows a second that it takes to work off what waits."""
        waiting = reading.backlog or 0.0
        return waiting / self.catch_up if self.catch_up and waiting > 0 else 0.0

    def _span(self, name: str, visits: float) -> float:
        if self.peak is not None:
            return self.peak * visits
        module = self.graph[name]
        return module.max_replicas / module.service_time

    def _check_bounds(self) -> None:
        given = self.bound
        for bound in given.values() if isinstance(given, Mapping) else (given,):
            if bound is not None and not 0 < bound < inf:
                raise SettingError(
                    f"bound of {self.called} must be above 0s and finite, "
                    f"got {format_duration(bound)}"
                )

    def _check_peak(self) -> None:
        if self.peak is not None and not 0 < self.peak < inf:
            raise SettingError(
                f"peak of {self.called} must be above 0/s and finite, got {self.peak:g}/s"
            )
        for module in self.graph.modules if self.peak is None else ():
            if not module.service_time:
                raise SettingError(
                    f"{self.called} cannot tell the rates of module {module.name} apart, whose "
                    "service_time is not given; give it, or the policy a peak such as 600/s"
                )
