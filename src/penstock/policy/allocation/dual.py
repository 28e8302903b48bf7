"""A bound on what any allocation is worth, from how each module splits its price among its streams.

A unit of resource costs 1, and a module's price is passed on to those that it feeds, in any split:
it makes for all of them at once, so whoever they are, they pay for no more than it takes. A sink
then costs so much a unit, and what the budget can buy at these prices is worth no less than what it
can bring in truth (weak duality). The prices of the linear program make it equal.

>>> from penstock.policy.allocation.network import Link, Network, Outflow
>>> x = Outflow(name="x", origin="a", produces=1.0, weight=3.0)
>>> y = Outflow(name="y", origin="a", produces=1.0, weight=1.0)
>>> network = Network(budget=1.0, modules=("a",), outflows=(x, y))
>>> bound(network, {"x": 1.0, "y": 1.0}, {x: 1.0, y: 1.0}), bound(
...     network, {"x": 1.0, "y": 1.0}, {x: 3.0, y: 1.0}
... )
(4.0, 4.0)
"""

from collections.abc import Mapping

from penstock.policy.allocation.network import Network, Outflow
from penstock.policy.allocation.post import Stream


def bound(network: Network, most: Mapping[str, float], split: Mapping[Stream, float]) -> float:
    """No allocation is worth more, whatever the split.

    `most` is the flow that each sink could have alone, of those that count; the split has every
    stream that leads to one of them.
    """
    costs = sink_costs(network, split)
    weights = {outflow.name: outflow.weight for outflow in network.outflows}
    value, budget = 0.0, network.budget
    for sink in sorted(most, key=lambda sink: costs[sink] / weights[sink]):
        flow = most[sink] if costs[sink] * most[sink] <= budget else budget / costs[sink]
        value += weights[sink] * flow
        budget = max(budget - costs[sink] * flow, 0.0)
    return value


def sink_costs(network: Network, split: Mapping[Stream, float]) -> dict[str, float]:
    """What a unit of flow at each sink costs."""
    prices = dict.fromkeys(network.modules, 1.0)
    costs: dict[str, float] = {}
    for module in network.order():
        for stream, part in _parts(network, module, split).items():
            price = prices[module] * part / stream.produces
            if isinstance(stream, Outflow):
                costs[stream.name] = price
            else:
                prices[stream.target] += price * stream.consumes
    return costs


def _parts(network: Network, module: str, split: Mapping[Stream, float]) -> dict[Stream, float]:
    """Shares of a module's streams, 1 in all; even where nothing is known."""
    leaving: list[Stream] = [*network.outflows_of(module), *network.outputs(module)]
    known = {stream: max(split[stream], 0.0) for stream in leaving if stream in split}
    total = sum(known.values())
    if total > 0:
        return {stream: part / total for stream, part in known.items()}
    return dict.fromkeys(known, 1.0 / max(len(known), 1))
