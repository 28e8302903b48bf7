"""What the mpc paper printed: Tab. 5 to 7 and some figures of its text. Fig. 11 to 17 are drawn."""

from typing import Final

WORKLOADS: Final = ("rwalk", "day")
"""The random walk, and the trading day that the paper calls the real dataset."""

STATES: Final = {1: 108, 2: 11_664, 3: 1_259_712}
"""Tab. 5: courses over a horizon of so many steps."""
EXPLORED: Final = {1: 108, 2: 2_537, 3: 72_055}
"""Tab. 5: those that branch and bound looked at."""
SEARCH_TIME: Final = {1: 45.77e-6, 2: 608e-6, 3: 17e-3}
"""Tab. 5: seconds that it took."""

ALPHA: Final = {
    "th-node": {"rwalk": 200.0, "day": 200.0},
    "th-power": {"rwalk": 200.0, "day": 300.0},
    "lat-node": {"rwalk": 2.0, "day": 3.0},
    "lat-power": {"rwalk": 2.0, "day": 4.0},
}
"""Tab. 6: the price of quality."""
BETA: Final = 0.5
GAMMA: Final = 0.4

COMPARISON: Final[dict[str, dict[str, float]]] = {
    "rules-90 4s": {
        "reconfigurations": 39.17,
        "violations": 62.0,
        "amplitude": 1.07,
        "replicas": 4.63,
    },
    "rules-95 4s": {
        "reconfigurations": 29.0,
        "violations": 59.0,
        "amplitude": 1.06,
        "replicas": 4.58,
    },
    "spl 4s": {"reconfigurations": 40.18, "violations": 58.0, "amplitude": 1.0, "replicas": 4.63},
    "th-node 4s": {
        "reconfigurations": 11.0,
        "violations": 56.0,
        "amplitude": 1.0,
        "replicas": 4.51,
    },
    "th-node 2s": {
        "reconfigurations": 24.77,
        "violations": 54.0,
        "amplitude": 1.04,
        "replicas": 4.50,
    },
}
"""Tab. 7, on the trading day."""

PEAK_WATTS: Final = 68.25
"""Of 12 replicas at 2 GHz, all the time."""
SAVING: Final = {"th-power": 0.486, "lat-power": 0.307}
"""Share of that which they save without switching cost (Section 5.3.2)."""
SAVED_WATTS: Final = {"th": (13.0, 14.0), "lat": (10.0, 11.0)}
"""Watts that -Power saves against -Node without switching cost (Section 5.3.2)."""
VIOLATIONS: Final = 26.0
"""Of th-power with switching cost and two steps on the random walk (Section 5.3.3)."""
