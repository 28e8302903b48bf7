"""The fewest executors with which the latency SLO holds for the load that is predicted.

| file | holds |
|---|---|
| `stage` | how long rows take through one module with so many executors |
| `estimate` | what is learned of a module while it runs |
| `choose` | the fewest executors of all modules within a promise |
| `reach` | how many rows modules see for one of their source |
| `keep` | how long executors are kept after they were needed |
| `policy` | the policy itself |
"""

from penstock.policy.latency.policy import LatencyPolicy

__all__ = ["LatencyPolicy"]
