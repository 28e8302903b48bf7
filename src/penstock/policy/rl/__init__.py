"""Policies that learn: the **e2df** paper, Sections 6.2 and 7.2.

| part | is |
|---|---|
| `Rl` | model-based learning for each module: counts what follows what |
| `QLearning` | the model-free baseline |
| `WarmStart` | thresholds until learning has settled |
| `known_costs`, `level_of`, `utilisation_level` | what tables are made of |
| `saved` | tables as files |
"""

from penstock.policy.rl.agent import known_costs, level_of, utilisation_level, utilisation_levels
from penstock.policy.rl.learners import QLearning, Rl, WarmStart

__all__ = [
    "QLearning",
    "Rl",
    "WarmStart",
    "known_costs",
    "level_of",
    "utilisation_level",
    "utilisation_levels",
]
