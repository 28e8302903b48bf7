"""Parts of an allocation graph as they are written, with their amounts checked.

>>> from penstock.pipeline.located import read
>>> draft = read("{from: a, to: b, produces: -1, consumes: lots}", name="job.yaml")
>>> read_part(draft, (), draft.value, Stream, of="stream a -> b").to
'b'
>>> for mistake in draft.mistakes:
...     print(mistake)
job.yaml, line 1: produces of stream a -> b must be a number above 0 and finite, got -1
job.yaml, line 1: consumes of stream a -> b must be a number above 0 and finite, \
got the text 'lots'
"""

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from math import inf, isfinite, nan
from typing import Any, TypeVar

from penstock.core.convert import MISFITS, convert
from penstock.core.errors import SettingError
from penstock.core.units import parse_rate
from penstock.pipeline.located import Draft, Path
from penstock.pipeline.sections import assemble, kind
from penstock.policy.allocation.network import Inflow, Link, Outflow

T = TypeVar("T")


def flow(value: object) -> float:
    """A number, also as a rate with its unit; nan for what is none.

    >>> flow(3), flow("inf"), flow("120/min"), flow("lots")
    (3.0, inf, 2.0, nan)
    """
    try:
        return parse_rate(value) if isinstance(value, str) and "/" in value else _number(value)
    except (SettingError, *MISFITS):
        return nan


def _number(value: object) -> float:
    return float(convert(float, value))  # type: ignore[arg-type]  # a float, or it raises


def amount(value: object) -> float:
    """A number; nan for what is none.

    >>> amount("1e-6"), amount([1]), amount(True)
    (1e-06, nan, nan)
    """
    try:
        return _number(value)
    except MISFITS:
        return nan


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Resource to divide."""

    budget: float = field(default=1.0, metadata={"read": amount})


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where flow comes from."""

    to: str
    rate: float = field(default=inf, metadata={"read": flow})


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """What joins a source and a module, or two modules: flow per unit of resource at either end."""

    from_: str
    to: str
    produces: float | None = field(default=None, metadata={"read": amount})
    consumes: float | None = field(default=None, metadata={"read": amount})

    def __str__(self) -> str:
        return f"stream {self.from_} -> {self.to}"

    def as_inflow(self, rate: float) -> Inflow:
        """What a source gives a module."""
        return Inflow(name=self.from_, target=self.to, consumes=_given(self.consumes), rate=rate)

    def as_link(self) -> Link:
        """What a module gives another."""
        produces, consumes = _given(self.produces), _given(self.consumes)
        return Link(origin=self.from_, target=self.to, produces=produces, consumes=consumes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """Where flow leaves, and what a unit of it is worth."""

    from_: str
    produces: float = field(metadata={"read": amount})
    weight: float = field(default=1.0, metadata={"read": amount})

    def as_outflow(self, name: str) -> Outflow:
        """What a module gives the sink."""
        return Outflow(name=name, origin=self.from_, produces=self.produces, weight=self.weight)


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A module, which has no settings here."""


def read_part(
    draft: Draft, path: Path, given: Mapping[str, Any], part: type[T], *, of: str
) -> T | None:
    """A part, with its mistakes noted; None where it cannot be told what it joins."""
    for f in fields(part):  # type: ignore[arg-type]  # a part is a dataclass
        open_ = f.default is None and given.get(f.name) is None  # which is told as missing
        if f.metadata and f.name in given and not open_:
            _check_amount(draft, (*path, f.name), given[f.name], f, of=of)
    return assemble(draft, path, given, part, of=of)


def _given(value: float | None) -> float:
    return nan if value is None else value  # which no network takes


def _check_amount(draft: Draft, path: Path, given: Any, f: Field[Any], *, of: str) -> None:
    value = f.metadata["read"](given)
    endless = f.default == inf
    if not (value > 0 and (endless or isfinite(value))):
        limit = "above 0, or inf" if endless else "above 0 and finite"
        draft.note(path, f"{f.name} of {of} must be a number {limit}, got {kind(given)}")
