"""What the mpc paper printed: Tab. 5 to 7 and some figures of its text. Fig. 11 to 17 are drawn."""

from typing import Final

from penstock.papers.framework import printed

WORKLOADS: Final = ("rwalk", "day")
"""The random walk, and the trading day that the paper calls the real dataset."""

TABLE_5: Final = printed("""
horizon     states  explored   seconds
1              108       108  45.77e-6
2           11_664     2_537  608.0e-6
3        1_259_712    72_055   17.0e-3
""")
"""Courses over a horizon of so many steps, those that branch and bound looked at, and its time."""

ALPHA: Final = printed("""
strategy   rwalk  day
th-node      200  200
th-power     200  300
lat-node       2    3
lat-power      2    4
""")
"""Tab. 6: the price of quality."""
BETA: Final = 0.5
GAMMA: Final = 0.4

TABLE_7: Final = printed(
    """
strategy  step  reconfigurations  violations  amplitude  replicas
rules-90  4s               39.17        62.0       1.07      4.63
rules-95  4s               29.0         59.0       1.06      4.58
spl       4s               40.18        58.0       1.0       4.63
th-node   4s               11.0         56.0       1.0       4.51
th-node   2s               24.77        54.0       1.04      4.50
""",
    labels=2,
)
"""On the trading day."""

PEAK_WATTS: Final = 68.25
"""Of 12 replicas at 2 GHz, all the time."""
SAVING: Final = {"th-power": 0.486, "lat-power": 0.307}
"""Share of that which they save without switching cost (Section 5.3.2)."""
SAVED_WATTS: Final = {"th-power": 13.5, "lat-power": 10.5}
"""Watts that they save against -node without switching cost: the middle of 13 to 14 and of 10 to
11 (Section 5.3.2)."""
VIOLATIONS: Final = 26.0
"""Of th-power with switching cost and two steps on the random walk (Section 5.3.3)."""
