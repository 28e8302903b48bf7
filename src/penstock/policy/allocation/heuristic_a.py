"""Every network as if it were a tree: quickly agreed, not always the optimum (alloc, Heuristic A).

Up the network each module joins what its children reported with itself (Theorems 3 and 4) and
reports it to *all* its parents. Down the network flow is offered to the children that are worth it.
The paper leaves open what several parents mean for a child; here
- a child offers each parent a part of itself, so that none of it is counted twice: equal parts at
  first, then only to those parents that had to work for it;
- it works on what the scarcest of its parents offers, or not at all if one of them offers nothing;
- modules without inputs offer as much as their sources and the budget allow;
- on a further pass up each asks only for what is used of it, and that is fitted to the budget.

In the first round everything is worth it that leads to a sink. The value of a unit of resource is
then its price in the next: a child is worth it if it brings more than it costs. (The paper compares
it with its siblings and its parent instead, which suffices neither on trees, see `reduction`, nor
among parents that then disagree.) Rounds end when one brings no more. Where the network is one or
several trees that fan out from unlimited sources the answer is the optimum.
"""

from collections.abc import Collection, Iterable, Mapping
from math import inf
from typing import Final, NamedTuple

from penstock.core.schema import Count, read
from penstock.policy.allocation.allocation import Allocation, checked_allocation
from penstock.policy.allocation.messages import MessageBus
from penstock.policy.allocation.network import Link, Network, Outflow, Stream

ABOVE: Final = 1.0 + 1e-12
"""Times the value of a unit of resource that a child must bring in the next round.

One that brings just as much, to the last digit, can be so large that rounding it hides all others.
"""


def solve(network: Network, *, rounds: Count = 10) -> Allocation:
    """A good division for any network, after so many rounds at most; the paper has one."""
    read(Count, rounds, what="rounds")
    agents = _Agents(network)
    best = _best_round(agents, rounds)
    return checked_allocation(
        network,
        agents.fit(best),
        policy="heuristic-a",
        promised=best.factor * best.value,
        bus=agents.bus,
    )


def _best_round(agents: "_Agents", rounds: int) -> "_Round":
    """The final sink's part: it sets the price of each round by what the last one brought."""
    best = agents.play(0.0)
    for _ in range(rounds - 1):
        # Where sources or dropped modules leave part of the budget over, resource is worth nothing.
        short = best.factor * best.total >= agents.network.budget * (1.0 - 1e-12)
        played = agents.play(best.value / best.total * ABOVE if short else 0.0)
        if played.factor * played.value <= best.factor * best.value:
            return best
        best = played
    return best


class _Report(NamedTuple):
    """A module with all below that it finds worth it, for a unit of the module's own resource."""

    cost: float
    worth: float
    share: float
    """Part of it that the parent that receives this may count."""


class _Use(NamedTuple):
    """What some modules use."""

    total: float
    factor: float
    """The largest by which their sources allow that to be multiplied."""
    pays: bool
    """Whether the receiver made its parent work this much."""


class _Round(NamedTuple):
    """What the final sink learned in a round."""

    resource: Mapping[str, float]
    total: float
    factor: float
    """By which all of it fits the sources and the budget."""
    value: float


