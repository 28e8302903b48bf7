"""Who gets the resource: a budget divided among the modules of a processing network (alloc).

| file | holds |
|---|---|
| `network`, `flow`, `allocation` | what is divided among whom, what that brings, and the answer |
| `lp`, `dual` | the optimum by one that knows everything, and a bound that proves it |
| `bus` | how agents speak, and what a message and a pass are |
| `alone`, `single_output` | what a single sink can have (Algorithm 1, Theorem 1) |
| `gradient`, `heuristic_b` | what outputs take and what more would; climbing by it (Heuristic B) |
| `cutting_plane`, `master` | the optimum by agents, and what their final sink concludes |
| `highs` | the solver of linear programs, large and small |
| `settle` | a last look at what was agreed on |
| `shrink`, `trees`, `gain` | the optimum of trees (Algorithm 2) |
| `merging` | a fork made one, as printed (Theorems 2 to 4): for comparison |
| `heuristic_a`, `tree_rounds` | every graph as if it were a tree (Heuristic A) |
| `aggregation`, `series_parallel`, `single_link`, `reduction`, `yields` | super nodes |
| `adaptation` and its parts | agents that follow rates as they drift (Section 7.3) |
| `live`, `offer`, `measured`, `rounding` and their parts | the same for queries that run |
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
    """The most that any allocation is worth.

    >>> from penstock.policy.allocation.network import Outflow
    >>> sink = Outflow(name="o", origin="a", produces=3.0, weight=0.5)
    >>> optimum(Network(budget=2.0, modules=("a",), outflows=(sink,)))
    3.0
    """
    return lp.solve(network).value
