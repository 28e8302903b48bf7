"""What the e2df paper printed: Tab. 1 and 2 and figures of its text. Fig. 3 to 7 are drawn."""

from typing import Final, NamedTuple

INFRASTRUCTURES: Final = ("static", "simple", "rl")
"""Policies of the regions,"""
APPLICATIONS: Final = ("threshold", "rl")
"""and of the operators."""
WEIGHTS: Final = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Of unmet demand in the cost of a region; nodes have the rest."""
WEIGHT: Final = 0.7
"""Of Tab. 1."""


class Row(NamedTuple):
    """A row of Tab. 1 or 2."""

    violations: float
    """Share of the minutes in which the response time is above its bound,"""
    reconfigurations: float
    """and of those in which an operator is scaled."""
    replicas: float
    """On average, of all operators."""
    nodes: float
    """On average, of all regions."""


TABLE_1: Final = {
    ("static", "threshold"): Row(0.0001, 0.0321, 17.84, 36.00),
    ("static", "rl"): Row(0.0015, 0.0102, 18.32, 36.00),
    ("simple", "threshold"): Row(0.0001, 0.0326, 17.83, 16.57),
    ("simple", "rl"): Row(0.0015, 0.0104, 18.32, 16.82),
    ("rl", "threshold"): Row(0.0017, 0.0320, 17.63, 9.66),
    ("rl", "rl"): Row(0.0017, 0.0110, 18.25, 9.76),
}
"""By the policies of infrastructure and application."""

TABLE_2: Final = {
    (0.1, "threshold"): Row(0.7920, 0.0091, 6.13, 3.14),
    (0.3, "threshold"): Row(0.0845, 0.0288, 16.60, 8.57),
    (0.5, "threshold"): Row(0.0137, 0.0309, 17.35, 9.10),
    (0.7, "threshold"): Row(0.0017, 0.0321, 17.63, 9.66),
    (0.9, "threshold"): Row(0.0001, 0.0325, 17.75, 10.23),
    (0.1, "rl"): Row(0.4152, 0.0069, 15.81, 8.15),
    (0.3, "rl"): Row(0.0072, 0.0109, 18.91, 9.87),
    (0.5, "rl"): Row(0.0020, 0.0118, 18.64, 9.74),
    (0.7, "rl"): Row(0.0017, 0.0110, 18.25, 9.76),
    (0.9, "rl"): Row(0.0016, 0.0107, 18.32, 10.33),
}
"""By the weight of demand and the policy of the application; regions learn."""
