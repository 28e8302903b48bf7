"""What it takes to bring flow to a sink, and what there is to bring.

Under an allocation x, a sink gets the least of what its sources have and of `x[m] / unit[m]` over
the modules m before it (Lemma 4), whatever the other sinks get: so all that is to be known of a
network, for a search among divisions, is one row of numbers for each sink.

>>> from penstock.policy.allocation.network import Inflow, Link, Network, Outflow
>>> network = Network(
...     budget=2.0,
...     modules=("a", "b"),
...     inflows=(Inflow(name="s", target="a", consumes=4.0, rate=9.0),),
...     links=(Link(origin="a", target="b", produces=2.0, consumes=4.0),),
...     outflows=(Outflow(name="o", origin="b", produces=8.0, weight=0.5),),
... )
>>> reaches(network)
(Reach(sink='o', weight=0.5, unit={'a': 0.25, 'b': 0.125}, most=9.0),)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from penstock.policy.allocation.flow import needs
from penstock.policy.allocation.network import Network


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """A sink as those see it that bring flow to it."""

    sink: str
    weight: float
    unit: Mapping[str, float]
    """Resource of each module before it that a unit of flow a second takes."""
    most: float
    """Flow a second that the sources before it have for it."""


def reaches(network: Network) -> tuple[Reach, ...]:
    """One of each sink."""
    return tuple(_reach(network, out.name, out.weight) for out in network.outflows)


def _reach(network: Network, sink: str, weight: float) -> Reach:
    unit = {name: need for name, need in needs(network, {sink: 1.0}).items() if need > 0}
    most = inf
    for inflow in network.inflows:
        if inflow.target in unit:
            most = min(most, inflow.rate / (inflow.consumes * unit[inflow.target]))
    return Reach(sink=sink, weight=weight, unit=unit, most=most)
