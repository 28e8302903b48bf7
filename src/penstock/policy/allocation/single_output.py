"""The best allocation for a single sink, in linear time: Algorithm 1 and Theorem 1.

The last module says what it needs for a unit of flow, each that feeds another meets the largest of
its wants, and the totals that come back down say how many units budget and sources allow.

What each sink could have if it were the only one: Algorithm 1 and Theorem 1, for all at once.

On the way up a message holds one number for each sink that wants flow of the stream: how much of it
a unit at that sink takes. On the way down the resource that this takes is added up, and the least
that any source allows is kept, each along the streams that asked most.

>>> from penstock.policy.allocation.network import Inflow, Link, Network, Outflow
>>> network = Network(
...     budget=2.0,
...     modules=("a", "b"),
...     inflows=(Inflow(name="s", target="a", consumes=1.0, rate=3.0),),
...     links=(Link(origin="a", target="b", produces=2.0, consumes=4.0),),
...     outflows=(Outflow(name="o", origin="b", produces=8.0, weight=0.5),),
... )
>>> each = alone(MessageBus(network))
>>> each["o"], each["o"].flow(network.budget)
(Alone(unit=0.375, most=12.0), 5.333333333333333)

What it takes to bring flow to a sink, and what there is to bring.

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
>>> sink_needs(network)
(SinkNeeds(sink='o', weight=0.5, unit={'a': 0.25, 'b': 0.125}, most=9.0),)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple, TypeAlias

from penstock.core.errors import SettingError
from penstock.policy.allocation.allocation import Allocation, checked_allocation, reachable_flows
from penstock.policy.allocation.messages import MessageBus, PricingQuery, Stream
from penstock.policy.allocation.network import Link, Network, Outflow, needs


class Alone(NamedTuple):
    """One sink, as if there were no other."""

    unit: float
    """Resource that a unit of flow takes (Lemma 4)."""
    most: float
    """Flow that the sources have for it: delta_max of Expr. 3."""

    def flow(self, budget: float) -> float:
        """The most that budget and sources allow (Theorem 1)."""
        return min(budget / self.unit, self.most)


_Wants: TypeAlias = dict[str, float]
_Told: TypeAlias = dict[str, Alone]


@dataclass(slots=True)
class _Agent:
    network: Network
    module: str
    units: dict[str, float] = field(default_factory=dict)
    """Resource that a unit of flow at each sink takes here."""
    askers: dict[str, Stream] = field(default_factory=dict)

    def ask(self, wanted: Mapping[Stream, _Wants]) -> dict[Link, _Wants]:
        for stream, flows in wanted.items():
            for sink, flow in flows.items():
                if flow / stream.produces > self.units.get(sink, 0.0):
                    self.units[sink], self.askers[sink] = flow / stream.produces, stream
        return {
            link: {sink: link.consumes * unit for sink, unit in self.units.items()}
            for link in self.network.inputs(self.module)
            if self.units
        }

    def answer(self, received: Mapping[Link, _Told]) -> dict[Stream, _Told]:
        known = {sink: Alone(unit, self._most(unit)) for sink, unit in self.units.items()}
        for text in received.values():
            for sink, more in text.items():
                unit, most = known[sink]
                known[sink] = Alone(unit + more.unit, min(most, more.most))
        sent: dict[Stream, _Told] = {}
        for sink, total in known.items():
            sent.setdefault(self.askers[sink], {})[sink] = total
        return sent

    def _most(self, unit: float) -> float:
        limited = (source for source in self.network.inflows_of(self.module) if source.rate < inf)
        return min((source.rate / source.consumes / unit for source in limited), default=inf)


def alone(bus: MessageBus) -> dict[str, Alone]:
    """Of every sink: one pass up and one down."""
    network = bus.network
    agents = {module: _Agent(network, module) for module in network.modules}

    def ask(module: str, wanted: Mapping[Stream, _Wants]) -> dict[Link, _Wants]:
        return agents[module].ask(wanted)

    def answer(
        module: str, received: Mapping[Link, dict[str, Alone]]
    ) -> dict[Stream, dict[str, Alone]]:
        return agents[module].answer(received)

    bus.up({outflow.name: {outflow.name: 1.0} for outflow in network.outflows}, ask)
    return {sink: text[sink] for sink, text in bus.down(answer).items()}


def solve(network: Network) -> Allocation:
    """The optimum of a network with one sink.

    >>> from penstock.policy.allocation.network import Link, Network, Outflow
    >>> network = Network(
    ...     budget=3.0,
    ...     modules=("a", "b"),
    ...     links=(Link(origin="a", target="b", produces=2.0, consumes=4.0),),
    ...     outflows=(Outflow(name="o", origin="b", produces=8.0, weight=0.5),),
    ... )
    >>> best = solve(network)
    >>> best.resource, best.value, best.messages, best.passes
    ({'a': 2.0, 'b': 1.0}, 4.0, 6, 3)
    """
    query, weight = PricingQuery.of(network), only_sink(network).weight
    each = alone(query.bus)
    flows = reachable_flows(network, {k: one.flow(network.budget) for k, one in each.items()})
    resource = query.allocate(flows)
    promised = weight * sum(flows.values())
    return checked_allocation(
        network, resource, policy="single-output", promised=promised, bus=query.bus
    )


def only_sink(network: Network) -> Outflow:
    """The sink of a network that has one; an error of others."""
    if len(network.outflows) != 1:
        raise SettingError(
            f"single-output is for one sink, and there are {len(network.outflows)}; "
            "take cutting-plane"
        )
    return network.outflows[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkNeeds:
    """A sink as those see it that bring flow to it."""

    sink: str
    weight: float
    unit: Mapping[str, float]
    """Resource of each module before it that a unit of flow a second takes."""
    most: float
    """Flow a second that the sources before it have for it."""


def sink_needs(network: Network) -> tuple[SinkNeeds, ...]:
    """One of each sink."""
    return tuple(_sink_needs(network, out.name, out.weight) for out in network.outflows)


def _sink_needs(network: Network, sink: str, weight: float) -> SinkNeeds:
    unit = {name: need for name, need in needs(network, {sink: 1.0}).items() if need > 0}
    most = inf
    for inflow in network.inflows:
        if inflow.target in unit:
            most = min(most, inflow.rate / (inflow.consumes * unit[inflow.target]))
    return SinkNeeds(sink=sink, weight=weight, unit=unit, most=most)
