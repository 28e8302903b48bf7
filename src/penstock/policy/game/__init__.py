"""Games that modules play over their degrees: the **game** paper.

| file | contents |
|---|---|
| `costs` | the preferred degree of one module, and the terms of the common cost |
| `aggregate` | mailboxes, messages, and sums over all agents by tree or by gossip |
| `agents` | agents that play, add up and agree by messages; Find-PNE (Function 1) |
| `bulk` | the same computed at once, for thousands of modules |
| `topology` | diameter and spanning tree of minimum height |
| `plan` | which of the two plays, and the degrees that agents agree on |
| `equilibrium` | Nash equilibrium (Alg. 1) and incentives (Alg. 2) |
| `social` | the social optimum |
| `live` | the games as policies of a running pipeline |

>>> from penstock.model import FlowModel
>>> from penstock.testing import chain
>>> costs = {"price": 0.01, "delay_cost": 0.5}
>>> graph = chain(scan={"service_time": 0.1, **costs}, match={"service_time": 2.0, **costs})
>>> model = FlowModel.of(graph)
>>> nash(model).replicas, nash(model).bottleneck
({'scan': 0.5, 'match': 10.0}, ('match',))
>>> {name: (plan(model).rounded, plan(model).messages) for name, plan in PLANNERS.items()}
{'nash': ({'scan': 1, 'match': 10}, 2), 'incentive': ({'scan': 1, 'match': 14}, 28), \
'social': ({'scan': 1, 'match': 14}, 2)}
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
