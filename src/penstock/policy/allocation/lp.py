"""The optimum by one planner that knows the whole network: the paper's linear program, by HiGHS.

Rates may lie twelve orders of magnitude apart, and a solver's tolerances are absolute. So all
variables are shares: of what each sink could have alone, and of what each module would need if all
sinks had that at once. No coefficient is then above 1. The solution is made exactly feasible
(Algorithm 1 for its outputs, scaled to what can be afforded), which also takes the least resource
of all optima. It is compared with the bound that its dual prices give, and refused if it is below.
"""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Final, NamedTuple

from penstock.core.errors import PenstockError
from penstock.core.extras import require
from penstock.policy.allocation.allocation import (
    Allocation,
    checked_allocation,
    rates_too_far_apart,
)
from penstock.policy.allocation.messages import MessageBus
from penstock.policy.allocation.network import (
    Network,
    Outflow,
    Stream,
    feasible_factor,
    least_resource,
)
from penstock.policy.allocation.single_output import largest_flows

GAP: Final = 1e-7
"""Share of the bound by which a solution may fall short of it."""
IDLE: Final = 1e-12
"""Share of what a sink could have alone below which the solver means none."""


def solve(network: Network) -> Allocation:
    """The optimum of any network."""
    most = largest_flows(MessageBus(network))
    if not most:
        idle = dict.fromkeys(network.modules, 0.0)
        return checked_allocation(network, idle, policy="lp", promised=0.0)
    flows, prices = _optimal_flows(network, most)
    resource = least_resource(network, flows)
    factor = feasible_factor(network, resource)
    allocation = checked_allocation(
        network,
        {module: factor * x for module, x in resource.items()},
        policy="lp",
        promised=factor * network.worth(flows),
    )
    highest = bound(network, most, prices)
    if not allocation.value >= highest * (1.0 - GAP):
        raise PenstockError(
            f"the linear program was solved to {allocation.value:g} with a bound of {highest:g}, "
            "which is not exact enough to rely on; take cutting-plane, or bring the rates closer "
            "together"
        )
    return allocation


def _optimal_flows(
    network: Network, most: Mapping[str, float]
) -> tuple[dict[str, float], dict[Stream, float]]:
    """Flow at each sink, and the dual price of each stream at its origin.

    The variables are the shares of the sinks, then those of the modules that they need. Each stream
    has a row: what is taken of it is no more than its origin makes. The last row is the budget.
    """
    scale = {module: need for module, need in least_resource(network, most).items() if need > 0}
    sinks = [outflow for outflow in network.outflows if outflow.name in most]
    links = [link for link in network.links if link.target in scale]
    streams: list[Stream] = [*sinks, *links]
    if any(stream.origin not in scale for stream in streams):
        raise rates_too_far_apart("a module needs less than can be written down")
    at = {module: column for column, module in enumerate(scale, start=len(sinks))}
    taken = [
        *((column, most[sink.name]) for column, sink in enumerate(sinks)),
        *((at[link.target], link.consumes * scale[link.target]) for link in links),
    ]
    rows = [
        {column: flow / stream.produces / scale[stream.origin], at[stream.origin]: -1.0}
        for (column, flow), stream in zip(taken, streams, strict=True)
    ]
    budget = {at[module]: need / network.budget for module, need in scale.items()}
    worth = [sink.weight * most[sink.name] for sink in sinks]
    best = max(worth)
    solution = maximise(
        [each / best for each in worth] + [0.0] * len(scale),
        [*rows, budget],
        limits=[0.0] * len(rows) + [1.0],
        most=[1.0] * len(sinks) + [inf] * len(scale),
    )
    shares = zip(most.items(), solution.shares, strict=False)
    flows = {sink: min(share, 1.0) * alone for (sink, alone), share in shares if share > IDLE}
    return flows, dict(zip(streams, solution.prices, strict=False))


class Solution(NamedTuple):
    """An optimum of a linear program."""

    value: float
    shares: list[float]
    prices: list[float]
    """What one more of each limit would bring."""


def maximise(
    worth: Sequence[float],
    rows: Sequence[Mapping[int, float]],
    *,
    limits: Sequence[float],
    most: Sequence[float],
) -> Solution:
    """The best variables, each from 0 to its most, of which no row takes more than its limit.

    Rows have coefficients by column. All numbers should be around 1: coefficients below 1e-9 count
    as nothing.

    >>> maximise([1.0, 0.4], [{0: 0.5, 1: 1.0}], limits=[1.0], most=[1.0, inf])
    Solution(value=1.2, shares=[1.0, 0.5], prices=[0.4])
    """
    require("twin", "an allocation by linear program", "scipy")
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    values = [value for row in rows for value in row.values()]
    place = ([i for i, row in enumerate(rows) for _ in row], [j for row in rows for j in row])
    matrix = coo_array((values, place), shape=(len(rows), len(worth))).tocsr()
    # Presolve can take a thousand times as long as all the rest, and fail; rarely it is of help.
    for presolve in (False, True):
        solution = linprog(
            [-each for each in worth],
            A_ub=matrix,
            b_ub=limits,
            bounds=[(0.0, None if highest == inf else highest) for highest in most],
            options={
                "presolve": presolve,
                "primal_feasibility_tolerance": 1e-10,
                "dual_feasibility_tolerance": 1e-10,
            },
        )
        if solution.success:
            prices = (-solution.ineqlin.marginals).tolist()
            return Solution(-float(solution.fun), solution.x.tolist(), prices)
    raise PenstockError(f"HiGHS found no optimum of the linear program: {solution.message}")


def bound(network: Network, most: Mapping[str, float], split: Mapping[Stream, float]) -> float:
    """No allocation is worth more, however each module splits its price among its streams.

    A unit of resource costs 1, and a module's price is passed on to those that it feeds, in any
    split: it produces for all of them at once, so together they pay for no more than it takes. A
    unit of flow then has a cost at each sink, and what the budget can buy at these costs is worth
    no less than what it can bring (weak duality). The prices of the linear program make it equal.

    `most` is the flow that each sink could have alone, of those that count; the split has every
    stream that leads to one of them.

    >>> x, y = Outflow("x", "a", produces=1.0, weight=3.0), Outflow("y", "a", produces=1.0)
    >>> network = Network(budget=1.0, modules=("a",), outflows=(x, y))
    >>> [bound(network, {"x": 1.0, "y": 1.0}, {x: part, y: 1.0}) for part in (1.0, 3.0)]
    [4.0, 4.0]
    """
    costs, weights = _sink_costs(network, split), network.weights
    value, budget = 0.0, network.budget
    for sink in sorted(most, key=lambda sink: costs[sink] / weights[sink]):
        flow = most[sink] if costs[sink] * most[sink] <= budget else budget / costs[sink]
        value += weights[sink] * flow
        budget = max(budget - costs[sink] * flow, 0.0)
    return value


def _sink_costs(network: Network, split: Mapping[Stream, float]) -> dict[str, float]:
    """What a unit of flow at each sink costs."""
    prices = dict.fromkeys(network.modules, 1.0)
    costs: dict[str, float] = {}
    for module in network.order:
        leaving: list[Stream] = [*network.outflows_of[module], *network.outputs[module]]
        parts = {stream: max(split[stream], 0.0) for stream in leaving if stream in split}
        total = sum(parts.values())
        for stream, part in parts.items():
            share = part / total if total > 0 else 1.0 / len(parts)
            price = prices[module] * share / stream.produces
            if isinstance(stream, Outflow):
                costs[stream.name] = price
            else:
                prices[stream.target] += price * stream.consumes
    return costs
