"""The fewest executors with which the latency SLO holds for the predicted load.

| file | contents |
|---|---|
| `estimate` | what is learned of a module, and the time rows spend in it with n executors |
| `policy` | the fewest executors of all modules, the scale-in delay, and the policy |
"""

from penstock.policy.latency.policy import LatencyPolicy

__all__ = ["LatencyPolicy"]
