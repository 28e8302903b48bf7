"""Each module for itself: the Pareto-optimal Nash equilibrium (game, Alg. 1)."""

from penstock.model import FlowModel
from penstock.policy.game.agents import AGENTS_UP_TO, seat
from penstock.policy.game.plan import Plan, plan_of
from penstock.policy.game.topology import Topology


def nash(
    model: FlowModel,
    *,
    topology: Topology | None = None,
    rounding: str = "nearest",
    agents_up_to: int = AGENTS_UP_TO,
) -> Plan:
    """What every module chooses if it pays for itself alone.

    >>> from penstock.core.graph import FlowGraph, Module, Stream
    >>> graph = FlowGraph(
    ...     source="scan",
    ...     modules=(
    ...         Module(name="scan", service_time=0.1, price=0.01, delay_cost=0.5),
    ...         Module(name="match", service_time=2.0, price=0.01, delay_cost=0.5),
    ...     ),
    ...     streams=(Stream(origin="scan", target="match"),),
    ... )
    >>> plan = nash(FlowModel.of(graph))
    >>> plan.replicas, plan.bottleneck, plan.rounded
    ({'scan': 0.5, 'match': 10.0}, ('match',), {'scan': 1, 'match': 10})
    """
    exchange = seat(model, topology, agents_up_to=agents_up_to)
    exchange.find_pne()
    return plan_of("nash", model, exchange, rounds=1, rounding=rounding)
