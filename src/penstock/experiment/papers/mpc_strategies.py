"""The strategies of Tab. 6 and 7, with the settings that the paper gives them."""

from dataclasses import dataclass
from typing import Final

from penstock.core.graph import FlowGraph
from penstock.core.roles import Policy
from penstock.experiment.papers import mpc_printed as printed
from penstock.experiment.papers.mpc_operator import SERVICE_TIME, VOLTAGES
from penstock.policy import Static
from penstock.policy.mpc import STRATEGIES, Mpc
from penstock.policy.rules import Rules
from penstock.policy.spl import Spl

THRESHOLD: Final = {"rwalk": 1.5e-3, "day": 7e-3}
"""Seconds that a result may take, on average over a second."""
KEEPS_UP: Final = 0.95
"""Results by triggering tuples of a second, under which quality is missed."""
HOLT: Final = {"rwalk": {"a": 1.0, "b": 0.015}, "day": {"a": 0.67, "b": 0.26}}
SCALE: Final = SERVICE_TIME
"""Seconds of effective service time that alpha is the price of: what a single replica has, which is
the most there can be. The paper divides its prices by such bounds (Section 3.3.1)."""
HEADROOM: Final = 0.95
"""Busy share at which a replica is taken to be full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A strategy, with or without switching cost, and how far it looks ahead."""

    strategy: str
    switching: bool = True
    horizon: int = 1
    step: int = 1
    """Seconds between decisions."""

    @property
    def name(self) -> str:
        """As a script finds it.

        >>> Variant(strategy="th-node", horizon=2).name, Variant(strategy="spl", step=4).name
        ('th-node sw-2', 'spl 4s')
        """
        return f"{self.strategy} {self.choice}"

    @property
    def choice(self) -> str:
        """What it is told apart by from others of its strategy."""
        if self.step > 1:
            return f"{self.step}s"
        if not self.controlled:
            return "peak"
        return f"sw-{self.horizon}" if self.switching else "nosw"

    @property
    def controlled(self) -> bool:
        """Whether it is one of Tab. 6."""
        return self.strategy in STRATEGIES


CHOICES: Final = ("nosw", "sw-1", "sw-2", "sw-3")
PEAK: Final = Variant(strategy="static")
"""12 replicas at 2 GHz, all the time."""
VARIANTS: Final = tuple(
    variant
    for strategy in STRATEGIES
    for variant in (
        Variant(strategy=strategy, switching=False),
        *(Variant(strategy=strategy, horizon=horizon) for horizon in (1, 2, 3)),
    )
)
"""Those of Fig. 11 to 17."""
COMPARED: Final = (
    Variant(strategy="rules-90", step=4),
    Variant(strategy="rules-95", step=4),
    Variant(strategy="spl", step=4),
    Variant(strategy="th-node", horizon=2, step=4),
    Variant(strategy="th-node", horizon=2, step=2),
)
"""Those of Tab. 7, on the trading day."""


def policy(variant: Variant, graph: FlowGraph, workload: str) -> Policy:
    """The strategy, ready to decide."""
    if variant.controlled:
        return controller(variant, graph, workload)
    if variant.strategy == "spl":
        return Spl(congestion=0.1, sensitivity=0.9, levels=12)
    if variant == PEAK:
        return Static()
    return Rules(max_utilisation=_MOST_BUSY[variant.strategy], min_utilisation=0.8)


def controller(variant: Variant, graph: FlowGraph, workload: str) -> Mpc:
    """One of Tab. 6."""
    return Mpc(
        graph,
        strategy=variant.strategy,
        horizon=variant.horizon,
        switching=variant.switching,
        alpha=printed.ALPHA[variant.strategy][workload],
        beta=printed.BETA,
        gamma=printed.GAMMA,
        threshold=THRESHOLD[workload],
        scale=SCALE,
        headroom=HEADROOM,
        forecaster={"holt": HOLT[workload]},
        trust=False,
        own_queues=False,
        voltages={str(clock): volts for clock, volts in VOLTAGES.volts.items()},
    )


_MOST_BUSY: Final = {"rules-90": 0.9, "rules-95": 0.95}
