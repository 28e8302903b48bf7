"""What an allocation brings, and what it takes to bring something.

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

from collections.abc import Mapping
from math import inf

from penstock.policy.allocation.network import Network


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
