"""A processing network: flow that comes from sources, is worked on by modules, and leaves at sinks.

A unit of resource lets a module consume a fixed amount of flow of *each* of its inputs at once, and
produce a fixed amount on each of its outputs (alloc, Section 2). A module without a source of its
own and without inputs from others works for nothing but its resource.

>>> network = Network(
...     budget=1.0,
...     modules=("a", "b"),
...     inflows=(Inflow(name="s", target="a", consumes=0.5),),
...     links=(Link(origin="a", target="b", produces=0.7, consumes=0.4),),
...     outflows=(Outflow(name="o", origin="b", produces=0.9, weight=2.0),),
... )
>>> network.order()
('a', 'b')

What an allocation brings, and what given outputs need:

>>> from penstock.policy.allocation.network import Inflow, Link, Network, Outflow
>>> network = Network(
...     budget=2.0,
...     modules=("a", "b"),
...     inflows=(Inflow(name="s", target="a", consumes=1.0, rate=3.0),),
...     links=(Link(origin="a", target="b", produces=2.0, consumes=4.0),),
...     outflows=(Outflow(name="o", origin="b", produces=8.0, weight=0.5),),
... )
>>> needs(network, {"o": 4.0})
{'a': 1.0, 'b': 0.5}
>>> value(network, {"a": 1.0, "b": 0.5})
2.0
>>> affordable(network, {"a": 1.0, "b": 0.5})
1.3333333333333333
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from math import inf, isfinite
from typing import TypeVar

from penstock.core.errors import SettingError

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inflow:
    """A source: flow for one module."""

    name: str
    target: str
    consumes: float
    """Flow that a unit of the module's resource consumes of it: alpha."""
    rate: float = inf
    """Flow a second that it can give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Flow from one module to another."""

    origin: str
    target: str
    produces: float
    """Flow that a unit of the origin's resource produces: beta."""
    consumes: float
    """Flow that a unit of the target's resource consumes: alpha."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outflow:
    """A sink: where flow leaves, and what a unit of it is worth."""

    name: str
    origin: str
    produces: float
    """Flow that a unit of the origin's resource produces: beta."""
    weight: float = 1.0


class NetworkError(SettingError):
    """A network that makes no sense, and the part of it that is to blame."""

    def __init__(self, sentence: str, *, part: str, name: str) -> None:
        super().__init__(sentence)
        self.part = part
        """`budget`, `modules`, `sources`, `streams` or `sinks`."""
        self.name = name
        """Of the module, source or sink; `a -> b` of a stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Modules that share a budget, and the flow between them: acyclic."""

    budget: float
    modules: tuple[str, ...]
    inflows: tuple[Inflow, ...] = ()
    links: tuple[Link, ...] = ()
    outflows: tuple[Outflow, ...] = ()
    _inflows: Mapping[str, tuple[Inflow, ...]] = field(init=False, repr=False, compare=False)
    _inputs: Mapping[str, tuple[Link, ...]] = field(init=False, repr=False, compare=False)
    _outputs: Mapping[str, tuple[Link, ...]] = field(init=False, repr=False, compare=False)
    _outflows: Mapping[str, tuple[Outflow, ...]] = field(init=False, repr=False, compare=False)
    _order: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_names(self)
        _check_numbers(self)
        names = self.modules
        grouped = {
            "_inflows": _by(names, ((inflow.target, inflow) for inflow in self.inflows)),
            "_inputs": _by(names, ((link.target, link) for link in self.links)),
            "_outputs": _by(names, ((link.origin, link) for link in self.links)),
            "_outflows": _by(names, ((outflow.origin, outflow) for outflow in self.outflows)),
        }
        for name, value in grouped.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_order", _sorted(self))

    def order(self) -> tuple[str, ...]:
        """Every module, each after those that feed it."""
        return self._order

    def inflows_of(self, module: str) -> tuple[Inflow, ...]:
        """Sources that feed a module."""
        return self._inflows[module]

    def inputs(self, module: str) -> tuple[Link, ...]:
        """Links that lead to a module."""
        return self._inputs[module]

    def outputs(self, module: str) -> tuple[Link, ...]:
        """Links that leave a module."""
        return self._outputs[module]

    def outflows_of(self, module: str) -> tuple[Outflow, ...]:
        """Sinks that a module feeds."""
        return self._outflows[module]


def _by(names: Iterable[str], pairs: Iterable[tuple[str, T]]) -> dict[str, tuple[T, ...]]:
    grouped: dict[str, list[T]] = {name: [] for name in names}
    for name, value in pairs:
        grouped[name].append(value)
    return {name: tuple(values) for name, values in grouped.items()}


