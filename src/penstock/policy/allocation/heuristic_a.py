"""Every network as if it were a tree: not always the best, but soon agreed (alloc, Heuristic A).

Up the network each module joins what its children sent with itself (Theorems 3 and 4) and sends it
to *all* its parents. Down the network flow is offered to the children that are worth it. The paper
leaves open what several parents mean for a child; here
- a child offers each parent a part of itself, so that none of it is counted twice: equal parts at
  first, then only those parents that had to work for it;
- it works on what the scarcest of its parents offers, or not at all if one of them offers nothing;
- those before all others offer as much as their sources and the budget allow;
- on a further way up each asks for what is used of it only, and that is fitted to the budget.

In the first round everything is worth it that leads to a sink. What resource then brings is its
price in the next: a child is worth it if it brings more than it costs. (The paper compares it with
its siblings and its parent instead, which suffices neither on trees, see `merging`, nor among
parents who then disagree.) Rounds end when one brings no more. Where the network is one or several
trees that fan out from unlimited sources the answer is the optimum.

>>> from penstock.policy.allocation.network import Link, Network, Outflow
>>> network = Network(
...     budget=3.0,
...     modules=("a", "b", "c"),
...     links=(
...         Link(origin="a", target="c", produces=1.0, consumes=1.0),
...         Link(origin="b", target="c", produces=1.0, consumes=1.0),
...     ),
...     outflows=(Outflow(name="o", origin="c", produces=2.0),),
... )
>>> made = solve(network)
>>> dict(made.resource), made.value, made.passes
({'a': 1.0, 'b': 1.0, 'c': 1.0}, 2.0, 9)

A round of Heuristic A: values are reported up, flow is offered down, unused flow is trimmed.

The agents keep what they learn: what each uses, and which of its parents have to work for it. The
final sink learns what a round brings and takes, and names the price of resource in the next.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Final

from penstock.core.errors import SettingError
from penstock.policy.allocation.allocation import Allocation, checked_allocation
from penstock.policy.allocation.messages import MessageBus, Stream
from penstock.policy.allocation.network import Link, Network, Outflow


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A module with all below that it finds worth it, for a unit of the module's own resource."""

    cost: float
    worth: float
    share: float
    """Part of it that the parent that receives this may count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What some modules use, how many times that their sources can give, and who asked for it."""

    total: float
    times: float
    pays: bool
    """Whether the receiver made its parent work this much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the final sink received in a round."""

    resource: Mapping[str, float]
    total: float
    times: float
    """That all of it fits the sources and the budget."""
    value: float


