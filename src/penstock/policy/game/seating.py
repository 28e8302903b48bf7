"""Which exchange a game is played in."""

from math import inf
from typing import Final

from penstock.core.errors import SettingError
from penstock.model import FlowModel
from penstock.model.flow_graph import ModuleModel
from penstock.policy.game.bulk import Bulk
from penstock.policy.game.conversation import Conversation
from penstock.policy.game.exchange import Aggregation, Exchange
from penstock.policy.game.topology import Topology

AGENTS_UP_TO: Final = 32
"""Modules up to which real agents play. In larger graphs a game takes so many messages that their
sum is computed instead; the result is the same."""


def seat(
    model: FlowModel,
    topology: Topology | None = None,
    aggregation: Aggregation | None = None,
    *,
    agents_up_to: int = AGENTS_UP_TO,
) -> Exchange:
    """Agents for small graphs, and arithmetic in their place for large ones."""
    for module in model.modules.values():
        check_stakes(module)
    kind = Conversation if len(model.modules) <= agents_up_to else Bulk
    return kind(model, topology, aggregation)


def check_stakes(module: ModuleModel) -> None:
    """Refuse a module without a time or a price: a game needs something to win."""
    stakes = {
        "running time": module.running_time,
        "price": module.price,
        "delay_cost": module.delay_cost,
    }
    for what, value in stakes.items():
        if not 0.0 < value < inf:
            raise SettingError(
                f"{what} of module {module.name} must be above 0 and finite, got {value:g}"
            )
