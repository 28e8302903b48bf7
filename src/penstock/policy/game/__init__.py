"""Games that modules play over their degrees: the **game** paper.

| file | holds |
|---|---|
| `mailbox`, `agent`, `network` | agents that know themselves and their neighbours, and messages |
| `find_pne` | the Pareto-optimal Nash equilibrium by message passing (Function 1) |
| `aggregate` | sums over all agents, by tree or by gossip |
| `topology`, `distances` | diameter and spanning tree of minimum height |
| `nash`, `incentive`, `social` | the strategies (Alg. 1, Alg. 2, and the optimum in closed form) |
| `exchange`, `conversation`, `bulk` | what agents do together: by messages, or computed at once |
| `plan` | what they agree on |
| `live`, `estimate`, `sentence` | the same as policies of a running pipeline |
"""

from collections.abc import Callable
from typing import Final

from penstock.policy.game.equilibrium import incentive, nash
from penstock.policy.game.live import Incentive, Nash, Social
from penstock.policy.game.plan import Plan
from penstock.policy.game.social import social
from penstock.policy.game.topology import Topology

PLANNERS: Final[dict[str, Callable[..., Plan]]] = {
    "nash": nash,
    "incentive": incentive,
    "social": social,
}
"""Plans for a `FlowModel`, by the name of the policy; settings are keywords."""

__all__ = [
    "PLANNERS",
    "Incentive",
    "Nash",
    "Plan",
    "Social",
    "Topology",
    "incentive",
    "nash",
    "social",
]