def _sorted(network: Network) -> tuple[str, ...]:
    sorter: TopologicalSorter[str] = TopologicalSorter(dict.fromkeys(network.modules, ()))
    for link in network.links:
        sorter.add(link.target, link.origin)
    try:
        return tuple(sorter.static_order())
    except CycleError as error:
        path = " -> ".join(error.args[1])
        raise NetworkError(
            f"the streams form a cycle: {path}; remove one of them", part="streams", name=path
        ) from None


def _check_names(network: Network) -> None:
    known = set(network.modules)
    sorts = (
        ("modules", network.modules),
        ("sources", [inflow.name for inflow in network.inflows]),
        ("sinks", [outflow.name for outflow in network.outflows]),
        ("streams", [f"{link.origin} -> {link.target}" for link in network.links]),
    )
    for part, names in sorts:
        for name, times in Counter(names).items():
            if times > 1:
                raise NetworkError(
                    f"{part[:-1]} {name} is given {times} times; keep one", part=part, name=name
                )
    ends = chain(
        (("sources", inflow.name, inflow.target) for inflow in network.inflows),
        (("sinks", outflow.name, outflow.origin) for outflow in network.outflows),
        (
            ("streams", f"{link.origin} -> {link.target}", end)
            for link in network.links
            for end in (link.origin, link.target)
        ),
    )
    for part, name, end in ends:
        if end not in known:
            raise NetworkError(
                f"{part[:-1]} {name} names module {end!r}, and there is none", part=part, name=name
            )


def _check_numbers(network: Network) -> None:
    _check("budget", network.budget, part="budget", name="")
    for inflow in network.inflows:
        _check("consumes", inflow.consumes, part="sources", name=inflow.name)
        _check("rate", inflow.rate, part="sources", name=inflow.name, infinite=True)
    for link in network.links:
        for key in ("produces", "consumes"):
            name = f"{link.origin} -> {link.target}"
            _check(key, getattr(link, key), part="streams", name=name)
    for outflow in network.outflows:
        for key in ("produces", "weight"):
            _check(key, getattr(outflow, key), part="sinks", name=outflow.name)


def _check(key: str, value: float, *, part: str, name: str, infinite: bool = False) -> None:
    if value > 0 and (isfinite(value) or infinite):
        return
    of = f" of {part[:-1]} {name}" if name else ""
    limit = "above 0" if infinite else "above 0 and finite"
    raise NetworkError(f"{key}{of} must be {limit}, got {value:g}", part=part, name=name)


def needs(network: Network, outputs: Mapping[str, float]) -> dict[str, float]:
    """The least resource of each module that delivers so much flow at each sink (Lemma 4).

    Sinks that are left out get nothing. Whether sources and budget can give it is another matter.
    """
    resource = dict.fromkeys(network.modules, 0.0)
    for module in reversed(network.order()):
        least = resource[module]
        for outflow in network.outflows_of(module):
            least = max(least, outputs.get(outflow.name, 0.0) / outflow.produces)
        for link in network.outputs(module):
            least = max(least, link.consumes * resource[link.target] / link.produces)
        resource[module] = least
    return resource


def affordable(network: Network, resource: Mapping[str, float]) -> float:
    """How many times this allocation sources and budget allow; inf of one that takes nothing."""
    total = sum(resource.values())
    times = network.budget / total if total > 0 else inf
    for inflow in network.inflows:
        taken = inflow.consumes * resource[inflow.target]
        if taken > 0:
            times = min(times, inflow.rate / taken)
    return times


def active(network: Network, resource: Mapping[str, float]) -> dict[str, float]:
    """The part of each module's resource that its inputs keep busy; all of it where they can."""
    busy: dict[str, float] = {}
    for module in network.order():
        most = resource[module]
        for inflow in network.inflows_of(module):
            most = min(most, inflow.rate / inflow.consumes)
        for link in network.inputs(module):
            most = min(most, link.produces * busy[link.origin] / link.consumes)
        busy[module] = most
    return busy


def outputs(network: Network, resource: Mapping[str, float]) -> dict[str, float]:
    """Flow a second at each sink under an allocation, whether or not its inputs keep it busy."""
    busy = active(network, resource)
    return {outflow.name: outflow.produces * busy[outflow.origin] for outflow in network.outflows}


def value(network: Network, resource: Mapping[str, float]) -> float:
    """What the flow at all sinks is worth a second under an allocation."""
    flow = outputs(network, resource)
    return sum(outflow.weight * flow[outflow.name] for outflow in network.outflows)
