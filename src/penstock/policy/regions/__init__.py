"""How many nodes each region is to have: the local policies of the **e2df** paper, Section 6.

| kind | decides |
|---|---|
| `static` | nothing: every region keeps its nodes, or those it was given |
| `simple` | one node more or fewer, so that a few are always idle |
| `rl` | what costs least in the long run by what was learned |

Each is a policy that decides for nodes alone; `penstock.policy.hierarchy` puts it beside one that
decides for modules. A region that does not answer keeps what it has, and the others go on.
"""

from typing import Final

from penstock.core.roles import Policy
from penstock.policy.regions.answering import nodes_in_force
from penstock.policy.regions.learned import LearnedNodes
from penstock.policy.regions.simple import SimpleNodes
from penstock.policy.regions.static import StaticNodes

REGION_POLICIES: Final[dict[str, type[Policy]]] = {
    "static": StaticNodes,
    "simple": SimpleNodes,
    "rl": LearnedNodes,
}

__all__ = ["REGION_POLICIES", "LearnedNodes", "SimpleNodes", "StaticNodes", "nodes_in_force"]
