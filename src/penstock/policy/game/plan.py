"""Which agents play, and the plan that they agree on: degrees, paces, costs, and messages.

`nash`, `incentive` and `social` are written in terms of an `Exchange`. `MessageExchange` has real
agents that exchange real messages; `BulkExchange` computes the result for thousands of agents at
once, and counts the messages that they would have sent.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor, inf
from typing import Annotated, Any, Final, TypeAlias

from penstock.core.errors import SettingError
from penstock.core.schema import OneOf, read
from penstock.model import FlowModel
from penstock.model.flow_graph import ModuleModel
from penstock.policy.game.agents import MessageExchange
from penstock.policy.game.aggregate import Aggregation
from penstock.policy.game.bulk import BulkExchange
from penstock.policy.game.topology import Topology

ROUNDINGS: Final = ("nearest", "up")
Exchange: TypeAlias = MessageExchange | BulkExchange
AGENTS_UP_TO: Final = 32
"""Modules up to which real agents play. In larger graphs a game takes so many messages that their
sum is computed instead; the result is the same."""


def exchange_for(
    model: FlowModel,
    topology: Topology | None = None,
    aggregation: Aggregation | None = None,
    *,
    agents_up_to: int = AGENTS_UP_TO,
) -> Exchange:
    """Agents for small graphs, and arithmetic in their place for large ones."""
    for module in model.modules.values():
        check_costs(module)
    kind = MessageExchange if len(model.modules) <= agents_up_to else BulkExchange
    return kind(model, topology, aggregation)


def check_costs(module: ModuleModel) -> None:
    """Reject a module without a time or a price: a game needs something to win."""
    for what in ("running time", "price", "delay_cost"):
        if not 0.0 < (value := getattr(module, what.replace(" ", "_"))) < inf:
            raise SettingError(
                f"{what} of module {module.name} must be above 0 and finite, got {value:g}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The degrees that agents agreed on; paces and costs are those of the real-valued ones."""

    policy: str
    replicas: Mapping[str, float]
    rounded: Mapping[str, int]
    inter_departure: Mapping[str, float]
    """Mean seconds between results of each module."""
    bottleneck: tuple[str, ...]
    """The modules that set the pace; the source, where rows from outside do."""
    costs: Mapping[str, float]
    """Of one control step, by module."""
    messages: int
    """That agents exchanged."""
    rounds: int
    """Games that were played, or times that all were asked."""
    iterations: int
    """Synchronous steps that it took, in each of which a message goes one hop."""

    @property
    def cost(self) -> float:
        """Of one control step, of all modules."""
        return sum(self.costs.values())

    def to_json(self) -> dict[str, Any]:
        """The answer of `penstock plan --json`, which others script against."""
        return {
            "policy": self.policy,
            "replicas": dict(self.replicas),
            "rounded": dict(self.rounded),
            "inter_departure": dict(self.inter_departure),
            "bottleneck": list(self.bottleneck),
            "cost": {"total": self.cost, "modules": dict(self.costs)},
            "messages": self.messages,
            "rounds": self.rounds,
        }


def plan_of(
    policy: str, model: FlowModel, exchange: Exchange, *, rounds: int, rounding: str
) -> Plan:
    """What the agents of an exchange have agreed on."""
    read(Annotated[str, OneOf(ROUNDINGS)], rounding, what="rounding")
    replicas = exchange.replicas()
    pace = model.pace(replicas)
    return Plan(
        policy=policy,
        replicas=replicas,
        rounded={n: rounded(m, replicas[n], rounding) for n, m in model.modules.items()},
        inter_departure=pace.inter_departure,
        bottleneck=exchange.bottleneck() or pace.bottleneck,
        costs={n: m.cost(replicas[n], pace.inter_departure[n]) for n, m in model.modules.items()},
        messages=exchange.messages,
        rounds=rounds,
        iterations=exchange.iterations,
    )


def rounded(module: ModuleModel, replicas: float, rounding: str = "nearest") -> int:
    """A whole number of replicas within the module's bounds: Alg. 1, row 3.

    Halves go up. A rounding error is no reason for one more.
    """
    whole = ceil(replicas - 1e-9) if rounding == "up" else floor(replicas + 0.5)
    return min(max(whole, int(module.min_replicas)), int(module.max_replicas))
