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
        """Refuse what has no meaning, naming it."""
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
    found: dict[str, list[T]] = {name: [] for name in names}
    for name, value in pairs:
        found[name].append(value)
    return {name: tuple(values) for name, values in found.items()}


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
        _check("rate", inflow.rate, part="sources", name=inflow.name, endless=True)
    for link in network.links:
        for key in ("produces", "consumes"):
            name = f"{link.origin} -> {link.target}"
            _check(key, getattr(link, key), part="streams", name=name)
    for outflow in network.outflows:
        for key in ("produces", "weight"):
            _check(key, getattr(outflow, key), part="sinks", name=outflow.name)


def _check(key: str, value: float, *, part: str, name: str, endless: bool = False) -> None:
    if value > 0 and (isfinite(value) or endless):
        return
    of = f" of {part[:-1]} {name}" if name else ""
    limit = "above 0" if endless else "above 0 and finite"
    raise NetworkError(f"{key}{of} must be {limit}, got {value:g}", part=part, name=name)
