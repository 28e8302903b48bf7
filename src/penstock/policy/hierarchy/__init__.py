"""Managers that grant or refuse what others propose: the hierarchy of the **e2df** paper.

Below, a manager for each module and each region proposes (`penstock.policy` and
`penstock.policy.nodes`); above, one for the application and one for the infrastructure answer, by
one of these rules:

| kind | settings | grants |
|---|---|---|
| `accept` | | everything |
| `conflicts` | | as many replicas in a region as it has room for, the busiest module first |
| `token-bucket` | `every` 1m, `burst` 1 | a change for each token, else as `conflicts` |

`ApplicationManager` and `InfrastructureManager` are policies that hold a policy and a rule, and
`TwoLevels` is a policy that holds both, so that all of them take guards, inside or around them.
"""

from typing import Final

from penstock.core.plugins import Registry, having
from penstock.policy.hierarchy.managers import (
    ApplicationManager,
    InfrastructureManager,
    TwoLevels,
)
from penstock.policy.hierarchy.rules import Accept, Answer, Conflicts, Proposal, Rule, TokenBucket

MANAGERS: Final[Registry[type[Rule]]] = Registry(
    "manager",
    group="penstock.managers",
    built_in={
        "accept": "penstock.policy.hierarchy.rules:Accept",
        "conflicts": "penstock.policy.hierarchy.rules:Conflicts",
        "token-bucket": "penstock.policy.hierarchy.rules:TokenBucket",
    },
    adapt=having("prioritise", "accept", "follow_up"),
)

__all__ = [
    "MANAGERS",
    "Accept",
    "Answer",
    "ApplicationManager",
    "Conflicts",
    "InfrastructureManager",
    "Proposal",
    "Rule",
    "TokenBucket",
    "TwoLevels",
]
