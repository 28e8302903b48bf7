"""What it will take: models of how modules and whole graphs behave.

| file | tells |
|---|---|
| `scalability` | how a module's service time falls with its replicas (game, Fig. 3) |
| `flow_graph` | the pace, the bottleneck and the cost of a whole graph (game, Section 4.1) |
| `search` | where a function that is only known by calling it is smallest, or has a value |
"""

from penstock.model.flow_graph import FlowModel
from penstock.model.scalability import Convex, Ideal, Measured, Minimum, Saturating, Scalability

__all__ = [
    "Convex",
    "FlowModel",
    "Ideal",
    "Measured",
    "Minimum",
    "Saturating",
    "Scalability",
]
