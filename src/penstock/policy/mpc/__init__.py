"""Model predictive control: the **mpc** paper.

| file | contents |
|---|---|
| `horizon` | the exact optimum over a horizon, and the paper's branch and bound (Section 3.3.2) |
| `costs` | the options of a controller, and what each costs (Section 3.3.1, Tab. 6) |
| `controller` | the controller of one module |
| `policy` | the controllers of all modules as a policy, and the limits of the computation |
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
