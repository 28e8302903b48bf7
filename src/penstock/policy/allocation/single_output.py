"""The best allocation for a single sink, in linear time: Algorithm 1 and Theorem 1.

The last module says what it needs for a unit of flow, each that feeds another meets the largest of
its wants, and the totals that come back down say how many units budget and sources allow.
"""

from penstock.core.errors import SettingError
from penstock.policy.allocation.allocation import Allocation
from penstock.policy.allocation.alone import alone
from penstock.policy.allocation.gradient import Enquiry
from penstock.policy.allocation.network import Network, Outflow
from penstock.policy.allocation.settle import settled, within_reach


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
    enquiry, weight = Enquiry.of(network), only_sink(network).weight
    each = alone(enquiry.post)
    flows = within_reach(network, {k: one.flow(network.budget) for k, one in each.items()})
    resource = enquiry.tell(flows)
    promised = weight * sum(flows.values())
    return settled(network, resource, policy="single-output", promised=promised, post=enquiry.post)


def only_sink(network: Network) -> Outflow:
    """The sink of a network that has one; an error of others."""
    if len(network.outflows) != 1:
        raise SettingError(
            f"single-output is for one sink, and there are {len(network.outflows)}; "
            "take cutting-plane"
        )
    return network.outflows[0]