class _Agents:
    """The agents of a network, which begin as if it were a tree, and remember what they learn."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.bus = MessageBus(network)
        self.resource: dict[str, float] = {}
        """What each uses."""
        self.asked: dict[str, Mapping[Stream, float]] = {}
        """Flow that each has to give, by stream."""
        self.payers: dict[str, Collection[Link]] = {}
        """Links from the parents that work for a module; unknown of one that got nothing."""

    def play(self, price: float) -> _Round:
        """A round at a price of resource: two passes up and two down."""
        flows = self._offer(self._report(price))
        self._ask(flows)
        uses = self._count()
        total = sum(use.total for use in uses)
        factor = min((use.factor for use in uses), default=0.0)
        return _Round(
            resource=dict(self.resource),
            total=total,
            factor=min(self.network.budget / total, factor) if total > 0 else 0.0,
            value=self.network.worth(flows),
        )

    def fit(self, best: _Round) -> dict[str, float]:
        """Up: each receives the factor by which its planned resource is scaled."""
        resource = dict.fromkeys(self.network.modules, 0.0)

        def send(module: str, received: Mapping[Stream, float]) -> dict[Link, float]:
            factor = next(iter(received.values()), 0.0)
            resource[module] = factor * best.resource[module]
            return dict.fromkeys(self.network.inputs[module], factor) if received else {}

        self.bus.up({outflow.name: best.factor for outflow in self.network.outflows}, send)
        return resource

    def _report(self, price: float) -> dict[str, Collection[Stream]]:
        """Up: what each is worth. Returns the streams that each finds worth feeding."""
        fed: dict[str, Collection[Stream]] = {}

        def send(module: str, received: Mapping[Stream, _Report]) -> dict[Link, _Report]:
            worth_it = {
                stream: report
                for stream, report in received.items()
                if isinstance(stream, Outflow) or report.worth > price * report.cost
            }
            cost, worth = _together(worth_it)
            links = self.network.inputs[module]
            fed[module] = () if not links and worth <= price * cost else worth_it
            payers = self.payers.get(module, links) if received else ()
            return {
                link: _Report(cost, worth, share=(link in payers) / len(payers))
                for link in (links if payers else ())
            }

        free = _Report(cost=0.0, worth=0.0, share=1.0)
        self.bus.up({outflow.name: free for outflow in self.network.outflows}, send)
        return fed

    def _offer(self, fed: Mapping[str, Iterable[Stream]]) -> dict[str, float]:
        """Down: flow to those worth it. Returns what comes out at each sink."""

        def send(module: str, received: Mapping[Link, float]) -> dict[Stream, float]:
            links = self.network.inputs[module]
            most = min(self.network.source_limits[module], inf if links else self.network.budget)
            for link in links:
                most = min(most, received.get(link, 0.0) / link.consumes)
            return {one: one.produces * most for one in fed[module]} if most > 0 else {}

        return self.bus.down(send)

    def _ask(self, flows: Mapping[str, float]) -> None:
        """Up: each asks for what is used of it (Algorithm 1)."""

        def send(module: str, received: Mapping[Stream, float]) -> dict[Link, float]:
            used = max((flow / stream.produces for stream, flow in received.items()), default=0.0)
            self.resource[module], self.asked[module] = used, received
            links = self.network.inputs[module] if used > 0 else ()
            return {link: link.consumes * used for link in links}

        self.bus.up(flows, send)

    def _count(self) -> list[_Use]:
        """Down: who pays, and sums of all that is used. Returns what the final sink receives."""

        def send(module: str, received: Mapping[Link, _Use]) -> dict[Stream, _Use]:
            used = self.resource[module]
            if paying := [link for link, use in received.items() if use.pays]:
                self.payers[module] = paying
            total = used + sum(use.total for use in received.values())
            factor = min((use.factor for use in received.values()), default=inf)
            for inflow in self.network.inflows_of[module] if used > 0 else ():
                factor = min(factor, inflow.rate / (inflow.consumes * used))
            # Totals go one way only, so that nothing with several ways to the end counts twice.
            return {
                stream: _Use(0.0 if i else total, factor, pays=flow / stream.produces >= used)
                for i, (stream, flow) in enumerate(self.asked[module].items())
            }

        return list(self.bus.down(send).values())


def _together(reports: Mapping[Stream, _Report]) -> tuple[float, float]:
    """Cost and worth of a unit of a module's resource, with what it feeds."""
    cost, worth = 1.0, 0.0
    for stream, report in reports.items():
        if isinstance(stream, Outflow):
            worth += stream.weight * stream.produces
        else:
            reach = report.share * stream.produces / stream.consumes
            cost, worth = cost + reach * report.cost, worth + reach * report.worth
    return cost, worth
