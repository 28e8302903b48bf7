"""Scale two stages in a row together, by rules of thumb: the outer level of the ppq paper.

| part | is |
|---|---|
| `next_degrees` | one step, as a pure function of what was measured |
| `Fuzzy` | the policy of a running pipeline |
| `Terms` | from which load on a stage counts as fast, acceptable or slow |
| `RULES` | what follows from that (ppq, Tab. 2) |

>>> next_degrees(rho_plq=1.4, splitting=2.0, rho_wlq=0.9, plq=4, wlq=12)
(6, 15)
"""

from penstock.policy.fuzzy.policy import Fuzzy
from penstock.policy.fuzzy.step import RULES, Rule, Terms, factors, next_degrees

__all__ = ["RULES", "Fuzzy", "Rule", "Terms", "factors", "next_degrees"]
