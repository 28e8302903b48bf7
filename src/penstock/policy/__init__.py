"""What to do about what was seen.

| kind | decides |
|---|---|
| `static` | nothing: every module keeps its degree, or the one it was given |
| `threshold` | one executor more or fewer, by how busy each module is (e2df, Section 7.1) |
| `nash` | what each module would choose for itself beside the others (game, Alg. 1) |
| `incentive` | the same, with incentives that lower the cost of all (game, Alg. 2) |
| `social` | what costs all modules together the least |
"""

from typing import Final

from penstock.core.roles import Policy
from penstock.policy.game import Incentive, Nash, Social
from penstock.policy.static import Static
from penstock.policy.threshold import Threshold

POLICIES: Final[dict[str, type[Policy]]] = {
    "incentive": Incentive,
    "nash": Nash,
    "social": Social,
    "static": Static,
    "threshold": Threshold,
}

__all__ = ["POLICIES", "Incentive", "Nash", "Social", "Static", "Threshold"]
