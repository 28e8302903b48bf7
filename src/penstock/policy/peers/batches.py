"""How much of its interval a module's micro-batches take."""

from dataclasses import dataclass

from penstock.core.graph import FlowGraph
from penstock.core.signals import ModuleReading
from penstock.core.units import format_duration
from penstock.policy.peers.deciding import check, known, percent


@dataclass(frozen=True, slots=True)
class Ratio:
    """Processing time by interval, or what stands for it."""

    value: float
    of: str
    """What was divided by what, in words."""


def check_interval(interval: float | None, policy: str) -> None:
    """Refuse an interval that no batch could keep to."""
    if interval is not None:
        check(f"interval of policy {policy}", interval, 0.0, above=True)


def interval_of(graph: FlowGraph | None, name: str, given: float | None) -> float:
    """Seconds between micro-batches: as given, or the module's trigger; 0 where neither is known.

    >>> interval_of(None, "counter", 2.0), interval_of(None, "counter", None)
    (2.0, 0.0)
    """
    if given is not None:
        return given
    return graph[name].trigger if graph is not None and name in graph.names() else 0.0


def ratio_of(reading: ModuleReading, interval: float) -> Ratio | None:
    """The reading's ratio: by time where there is an interval, else how busy the module is.

    >>> ratio_of(ModuleReading(batch_duration=1.5), 2.0)
    Ratio(value=0.75, of='of the interval of 2 s')
    >>> ratio_of(ModuleReading(utilisation=0.5), 0.0)
    Ratio(value=0.5, of='busy, for want of an interval')
    >>> ratio_of(ModuleReading(utilisation=0.5), 2.0)
    """
    if interval > 0:
        lasted = known(reading.batch_duration)
        share = None if lasted is None else known(lasted / interval)
        of = f"of the interval of {format_duration(interval)}"
        return None if share is None else Ratio(share, of)
    busy = known(reading.utilisation)
    return None if busy is None else Ratio(busy, "busy, for want of an interval")


def missing(interval: float) -> str:
    """What was not measured, in words."""
    return "batch duration unknown" if interval > 0 else "no interval, and utilisation unknown"


def took(ratio: float, of: str) -> str:
    """A ratio in words.

    >>> took(0.75, "of the interval of 2 s")
    '75 % of the interval of 2 s'
    """
    return f"{percent(ratio)} {of}"
