"""What the e2df paper printed: Tab. 1 and 2 and figures of its text. Fig. 3 to 7 are drawn."""

from typing import Final

from penstock.papers.framework import printed

TABLE_1: Final = printed(
    """
infrastructure  application  violations  reconfigurations  replicas  nodes
static          threshold        0.0001            0.0321     17.84  36.00
static          rl               0.0015            0.0102     18.32  36.00
simple          threshold        0.0001            0.0326     17.83  16.57
simple          rl               0.0015            0.0104     18.32  16.82
rl              threshold        0.0017            0.0320     17.63   9.66
rl              rl               0.0017            0.0110     18.25   9.76
""",
    labels=2,
)
TABLE_2: Final = printed(
    """
w_d  application  violations  reconfigurations  replicas  nodes
0.1  threshold        0.7920            0.0091      6.13   3.14
0.3  threshold        0.0845            0.0288     16.60   8.57
0.5  threshold        0.0137            0.0309     17.35   9.10
0.7  threshold        0.0017            0.0321     17.63   9.66
0.9  threshold        0.0001            0.0325     17.75  10.23
0.1  rl               0.4152            0.0069     15.81   8.15
0.3  rl               0.0072            0.0109     18.91   9.87
0.5  rl               0.0020            0.0118     18.64   9.74
0.7  rl               0.0017            0.0110     18.25   9.76
0.9  rl               0.0016            0.0107     18.32  10.33
""",
    labels=2,
)
"""Both: shares of the minutes in which the response time is above its bound, and in which an
operator is scaled; replicas of all operators and nodes of all regions on average. Tab. 1 by the
policies of infrastructure and application, Tab. 2 by the weight of demand where regions learn."""
INFRASTRUCTURES: Final = ("static", "simple", "rl")
"""Policies of the regions,"""
APPLICATIONS: Final = ("threshold", "rl")
"""and of the operators."""
WEIGHTS: Final = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Of unmet demand in the cost of a region; nodes have the rest."""
WEIGHT: Final = 0.7
"""Of Tab. 1."""
