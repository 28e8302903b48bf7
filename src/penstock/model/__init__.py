"""What it will take: models of how modules and whole graphs behave.

| file | contents |
|---|---|
| `scalability` | how a module's service time falls with its replicas (game, Fig. 3) |
| `flow_graph` | the pace, the bottleneck and the cost of a whole graph (game, Section 4.1) |
| `keyed` | the pace of an operator whose rows are routed by key (mpc, Expr. 1 to 5) |
| `queueing` | how long rows wait, corrected by what was measured (mpc, Expr. 6 to 8) |
| `power` | watts of replicas at a frequency, by a table of voltages (mpc, Expr. 9) |
| `arrays` | formulas for one number and for whole grids of them |
| `skyline` | the expected size of a skyline |
| `compiling`, `kernel_cache` | loops compiled to machine code, and kept on disk |
"""

from penstock.model.flow_graph import FlowModel
from penstock.model.scalability import Ideal, Measured, Minimum, Saturating, Scalability

__all__ = ["FlowModel", "Ideal", "Measured", "Minimum", "Saturating", "Scalability"]
