"""The optimum by agents: the final sink asks, receives prices, and asks where it might be better.

What the modules need for given outputs is convex and piecewise linear (a sum of maxima), so each
question, with the prices that come back, excludes all outputs that the budget cannot pay. The best
of those not excluded is worth no less than the optimum, and the best one known is worth no more:
when the two are close, agents know how good they are. Sources need no prices: the flow that they
have for a sink does not depend on the other sinks (`sole_sinks`).

It begins with what each sink could have alone, and asks for all of that at once. Modules are
grouped by the sink that demands most of them then, and prices are by group, so that one question
brings as much as several would.

The best outputs that are not excluded are the solution of a small linear program. The need of a
group of modules is convex in the flow of the sinks, and each of its prices is a tangent, below it.
There is a variable for each sink, as a share of what it could have alone, and one for each group,
as a share of the budget.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Annotated, Final

from penstock.core.errors import SettingError
from penstock.core.schema import Bounds, Count, read
from penstock.policy.allocation.allocation import Allocation, agreed_allocation
from penstock.policy.allocation.lp import maximise
from penstock.policy.allocation.messages import Answer, PricingQuery
from penstock.policy.allocation.network import Network
from penstock.policy.allocation.single_output import largest_flows

FINEST: Final = 1e-8
"""Below this the small linear programs are no longer exact enough."""
_Tolerance = Annotated[float, Bounds(least=FINEST, below=1)]
Cut = tuple[str, Mapping[str, float]]
"""Of a group, the share of the budget that it needs for all that each sink could have."""


def solve(
    network: Network, *, tolerance: _Tolerance = 1e-3, most_passes: Count = 2_000
) -> Allocation:
    """An allocation whose value is at most a share of `tolerance` below the optimum."""
    read(_Tolerance, tolerance, what="tolerance")
    read(Count, most_passes, what="most_passes")
    query = PricingQuery(network)
    most = largest_flows(query.bus)
    targets, bound = dict(most), network.worth(most)
    first = max(most, key=lambda sink: network.weights[sink] * most[sink], default=None)
    best = {} if first is None else {first: most[first]}
    cuts: list[Cut] = []
    exhausted = False  # whether there is nothing new to ask about: only rounding is left
    while (gap := (bound - network.worth(best)) / bound if bound > 0 else 0.0) > tolerance:
        if exhausted or query.bus.passes >= most_passes:
            raise SettingError(
                f"after {query.bus.passes} passes the value is within {gap:.2g} of "
                f"the optimum and no closer; ask for a tolerance above that, not {tolerance:g}"
                + ("" if exhausted else f", or for most_passes above {most_passes}")
            )
        answer, asked = query.ask(targets), targets
        afforded = min(network.budget / answer.total, 1.0)
        flows = {sink: afforded * price.made for sink, price in answer.prices.items()}
        best = max(best, flows, key=network.worth)
        cuts += _cuts(answer, most, network.budget)
        targets, highest = _best_within(cuts, most, network.weights)
        bound, exhausted = min(bound, highest), targets == asked
    promised = network.worth(best)
    return agreed_allocation(query, best, policy="cutting-plane", promised=promised)


def _cuts(answer: Answer, most: Mapping[str, float], budget: float) -> Iterable[Cut]:
    """What the prices of an answer exclude, a cut for each group."""
    cuts: dict[str, dict[str, float]] = {}
    for sink, price in answer.prices.items():
        for group, resource in price.resource.items():
            cuts.setdefault(group, {})[sink] = resource * most[sink] / budget
    return cuts.items()


def _best_within(
    cuts: Sequence[Cut], most: Mapping[str, float], weights: Mapping[str, float]
) -> tuple[dict[str, float], float]:
    """The outputs that are worth most within the cuts, and their worth; no others are worth more.

    `most` is the flow of each sink if it were the only one: no more can be asked of it.
    """
    worth = [weights[sink] * flow for sink, flow in most.items()]
    unit = max(worth)
    column = {sink: i for i, sink in enumerate(most)}
    groups = dict.fromkeys(group for group, _ in cuts)
    need = {group: i for i, group in enumerate(groups, start=len(column))}
    rows = [
        {need[group]: -1.0} | {column[sink]: share for sink, share in shares.items()}
        for group, shares in cuts
    ]
    solution = maximise(
        [each / unit for each in worth] + [0.0] * len(groups),
        [*rows, dict.fromkeys(need.values(), 1.0)],
        limits=[0.0] * len(rows) + [1.0],
        most=[1.0] * len(worth) + [inf] * len(groups),
    )
    shares = zip(most.items(), solution.shares, strict=False)
    targets = {sink: min(max(share, 0.0), 1.0) * alone for (sink, alone), share in shares}
    return targets, solution.value * unit
