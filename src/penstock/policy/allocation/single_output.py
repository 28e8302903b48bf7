"""The best allocation for a single sink, in linear time: Algorithm 1 and Theorem 1.

A unit of flow at the sink takes a fixed amount of every module before it: each module meets the
largest of the demands on its outputs. Totals that come back down say how many units budget and
sources allow. `sole_sinks` computes this for every sink at once, as if it were the only one.

>>> from penstock.policy.allocation.network import Inflow
>>> network = Network(
...     budget=2.0,
...     modules=("a", "b"),
...     inflows=(Inflow("s", "a", consumes=1.0, rate=3.0),),
...     links=(Link("a", "b", produces=2.0, consumes=4.0),),
...     outflows=(Outflow("o", "b", produces=8.0, weight=0.5),),
... )
>>> sole_sinks(MessageBus(network)), largest_flows(MessageBus(network))
({'o': SoleSink(unit=0.375, most=12.0)}, {'o': 5.333333333333333})
>>> solve(network).resource
{'a': 1.3333333333333333, 'b': 0.6666666666666666}
>>> sink_needs(network)
(SinkNeeds(sink='o', weight=0.5, unit={'a': 0.25, 'b': 0.125}, most=12.0),)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from penstock.core.errors import SettingError
from penstock.policy.allocation.allocation import Allocation, agreed_allocation, reachable_flows
from penstock.policy.allocation.messages import MessageBus, PricingQuery
from penstock.policy.allocation.network import Link, Network, Outflow, Stream, least_resource


class SoleSink(NamedTuple):
    """One sink, as if there were no other."""

    unit: float
    """Resource that a unit of flow takes (Lemma 4)."""
    most: float
    """Flow that the sources have for it: delta_max of Expr. 3."""


def sole_sinks(bus: MessageBus) -> dict[str, SoleSink]:
    """Of every sink: one pass up and one down.

    On the way up a message has one number for each sink that wants flow of the stream: how much of
    it a unit at that sink takes. On the way down, along the streams that demand most, the resource
    that this takes is added up, and the least that any source allows is kept.
    """
    network = bus.network
    units: dict[str, dict[str, float]] = {module: {} for module in network.modules}
    """Resource of each module that a unit of flow at each sink takes."""
    demanding: dict[str, dict[str, Stream]] = {module: {} for module in network.modules}

    def ask(module: str, wanted: Mapping[Stream, dict[str, float]]) -> dict[Link, dict[str, float]]:
        unit = units[module]
        for stream, flows in wanted.items():
            for sink, flow in flows.items():
                if flow / stream.produces > unit.get(sink, 0.0):
                    unit[sink], demanding[module][sink] = flow / stream.produces, stream
        links = network.inputs[module] if unit else ()
        return {link: {sink: link.consumes * x for sink, x in unit.items()} for link in links}

    def answer(
        module: str, received: Mapping[Link, dict[str, SoleSink]]
    ) -> dict[Stream, dict[str, SoleSink]]:
        limit = network.source_limits[module]
        totals = {
            sink: SoleSink(unit, limit / unit if limit < inf else inf)
            for sink, unit in units[module].items()
        }
        for message in received.values():
            for sink, more in message.items():
                unit, most = totals[sink]
                totals[sink] = SoleSink(unit + more.unit, min(most, more.most))
        sent: dict[Stream, dict[str, SoleSink]] = {}
        for sink, total in totals.items():
            sent.setdefault(demanding[module][sink], {})[sink] = total
        return sent

    bus.up({outflow.name: {outflow.name: 1.0} for outflow in network.outflows}, ask)
    return {sink: message[sink] for sink, message in bus.down(answer).items()}


def largest_flows(bus: MessageBus) -> dict[str, float]:
    """The most flow of each sink if it were the only one, by budget and sources (Theorem 1)."""
    network = bus.network
    most = {sink: min(network.budget / x.unit, x.most) for sink, x in sole_sinks(bus).items()}
    return reachable_flows(network, most)


def solve(network: Network) -> Allocation:
    """The optimum of a network with one sink."""
    weight, query = only_sink(network).weight, PricingQuery(network)
    flows = largest_flows(query.bus)
    promised = weight * sum(flows.values())
    return agreed_allocation(query, flows, policy="single-output", promised=promised)


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
    """What flow at a sink takes of each module, for a search among divisions.

    Under an allocation x the sink gets the least of `most` and of `x[m] / unit[m]` over the modules
    m before it (Lemma 4), whatever the other sinks get.
    """

    sink: str
    weight: float
    unit: Mapping[str, float]
    """Resource of each module before it that a unit of flow a second takes."""
    most: float
    """Flow a second that the sources before it have for it."""


def sink_needs(network: Network) -> tuple[SinkNeeds, ...]:
    """Those of each sink."""
    needs = []
    for sink in network.outflows:
        least = least_resource(network, {sink.name: 1.0})
        unit = {module: need for module, need in least.items() if need > 0}
        inflows = [inflow for inflow in network.inflows if inflow.target in unit]
        most = min((x.rate / (x.consumes * unit[x.target]) for x in inflows), default=inf)
        needs.append(SinkNeeds(sink=sink.name, weight=sink.weight, unit=unit, most=most))
    return tuple(needs)
