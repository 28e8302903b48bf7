"""How a budget is divided: what each module gets, what that is worth, and the messages it took."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

from penstock.core.errors import SettingError
from penstock.policy.allocation.messages import MessageBus, PricingQuery
from penstock.policy.allocation.network import Network, value

ROUNDING: Final = 1e-9
"""Share of the promised value that rounding may cost."""
TINIEST: Final = 1e-250
"""Smaller numbers are near where floating-point arithmetic loses digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """Resource of each module, feasible: no input runs dry, no source and no budget is exceeded."""

    policy: str
    resource: Mapping[str, float]
    value: float
    """What the flow at all sinks is worth a second."""
    messages: int
    """That agents sent each other; none where one planner knows the whole network."""
    passes: int
    """Sweeps over the whole network, from sinks to sources or back."""

    def to_json(self, *, optimum: float) -> dict[str, Any]:
        """The answer of `penstock plan --json`, which others script against."""
        return {
            "policy": self.policy,
            "resource": dict(self.resource),
            "value": self.value,
            "optimum": optimum,
            "messages": self.messages,
            "passes": self.passes,
        }


def checked_allocation(
    network: Network,
    resource: Mapping[str, float],
    *,
    policy: str,
    promised: float,
    bus: MessageBus | None = None,
) -> Allocation:
    """The allocation, if it brings what was promised; rates too far apart for that are refused.

    >>> from penstock.policy.allocation.network import Outflow
    >>> network = Network(budget=2.0, modules=("a",), outflows=(Outflow("o", "a", produces=3.0),))
    >>> checked_allocation(network, {"a": 2.0}, policy="lp", promised=6.0).value
    6.0
    """
    brought = value(network, resource)
    if not (isfinite(brought) and brought >= promised * (1.0 - ROUNDING)):
        raise rates_too_far_apart(f"{promised:g} was promised and {brought:g} would come")
    return Allocation(
        policy=policy,
        resource=dict(resource),
        value=brought,
        messages=bus.messages if bus else 0,
        passes=bus.passes if bus else 0,
    )


def agreed_allocation(
    query: PricingQuery, flows: Mapping[str, float], *, policy: str, promised: float
) -> Allocation:
    """The allocation for so much flow at each sink, after one more pass in which it is made."""
    return checked_allocation(
        query.network, query.allocate(flows), policy=policy, promised=promised, bus=query.bus
    )


def rates_too_far_apart(symptom: str) -> SettingError:
    """The refusal of a network whose numbers floating-point arithmetic cannot hold."""
    return SettingError(
        f"the rates of this network lie too far apart to compute with: {symptom}; "
        "leave out the streams that hardly flow"
    )


def reachable_flows(network: Network, flows: Mapping[str, float]) -> dict[str, float]:
    """The flows of sinks that are worth something beside the others; an error where none is.

    A sink that takes more than a number can hold gets nothing, where others are worth anything.
    """
    worth = {sink: weight * flows.get(sink, 0.0) for sink, weight in network.weights.items()}
    best = max(worth.values(), default=0.0)
    if worth and not TINIEST < best < 1.0 / TINIEST:
        raise SettingError(
            f"the sinks {', '.join(sorted(worth))} are worth at most {best:g}, which is too little "
            "or too much to compute with; give rates and weights in other units"
        )
    return {sink: flows[sink] for sink, most in worth.items() if most > TINIEST * best}
