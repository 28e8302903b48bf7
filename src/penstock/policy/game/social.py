"""The pace that costs all modules together the least, in one pass over the tree.

With no replica wasted, one number fixes every degree: the seconds between two rows of the source.
Where replicas are in inverse proportion to it, the cost of all is `delay * pace + work / pace`,
smallest at the root of `work / delay` or at the shortest pace that all can keep. Two sums and a
maximum are all that must be known. Other convex modules are asked what they would pay at many paces
at once.
"""

from math import sqrt

import numpy as np

from penstock.model import FlowModel
from penstock.policy.game.exchange import Aggregation, Exchange, Floats
from penstock.policy.game.plan import Plan, plan_of
from penstock.policy.game.search import grid, smallest
from penstock.policy.game.seating import AGENTS_UP_TO, seat
from penstock.policy.game.stake import SAME, Survey
from penstock.policy.game.topology import Topology


def social(
    model: FlowModel,
    *,
    topology: Topology | None = None,
    aggregation: str = "tree",
    iterations: int = 15,
    rounding: str = "nearest",
    agents_up_to: int = AGENTS_UP_TO,
) -> Plan:
    """What costs all modules together the least.

    >>> from penstock.core.graph import FlowGraph, Module, Stream
    >>> graph = FlowGraph(
    ...     source="scan",
    ...     modules=(
    ...         Module(name="scan", service_time=0.1, price=0.01, delay_cost=0.5),
    ...         Module(name="match", service_time=2.0, price=0.01, delay_cost=0.5),
    ...     ),
    ...     streams=(Stream(origin="scan", target="match"),),
    ... )
    >>> plan = social(FlowModel.of(graph))
    >>> plan.rounded, plan.messages
    ({'scan': 1, 'match': 14}, 2)
    """
    by = Aggregation(aggregation, iterations)
    exchange = seat(model, topology, by, agents_up_to=agents_up_to)
    rounds = agree(exchange, by_gossip=by.by_gossip)
    return plan_of("social", model, exchange, rounds=rounds, rounding=rounding)


def agree(exchange: Exchange, *, by_gossip: bool) -> int:
    """Find the best pace and let all follow it; returns how often all were asked."""
    views = exchange.survey()
    low, high = _bounds(views[0])  # of maxima, which all agree on
    if not any(view.curved > SAME for view in views):
        exchange.settle(np.array([_closed_form(view) for view in views]))
        return 1
    if high <= low * (1.0 + SAME):
        exchange.settle(np.full(len(views), low))
        return 1
    if by_gossip:
        exchange.settle(_best_of_a_grid(exchange, views))
        return 2
    return 1 + _search(exchange, views[0])


def _closed_form(view: Survey) -> float:
    """Where the derivative is nought, if all can keep that pace."""
    return max(sqrt(view.work / view.delay), view.limit)


def _bounds(view: Survey) -> tuple[float, float]:
    """Nobody gains from less than the quickest pace that any wishes for, or from more than the
    slowest."""
    return max(view.quickest, view.limit), max(view.slowest, view.limit)


def _search(exchange: Exchange, view: Survey) -> int:
    found = smallest(*_bounds(view), lambda paces: _cost(view, paces, exchange.try_out(paces)[0]))
    exchange.settle(np.array([found.at]))
    return found.questions


def _best_of_a_grid(exchange: Exchange, views: tuple[Survey, ...]) -> Floats:
    """Each agent's opinion: estimates that differ leave nothing to search more closely."""
    paces = grid(*_bounds(views[0]))
    prices = exchange.try_out(paces)
    costs = [_cost(view, paces, price) for view, price in zip(views, prices, strict=True)]
    best: Floats = paces[np.argmin(costs, axis=1)]
    return best


def _cost(view: Survey, paces: Floats, curved: Floats) -> Floats:
    cost: Floats = view.delay * paces + view.work / paces + view.standing + curved
    return cost