@dataclass(slots=True)
class Rounds:
    """The agents of a network, who begin by taking it for a tree."""

    network: Network
    bus: MessageBus
    resource: dict[str, float] = field(default_factory=dict)
    asked: dict[str, Mapping[Stream, float]] = field(default_factory=dict)
    """Flow that each has to give, by stream."""
    payers: dict[str, Collection[Link]] = field(default_factory=dict)
    """Links from the parents that work for a module; not known of one that got nothing."""

    def play(self, price: float) -> Outcome:
        """A round at a price of resource."""
        flows = self._offer(self._tell(price))
        self._ask(flows)
        tallies = self._count()
        total = sum(tally.total for tally in tallies)
        times = min((tally.times for tally in tallies), default=0.0)
        return Outcome(
            resource=dict(self.resource),
            total=total,
            times=min(self.network.budget / total, times) if total > 0 else 0.0,
            value=sum(o.weight * flows.get(o.name, 0.0) for o in self.network.outflows),
        )

    def _tell(self, price: float) -> dict[str, Collection[Stream]]:
        """Up: each what it is worth. Returns the streams that each finds worth feeding."""
        fed: dict[str, Collection[Stream]] = {}

        def send(module: str, received: Mapping[Stream, Bundle]) -> dict[Link, Bundle]:
            fed[module] = [one for one, bundle in received.items() if _worth_it(one, bundle, price)]
            cost, worth = _together({stream: received[stream] for stream in fed[module]})
            links = self.network.inputs(module)
            if not links and worth <= price * cost:
                fed[module] = ()
            text = self.payers.get(module, links) if received else ()
            return {
                link: Bundle(cost=cost, worth=worth, share=(link in text) / len(text))
                for link in (links if text else ())
            }

        free = Bundle(cost=0.0, worth=0.0, share=1.0)
        self.bus.up({outflow.name: free for outflow in self.network.outflows}, send)
        return fed

    def _offer(self, fed: Mapping[str, Iterable[Stream]]) -> dict[str, float]:
        """Down: flow to those worth it. Returns what comes out at each sink."""

        def send(module: str, received: Mapping[Link, float]) -> dict[Stream, float]:
            most = self._most(module, received)
            return {one: one.produces * most for one in fed[module]} if most > 0 else {}

        return self.bus.down(send)

    def _most(self, module: str, received: Mapping[Link, float]) -> float:
        most = self.network.budget if not self.network.inputs(module) else inf
        for inflow in self.network.inflows_of(module):
            most = min(most, inflow.rate / inflow.consumes)
        for link in self.network.inputs(module):
            most = min(most, received.get(link, 0.0) / link.consumes)
        return most

    def _ask(self, flows: Mapping[str, float]) -> None:
        """Up: each for what is used of it (Algorithm 1)."""

        def send(module: str, received: Mapping[Stream, float]) -> dict[Link, float]:
            used = max((flow / stream.produces for stream, flow in received.items()), default=0.0)
            self.resource[module], self.asked[module] = used, received
            links = self.network.inputs(module) if used > 0 else ()
            return {link: link.consumes * used for link in links}

        self.bus.up(flows, send)

    def _count(self) -> list[Tally]:
        """Down: who pays, and sums of all that is used. Returns what the final sink receives."""

        def send(module: str, received: Mapping[Link, Tally]) -> dict[Stream, Tally]:
            used, asked = self.resource[module], self.asked[module]
            if paying := [link for link, tally in received.items() if tally.pays]:
                self.payers[module] = paying
            # Sums go one way only, so that nothing with several ways to the end is counted twice.
            total, times = (
                used + sum(t.total for t in received.values()),
                self._times(module, received),
            )
            return {
                stream: Tally(
                    total=0.0 if i else total, times=times, pays=flow / stream.produces >= used
                )
                for i, (stream, flow) in enumerate(asked.items())
            }

        return list(self.bus.down(send).values())

    def _times(self, module: str, received: Mapping[Link, Tally]) -> float:
        used = self.resource[module]
        times = min((tally.times for tally in received.values()), default=inf)
        for inflow in self.network.inflows_of(module):
            if used > 0:
                times = min(times, inflow.rate / (inflow.consumes * used))
        return times


def _worth_it(stream: Stream, bundle: Bundle, price: float) -> bool:
    return isinstance(stream, Outflow) or bundle.worth > price * bundle.cost


def _together(bundles: Mapping[Stream, Bundle]) -> tuple[float, float]:
    """Cost and worth of a unit of a module's resource, with what it feeds."""
    cost, worth = 1.0, 0.0
    for stream, bundle in bundles.items():
        if isinstance(stream, Outflow):
            worth += stream.weight * stream.produces
        else:
            reach = bundle.share * stream.produces / stream.consumes
            cost, worth = cost + reach * bundle.cost, worth + reach * bundle.worth
    return cost, worth


ABOVE: Final = 1.0 + 1e-12
"""Times what resource brought that a child must bring in the next round.

One that brings just as much, to the last digit, can be so large that rounding it hides all others.
"""


def solve(network: Network, *, rounds: int = 10) -> Allocation:
    """A good division for any network, after so many rounds at most; the paper has one."""
    if rounds < 1:
        raise SettingError(f"rounds must be at least 1, got {rounds}")
    bus = MessageBus(network)
    best = _best(Rounds(network, bus), rounds)
    resource = _fit(bus, best)
    return checked_allocation(
        network, resource, policy="heuristic-a", promised=best.times * best.value, bus=bus
    )


def _best(agents: Rounds, rounds: int) -> Outcome:
    """The final sink's part: the price of each round is what resource brought in the last."""
    best = agents.play(0.0)
    for _ in range(rounds - 1):
        # Where sources or dropped modules leave part of the budget over, resource is worth nothing.
        short = best.times * best.total >= agents.network.budget * (1.0 - 1e-12)
        course = agents.play(best.value / best.total * ABOVE if short else 0.0)
        if course.times * course.value <= best.times * best.value:
            return best
        best = course
    return best


def _fit(bus: MessageBus, best: Outcome) -> dict[str, float]:
    """Up: each receives the factor by which its planned resource is scaled."""
    resource = dict.fromkeys(bus.network.modules, 0.0)

    def send(module: str, received: Mapping[Stream, float]) -> dict[Link, float]:
        times = next(iter(received.values()), 0.0)
        resource[module] = times * best.resource[module]
        return dict.fromkeys(bus.network.inputs(module), times) if received else {}

    bus.up({outflow.name: best.times for outflow in bus.network.outflows}, send)
    return resource
