"""Model predictive control: the **mpc** paper.

| file | holds |
|---|---|
| `horizon` | the exact optimum over a horizon, by dynamic programming |
| `branch_and_bound` | the paper's search of the evolution tree, as a cross-check (Section 3.3.2) |
| `options`, `costs` | what can be chosen, and what it costs (Section 3.3.1, Tab. 6) |
| `limits` | how much there may be to weigh |
| `known`, `controller` | what was measured of a module, and the course that is best for it |
| `fleet` | all modules of a graph, and the clock they share |
| `rebalance` | which replica gets which key |
| `waiting` | when so many rows wait that no replica can be spared |
| `verdict`, `sentence` | decisions put together, and told |
| `policy` | the same as a policy of a running pipeline |
"""

from penstock.policy.common.rebalance import Rebalancer, lpt
from penstock.policy.mpc.costs import STRATEGIES, Options, Outlook, Prices
from penstock.policy.mpc.horizon import Problem, Trajectory, branch_and_bound, solve
from penstock.policy.mpc.policy import Mpc

__all__ = [
    "STRATEGIES",
    "Mpc",
    "Options",
    "Outlook",
    "Prices",
    "Problem",
    "Rebalancer",
    "Trajectory",
    "branch_and_bound",
    "lpt",
    "solve",
]
