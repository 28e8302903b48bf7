"""A budget of resource divided among the modules of a processing network: the **alloc** paper.

| file | contents |
|---|---|
| `network` | the processing network, and what an allocation yields |
| `allocation` | the result of a planner |
| `messages` | message passing along the streams, and the pricing query |
| `lp` | the optimum by linear programming, with a bound that proves it |
| `single_output` | one sink (Algorithm 1, Theorem 1) |
| `shrink` | trees (Algorithm 2) |
| `heuristic_a`, `heuristic_b` | Heuristics A and B |
| `cutting_plane` | the optimum by agents |
| `reduction` | merging the leaves of a fork, as printed (Theorems 2 to 4) |
| `aggregation` | super nodes (Procedures 1 and 2) |
| `adaptation` | agents that follow changing rates (Section 7.3) |
| `rounding` | whole cores |
| `live` | the allocation as a policy of running pipelines |

>>> from penstock.policy.allocation.network import Link, Outflow
>>> network = Network(
...     budget=1.0,
...     modules=("a", "b", "c"),
...     links=(
...         Link("a", "b", produces=1.0, consumes=1.0),
...         Link("a", "c", produces=1.0, consumes=1.0),
...     ),
...     outflows=(
...         Outflow("x", "b", produces=1.0, weight=3.0),
...         Outflow("y", "c", produces=2.0, weight=1.0),
...     ),
... )
>>> for name in ("lp", "shrink", "cutting-plane", "heuristic-a", "heuristic-b"):
...     plan = PLANNERS[name](network)
...     print(name, round(plan.value, 3), plan.messages, plan.passes)
lp 1.667 0 0
shrink 1.667 18 6
cutting-plane 1.667 26 7
heuristic-a 1.667 24 9
heuristic-b 1.663 32 9
"""

from collections.abc import Callable
from typing import Final

from penstock.policy.allocation import (
    cutting_plane,
    heuristic_a,
    heuristic_b,
    lp,
    shrink,
    single_output,
)
from penstock.policy.allocation.allocation import Allocation
from penstock.policy.allocation.network import Network

PLANNERS: Final[dict[str, Callable[..., Allocation]]] = {
    "lp": lp.solve,
    "heuristic-a": heuristic_a.solve,
    "heuristic-b": heuristic_b.solve,
    "shrink": shrink.solve,
    "cutting-plane": cutting_plane.solve,
    "single-output": single_output.solve,
}
"""Plans for a `Network`, by the name of the policy; settings are keywords."""


def optimum(network: Network) -> float:
    """The most that any allocation is worth."""
    return lp.solve(network).value
