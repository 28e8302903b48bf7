"""Prometheus' text format, version 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats

>>> shown = family("backlog_rows", "gauge", "Rows", {(("module", 'a"b'),): 7.5, (): None})
>>> print(text([shown]), end="")
# HELP penstock_backlog_rows Rows
# TYPE penstock_backlog_rows gauge
penstock_backlog_rows{module="a\\"b"} 7.5
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from penstock.dashboard.metrics import MetricsState

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
PREFIX: Final = "penstock_"

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A metric, and its value for each set of labels."""

    name: str
    kind: str
    """`gauge` or `counter`."""
    meaning: str
    samples: Mapping[Labels, float]


def family(name: str, kind: str, meaning: str, samples: Mapping[Labels, float | None]) -> Family:
    """A family under our prefix, without what is unknown."""
    known = {k: v for k, v in samples.items() if v is not None and not isnan(v)}
    return Family(name=PREFIX + name, kind=kind, meaning=meaning, samples=known)


def one(value: float | None) -> dict[Labels, float | None]:
    """The samples of a metric without labels."""
    return {(): value}


def render(state: "MetricsState") -> str:
    """What `/metrics` answers."""
    return text(state.families())


def text(families: Iterable[Family]) -> str:
    """Families in the text format; one without samples is not there."""
    return "".join(line for found in families if found.samples for line in _lines(found))


def _lines(found: Family) -> Iterator[str]:
    yield f"# HELP {found.name} {_escaped(found.meaning)}\n"
    yield f"# TYPE {found.name} {found.kind}\n"
    for labels, value in found.samples.items():
        told = ",".join(f'{name}="{_quoted(word)}"' for name, word in labels)
        yield f"{found.name}{'{' + told + '}' if told else ''} {_number(value)}\n"


def _number(value: float) -> str:
    """A float as Go reads it.

    >>> _number(3), _number(0.25), _number(float("inf")), _number(1763406196.852)
    ('3', '0.25', '+Inf', '1763406196.852')
    """
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))


def _escaped(words: str) -> str:
    return words.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(words: str) -> str:
    return _escaped(words).replace('"', '\\"')
