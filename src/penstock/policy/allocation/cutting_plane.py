"""The optimum by agents: the final sink asks, is billed, and asks again where it might be better.

What the modules need for given outputs is convex and piecewise linear (a sum of maxima), so each
question, with the bill that comes back, excludes all outputs that the budget cannot pay. The best
of those not excluded is worth no less than the optimum, and the best one found is worth no more:
when the two are close, agents know how good they are. Sources need no bills: the flow that they
have for a sink does not depend on the other sinks (`alone`).

It begins with what each sink could have alone, and asks for all of that at once. Modules are
grouped by the sink that asks most of them then, and bills are by group, so that one question
teaches as much as several would.

What follows from the bills is a small linear program. Modules of one home need, for any flow of the
sinks, at least what each bill of theirs says: the need is convex, and a bill is its tangent. So the
best flow within the bills is worth no less than the optimum, and is the next one worth asking
about. There is a variable for each sink, as a share of what it could have alone, and one for each
home, as a share of the budget.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Final, NamedTuple

from penstock.core.errors import SettingError
from penstock.policy.allocation.allocation import Allocation, checked_allocation, reachable_flows
from penstock.policy.allocation.lp import Entries, maximise
from penstock.policy.allocation.messages import Answer, Bill, PricingQuery
from penstock.policy.allocation.network import Network
from penstock.policy.allocation.single_output import alone


class Proposal(NamedTuple):
    """The best that the bills allow."""

    targets: dict[str, float]
    bound: float
    """No allocation is worth more."""


@dataclass(slots=True)
class Master:
    """All that the final sink knows: what sinks are worth, could have alone, and were billed.

    >>> master = Master(budget=1.0, weights={"x": 1.0, "y": 2.0}, most={"x": 0.5, "y": 0.5})
    >>> master.add({"x": Bill({"x": 2.0}, 0.0, 0.5), "y": Bill({"x": 1.0}, 0.0, 0.5)})
    >>> master.best()
    Proposal(targets={'x': 0.25, 'y': 0.5}, bound=1.25)
    """

    budget: float
    weights: Mapping[str, float]
    most: Mapping[str, float]
    """Flow of each sink if it were the only one: no more can be asked of it."""
    _cuts: list[tuple[str, dict[str, float]]] = field(default_factory=list)
    """Share of the budget that a home needs for all that each sink could have."""

    def add(self, bills: Mapping[str, Bill]) -> None:
        """Take in the bills of one question: a cut for each home."""
        homes: dict[str, dict[str, float]] = {}
        for sink, bill in bills.items():
            for home, price in bill.prices.items():
                homes.setdefault(home, {})[sink] = price * self.most[sink] / self.budget
        self._cuts += homes.items()

    def best(self) -> Proposal:
        """The flow of each sink that is worth most within the bills."""
        worth = {sink: self.weights[sink] * most for sink, most in self.most.items()}
        unit = max(worth.values())
        homes = dict.fromkeys(home for home, _ in self._cuts)
        solution = maximise(
            [each / unit for each in worth.values()] + [0.0] * len(homes),
            self._entries(list(homes)),
            limits=[0.0] * len(self._cuts) + [1.0],
            most=[1.0] * len(worth) + [inf] * len(homes),
        )
        pairs = zip(self.most.items(), solution.shares, strict=False)
        targets = {sink: min(max(share, 0.0), 1.0) * most for (sink, most), share in pairs}
        return Proposal(targets, solution.value * unit)

    def _entries(self, homes: list[str]) -> Entries:
        """A row for each cut, what it says less what its home needs; the budget last."""
        sinks = {sink: i for i, sink in enumerate(self.most)}
        needs = {home: i for i, home in enumerate(homes, start=len(sinks))}
        entries = [(1.0, len(self._cuts), column) for column in needs.values()]
        for row, (home, shares) in enumerate(self._cuts):
            entries.append((-1.0, row, needs[home]))
            entries += [(share, row, sinks[sink]) for sink, share in shares.items()]
        values, rows, columns = zip(*entries, strict=True)
        return Entries(values, rows, columns)


FINEST: Final = 1e-8
"""Below this the small linear programs are no longer exact enough."""


def solve(network: Network, *, tolerance: float = 1e-3, most_passes: int = 2_000) -> Allocation:
    """An allocation whose value is at most a share of `tolerance` below the optimum.

    >>> from penstock.policy.allocation.network import Link, Network, Outflow
    >>> network = Network(
    ...     budget=1.0,
    ...     modules=("a", "b", "c"),
    ...     links=(
    ...         Link(origin="a", target="b", produces=1.0, consumes=1.0),
    ...         Link(origin="a", target="c", produces=1.0, consumes=1.0),
    ...     ),
    ...     outflows=(
    ...         Outflow(name="x", origin="b", produces=1.0, weight=3.0),
    ...         Outflow(name="y", origin="c", produces=2.0, weight=1.0),
    ...     ),
    ... )
    >>> best = solve(network)
    >>> round(best.value, 9), best.passes
    (1.666666667, 7)
    """
    if not FINEST <= tolerance < 1.0:
        raise SettingError(f"tolerance must be in [{FINEST:g}, 1), got {tolerance:g}")
    if most_passes < 1:
        raise SettingError(f"most_passes must be at least 1, got {most_passes}")
    query = PricingQuery.of(network)
    each = alone(query.bus)
    most = reachable_flows(network, {k: one.flow(network.budget) for k, one in each.items()})
    search = _Search(network, most)
    while search.gap() > tolerance:
        if search.exhausted or query.bus.passes >= most_passes:
            raise SettingError(
                f"after {query.bus.passes} passes the value is within {search.gap():.2g} of "
                f"the optimum and no closer; ask for a tolerance above that, not {tolerance:g}"
                + ("" if search.exhausted else f", or for most_passes above {most_passes}")
            )
        search.learn(query.ask(search.targets))
    resource = query.allocate(search.best)
    return checked_allocation(
        network, resource, policy="cutting-plane", promised=search.value, bus=query.bus
    )


class _Search:
    """What the final sink knows: the best outputs yet, and a bound on the value of any."""

    def __init__(self, network: Network, most: Mapping[str, float]) -> None:
        weights = {outflow.name: outflow.weight for outflow in network.outflows}
        self.master = Master(budget=network.budget, weights=weights, most=most)
        self.targets = dict(most)
        self.exhausted = False
        """Whether there is nothing new to ask about: rounding is all that is left."""
        self.bound = sum(weights[sink] * flow for sink, flow in most.items())
        first = max(most, key=lambda sink: weights[sink] * most[sink], default=None)
        self.best = {} if first is None else {first: most[first]}
        self.value = self._worth(self.best)

    def gap(self) -> float:
        """Share of the bound by which the best falls short of it."""
        return (self.bound - self.value) / self.bound if self.bound > 0 else 0.0

    def learn(self, answer: Answer) -> None:
        """Take in a bill, and look for what to ask about next."""
        self._try(answer)
        self.master.add(answer.bills)
        proposal = self.master.best()
        self.exhausted = proposal.targets == self.targets
        self.targets, self.bound = proposal.targets, min(self.bound, proposal.bound)

    def _try(self, answer: Answer) -> None:
        times = min(self.master.budget / answer.total, 1.0)
        flows = {sink: times * flow for sink, flow in answer.made.items()}
        if self._worth(flows) > self.value:
            self.best, self.value = flows, self._worth(flows)

    def _worth(self, flows: Mapping[str, float]) -> float:
        return sum(self.master.weights[sink] * flow for sink, flow in flows.items())
