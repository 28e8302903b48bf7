"""A processing network: flow enters at sources, is processed by modules, and leaves at sinks.

A unit of resource lets a module consume a fixed amount of flow of *each* of its inputs at once, and
produce a fixed amount on each of its outputs (alloc, Section 2). A module without any input needs
nothing but its resource.

>>> network = Network(
...     budget=2.0,
...     modules=("a", "b"),
...     inflows=(Inflow("s", "a", consumes=1.0, rate=3.0),),
...     links=(Link("a", "b", produces=2.0, consumes=4.0),),
...     outflows=(Outflow("o", "b", produces=8.0, weight=0.5),),
... )
>>> least_resource(network, {"o": 4.0})
{'a': 1.0, 'b': 0.5}
>>> value(network, {"a": 1.0, "b": 0.5})
2.0
>>> feasible_factor(network, {"a": 1.0, "b": 0.5})
1.3333333333333333
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from math import inf
from typing import Annotated, TypeAlias, TypeVar

from penstock.core.errors import SettingError
from penstock.core.schema import Bounds, Positive, checked

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
@checked("source {self.name}")
class Inflow:
    """A source: flow for one module."""

    name: str
    target: str
    consumes: Positive
    """Flow that a unit of the module's resource consumes of it: alpha."""
    rate: Annotated[float, Bounds(above=0, endless=True)] = inf
    """Flow a second that it can give."""


@dataclass(frozen=True, slots=True)
@checked("stream {self.origin} -> {self.target}")
class Link:
    """Flow from one module to another."""

    origin: str
    target: str
    produces: Positive
    """Flow that a unit of the origin's resource produces: beta."""
    consumes: Positive
    """Flow that a unit of the target's resource consumes: alpha."""

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.origin} -> {self.target}"


@dataclass(frozen=True, slots=True)
@checked("sink {self.name}")
class Outflow:
    """A sink: where flow leaves, and what a unit of it is worth."""

    name: str
    origin: str
    produces: Positive
    """Flow that a unit of the origin's resource produces: beta."""
    weight: Positive = 1.0


Stream: TypeAlias = Link | Outflow
"""What leaves a module."""


@dataclass(frozen=True, kw_only=True)
@checked("the network")
class Network:
    """Modules that share a budget, and the flow between them: acyclic.

    What is looked up by module is computed once.
    """

    budget: Positive
    modules: tuple[str, ...]
    inflows: tuple[Inflow, ...] = ()
    links: tuple[Link, ...] = ()
    outflows: tuple[Outflow, ...] = ()

    def __post_init__(self) -> None:
        _check_names(self)
        _ = self.order

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Every module, each after those that feed it."""
        sorter: TopologicalSorter[str] = TopologicalSorter(dict.fromkeys(self.modules, ()))
        for link in self.links:
            sorter.add(link.target, link.origin)
        try:
            return tuple(sorter.static_order())
        except CycleError as error:
            path = " -> ".join(error.args[1])
            raise SettingError(f"the streams form a cycle: {path}; remove one of them") from None

    @cached_property
    def inflows_of(self) -> dict[str, tuple[Inflow, ...]]:
        """Sources that feed each module."""
        return self._by_module((inflow.target, inflow) for inflow in self.inflows)

    @cached_property
    def inputs(self) -> dict[str, tuple[Link, ...]]:
        """Links that lead to each module."""
        return self._by_module((link.target, link) for link in self.links)

    @cached_property
    def outputs(self) -> dict[str, tuple[Link, ...]]:
        """Links that leave each module."""
        return self._by_module((link.origin, link) for link in self.links)

    @cached_property
    def outflows_of(self) -> dict[str, tuple[Outflow, ...]]:
        """Sinks that each module feeds."""
        return self._by_module((outflow.origin, outflow) for outflow in self.outflows)

    @cached_property
    def source_limits(self) -> dict[str, float]:
        """Resource of each module that its own sources can keep busy."""
        return {
            name: min((inflow.rate / inflow.consumes for inflow in inflows), default=inf)
            for name, inflows in self.inflows_of.items()
        }

    @cached_property
    def weights(self) -> dict[str, float]:
        """What a unit of flow at each sink is worth."""
        return {outflow.name: outflow.weight for outflow in self.outflows}

    def worth(self, flows: Mapping[str, float]) -> float:
        """What so much flow at each sink is worth; none at those that are left out."""
        return sum(o.weight * flows.get(o.name, 0.0) for o in self.outflows)

    def _by_module(self, pairs: Iterable[tuple[str, T]]) -> dict[str, tuple[T, ...]]:
        grouped: dict[str, list[T]] = {name: [] for name in self.modules}
        for name, value in pairs:
            grouped[name].append(value)
        return {name: tuple(values) for name, values in grouped.items()}


def _check_names(network: Network) -> None:
    """Reject names that are given twice, and ends of streams that are no modules."""
    names = {
        "module": network.modules,
        "source": [inflow.name for inflow in network.inflows],
        "sink": [outflow.name for outflow in network.outflows],
        "stream": [link.name for link in network.links],
    }
    for kind, given in names.items():
        for name, times in Counter(given).items():
            if times > 1:
                raise SettingError(f"{kind} {name} is given {times} times; keep one")
    ends = [
        *(("source", inflow.name, inflow.target) for inflow in network.inflows),
        *(("sink", outflow.name, outflow.origin) for outflow in network.outflows),
        *(("stream", x.name, end) for x in network.links for end in (x.origin, x.target)),
    ]
    known = set(network.modules)
    for kind, name, end in ends:
        if end not in known:
            raise SettingError(f"{kind} {name} names module {end!r}, and there is none")


def least_resource(network: Network, outputs: Mapping[str, float]) -> dict[str, float]:
    """The least resource of each module that delivers so much flow at each sink (Lemma 4).

    Sinks that are left out get nothing. Sources and budget may not suffice for it.
    """
    resource = dict.fromkeys(network.modules, 0.0)
    for module in reversed(network.order):
        least = resource[module]
        for outflow in network.outflows_of[module]:
            least = max(least, outputs.get(outflow.name, 0.0) / outflow.produces)
        for link in network.outputs[module]:
            least = max(least, link.consumes * resource[link.target] / link.produces)
        resource[module] = least
    return resource


def feasible_factor(network: Network, resource: Mapping[str, float]) -> float:
    """The largest factor by which sources and budget allow this allocation to be multiplied; inf
    where it is nothing."""
    total = sum(resource.values())
    factor = network.budget / total if total > 0 else inf
    for inflow in network.inflows:
        taken = inflow.consumes * resource[inflow.target]
        if taken > 0:
            factor = min(factor, inflow.rate / taken)
    return factor


def busy_resource(network: Network, resource: Mapping[str, float]) -> dict[str, float]:
    """The part of each module's resource that its inputs keep busy."""
    busy: dict[str, float] = {}
    for module in network.order:
        most = min(resource[module], network.source_limits[module])
        for link in network.inputs[module]:
            most = min(most, link.produces * busy[link.origin] / link.consumes)
        busy[module] = most
    return busy


def outputs(network: Network, resource: Mapping[str, float]) -> dict[str, float]:
    """Flow a second at each sink under an allocation, whether or not its inputs keep it busy."""
    busy = busy_resource(network, resource)
    return {outflow.name: outflow.produces * busy[outflow.origin] for outflow in network.outflows}


def value(network: Network, resource: Mapping[str, float]) -> float:
    """What the flow at all sinks is worth a second under an allocation."""
    return network.worth(outputs(network, resource))
