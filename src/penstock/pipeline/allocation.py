"""A graph file with joint inputs and a budget, for dividing a resource among modules.

Its streams say how much flow a unit of resource consumes and produces at either end; nothing in
it can run or be simulated, so it is checked here and left to planning.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

from penstock.core.errors import SettingError
from penstock.core.settings import near
from penstock.pipeline.located import Draft, Path
from penstock.pipeline.sections import assemble, check_keys, mapping, sequence

SECTIONS: Final = ("budget", "sources", "modules", "streams", "sinks")


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Resource to divide."""

    budget: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a budget of nothing."""
        _above_zero("budget", self.budget)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inflow:
    """Where flow comes from: its rate, without end where `inf`."""

    to: str
    rate: float = float("inf")

    def __post_init__(self) -> None:
        """Refuse a source without flow."""
        _above_zero("rate", self.rate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """A stream: flow per unit of resource, at either end."""

    from_: str
    to: str
    produces: float | None = None
    consumes: float | None = None

    def __post_init__(self) -> None:
        """Refuse flow that is not above zero."""
        _above_zero("produces", self.produces)
        _above_zero("consumes", self.consumes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outflow:
    """Where flow leaves, and what a unit of it is worth."""

    from_: str
    produces: float
    weight: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a sink that nothing reaches."""
        _above_zero("produces", self.produces)


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A module, which has no settings here."""

    name: str = field(init=False, default="")


def is_allocation(value: Mapping[str, Any]) -> bool:
    """Whether a file divides a budget rather than describing replicas.

    >>> is_allocation({"budget": 1.0, "modules": {"a": {}}})
    True
    """
    return any(key in value for key in ("budget", "sources", "sinks"))


def check(draft: Draft) -> None:
    """Write down every mistake of an allocation graph."""
    check_keys(draft, (), draft.value, SECTIONS, of="an allocation graph")
    budget = {key: draft.value[key] for key in ("budget",) if key in draft.value}
    assemble(draft, (), budget, Budget, of="the allocation graph")
    named = {name: _named(draft, name) for name in ("sources", "modules", "sinks")}
    for name in named["modules"]:
        _part(draft, ("modules", name), Share, of=f"module {name}")
    inflows = {n: _part(draft, ("sources", n), Inflow, of=f"source {n}") for n in named["sources"]}
    outflows = {n: _part(draft, ("sinks", n), Outflow, of=f"sink {n}") for n in named["sinks"]}
    for name, inflow in inflows.items():
        _check_end(draft, ("sources", name, "to"), inflow and inflow.to, named["modules"])
    for name, outflow in outflows.items():
        _check_end(draft, ("sinks", name, "from"), outflow and outflow.from_, named["modules"])
    _check_streams(draft, named["sources"], named["modules"])


def _check_streams(draft: Draft, sources: list[str], modules: list[str]) -> None:
    like = "[{from: a, to: b, produces: 0.7, consumes: 0.4}]"
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for i, _ in enumerate(sequence(draft, ("streams",), of="streams", like=like)):
        joint = _part(draft, ("streams", i), Joint, of="a stream")
        if joint is not None:
            _check_end(draft, ("streams", i, "from"), joint.from_, [*sources, *modules])
            _check_end(draft, ("streams", i, "to"), joint.to, modules)
            sorter.add(joint.to, joint.from_)
    try:
        sorter.prepare()
    except CycleError as error:
        path = " -> ".join(reversed(error.args[1]))
        draft.note(("streams",), f"the streams form a cycle: {path}; remove one of them")


def _named(draft: Draft, section: str) -> list[str]:
    given = mapping(draft, (section,), of=section, like="{a: {}}")
    if not given:
        draft.note((section,), f"{section} is missing; an allocation graph has {section}")
    return list(given)


def _part(draft: Draft, path: Path, part: type[Any], *, of: str) -> Any:
    given = mapping(draft, path, of=of, like="{to: a}")
    return assemble(draft, path, given, part, of=of)


def _check_end(draft: Draft, path: Path, name: str | None, known: Iterable[str]) -> None:
    if name is not None and name not in known:
        draft.note(path, f"there is no module {name!r}{near(name, known)}")


def _above_zero(name: str, value: float | None) -> None:
    if value is not None and not value > 0:
        raise SettingError(f"{name} must be above 0, got {value:g}")
