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

from collections.abc import Mapping
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


def solve(
    network: Network, *, tolerance: _Tolerance = 1e-3, most_passes: Count = 2_000
) -> Allocation:
    """An allocation whose value is at most a share of `tolerance` below the optimum."""
    read(_Tolerance, tolerance, what="tolerance")
    read(Count, most_passes, what="most_passes")
    query = PricingQuery(network)
    search = _Search(network, largest_flows(query.bus))
    while search.gap > tolerance:
        if search.exhausted or query.bus.passes >= most_passes:
            raise SettingError(
                f"after {query.bus.passes} passes the value is within {search.gap:.2g} of "
                f"the optimum and no closer; ask for a tolerance above that, not {tolerance:g}"
                + ("" if search.exhausted else f", or for most_passes above {most_passes}")
            )
        search.learn(query.ask(search.targets))
    return agreed_allocation(query, search.best, policy="cutting-plane", promised=search.value)


class _Search:
    """What the final sink knows: the best outputs yet, and a bound on the value of any."""

    def __init__(self, network: Network, most: Mapping[str, float]) -> None:
        self._budget = network.budget
        self._weights = network.weights
        self._most = most
        """Flow of each sink if it were the only one: no more can be asked of it."""
        self._cuts: list[tuple[str, dict[str, float]]] = []
        """Of a group, the share of the budget that it needs for all that each sink could have."""
        self.targets = dict(most)
        """What to ask about next."""
        self.exhausted = False
        """Whether there is nothing new to ask about: only rounding is left."""
        self.bound = self._worth(most)
        first = max(most, key=lambda sink: self._weights[sink] * most[sink], default=None)
        self.best = {} if first is None else {first: most[first]}
        self.value = self._worth(self.best)

    @property
    def gap(self) -> float:
        """Share of the bound by which the best falls short of it."""
        return (self.bound - self.value) / self.bound if self.bound > 0 else 0.0

    def learn(self, answer: Answer) -> None:
        """Add the cuts of an answer, and look for what to ask about next."""
        factor = min(self._budget / answer.total, 1.0)
        flows = {sink: factor * price.made for sink, price in answer.prices.items()}
        if self._worth(flows) > self.value:
            self.best, self.value = flows, self._worth(flows)
        cuts: dict[str, dict[str, float]] = {}
        for sink, price in answer.prices.items():
            for group, resource in price.resource.items():
                cuts.setdefault(group, {})[sink] = resource * self._most[sink] / self._budget
        self._cuts += cuts.items()
        targets, bound = self._within_cuts()
        self.exhausted = targets == self.targets
        self.targets, self.bound = targets, min(self.bound, bound)

    def _within_cuts(self) -> tuple[dict[str, float], float]:
        """The outputs that are worth most within the cuts; no allocation is worth more."""
        worth = [self._weights[sink] * most for sink, most in self._most.items()]
        unit = max(worth)
        column = {sink: i for i, sink in enumerate(self._most)}
        groups = dict.fromkeys(group for group, _ in self._cuts)
        need = {group: i for i, group in enumerate(groups, start=len(column))}
        cuts = [
            {need[group]: -1.0} | {column[sink]: share for sink, share in shares.items()}
            for group, shares in self._cuts
        ]
        solution = maximise(
            [each / unit for each in worth] + [0.0] * len(groups),
            [*cuts, dict.fromkeys(need.values(), 1.0)],
            limits=[0.0] * len(cuts) + [1.0],
            most=[1.0] * len(worth) + [inf] * len(groups),
        )
        shares = zip(self._most.items(), solution.shares, strict=False)
        targets = {sink: min(max(share, 0.0), 1.0) * most for (sink, most), share in shares}
        return targets, solution.value * unit

    def _worth(self, flows: Mapping[str, float]) -> float:
        return sum(self._weights[sink] * flow for sink, flow in flows.items())
