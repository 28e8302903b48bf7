"""Parts of a network made super nodes, so that less is left to divide (alloc, Section 6).

>>> from penstock.policy.allocation.network import Link, Network, Outflow
>>> chain = Network(
...     budget=3.0,
...     modules=("a", "b"),
...     links=(Link(origin="a", target="b", produces=1.0, consumes=2.0),),
...     outflows=(Outflow(name="o", origin="b", produces=6.0),),
... )
>>> made = aggregate(chain, procedure="series-parallel")
>>> made.network.modules, dict(made.super_nodes)
(('b',), {'b': ('a', 'b')})
>>> made.expand({"b": 3.0})
{'a': 2.0, 'b': 1.0}
"""

from typing import Final, Literal

from penstock.core.errors import SettingError
from penstock.policy.allocation.network import Network
from penstock.policy.allocation.reduction import Reduction, unreduced
from penstock.policy.allocation.series_parallel import series_parallel
from penstock.policy.allocation.single_link import single_link

Procedure = Literal["series-parallel", "single-link", "both"]
STEPS: Final = {
    "series-parallel": (series_parallel,),
    "single-link": (single_link,),
    "both": (series_parallel, single_link),
}


def aggregate(network: Network, *, procedure: Procedure = "both") -> Reduction:
    """The smallest network that a procedure leaves, with the same optimum, and the way back."""
    if procedure not in STEPS:
        raise SettingError(f"procedure must be one of {', '.join(STEPS)}, got {procedure!r}")
    made, left = unreduced(network), len(network.modules) + 1
    while len(made.network.modules) < left:
        left = len(made.network.modules)
        for step in STEPS[procedure]:
            made = made.then(step(made.network))
    return made
