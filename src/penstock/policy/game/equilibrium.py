"""Each module for itself: the Pareto-optimal Nash equilibrium (game, Alg. 1), and incentives that
move it towards the social optimum (Alg. 2).
"""

from typing import Final

import numpy as np

from penstock.core.schema import Count, Share, read
from penstock.model import FlowModel
from penstock.model.flow_graph import SAME_PACE
from penstock.policy.game.aggregate import Aggregation
from penstock.policy.game.plan import AGENTS_UP_TO, Exchange, Plan, exchange_for, plan_of
from penstock.policy.game.topology import Topology

INCREMENT: Final = 0.1
"""Of the price: the paper's beta / 10."""
MAX_ROUNDS: Final = 1000


def nash(
    model: FlowModel,
    *,
    topology: Topology | None = None,
    rounding: str = "nearest",
    agents_up_to: int = AGENTS_UP_TO,
) -> Plan:
    """What every module chooses if it pays for itself alone."""
    exchange = exchange_for(model, topology, agents_up_to=agents_up_to)
    exchange.find_pne()
    return plan_of("nash", model, exchange, rounds=1, rounding=rounding)


def incentive(
    model: FlowModel,
    *,
    topology: Topology | None = None,
    increment: float = INCREMENT,
    max_rounds: int = MAX_ROUNDS,
    aggregation: str = "tree",
    iterations: int = 15,
    rounding: str = "nearest",
    agents_up_to: int = AGENTS_UP_TO,
) -> Plan:
    """What modules choose if the bottleneck is paid for more replicas while that helps all."""
    read(Share, increment, what="increment of policy incentive")
    read(Count, max_rounds, what="max_rounds of policy incentive")
    by = Aggregation(aggregation, iterations)
    exchange = exchange_for(model, topology, by, agents_up_to=agents_up_to)
    rounds = play(exchange, increment=increment, max_rounds=max_rounds)
    return plan_of("incentive", model, exchange, rounds=rounds, rounding=rounding)


def play(exchange: Exchange, *, increment: float, max_rounds: int) -> int:
    """Play until a round does not lower the cost of all; returns the rounds.

    The agents end with the degrees of the best round: the one before, or the last that there was.
    """
    best = np.array([np.inf])
    for number in range(1, max_rounds + 1):
        exchange.find_pne()
        cost = exchange.total_cost()
        if exchange.any_objection(cost >= best * (1.0 - SAME_PACE)):
            exchange.undo()
            return number
        best = cost
        exchange.raise_incentive(increment)
    return max_rounds
