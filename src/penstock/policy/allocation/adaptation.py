"""Rates drift, and a tree of modules follows: reports go up and orders come down, a hop at a time.

Each module measures its own rates. When one has changed (`ChangeDetector`) it reports to its parent
what all below it can make of resource (`curve`); the parent reports in turn, and the top plans with
the reports that reached it. The plan goes down. It names the time of the reports on which it rests,
so that all modules divide by the same figures, and the time when its furthest module will have
received it, so that a branch is not fed before it can work. What a module gets is a moving average
of what it had and what it is assigned (alloc, Section 7.3).

>>> from penstock.policy.allocation.network import Link, Outflow
>>> def chain(produces: float) -> Network:
...     return Network(
...         budget=1.0,
...         modules=("a", "b"),
...         links=(Link("a", "b", produces=produces, consumes=1.0),),
...         outflows=(Outflow("o", "b", produces=1.0),),
...     )
>>> tree = Adaptation(chain(1.0))
>>> for _ in range(4):
...     print({name: round(x, 3) for name, x in tree.tick(chain(3.0)).items()})
{'a': 0.5, 'b': 0.5}
{'a': 0.375, 'b': 0.625}
{'a': 0.312, 'b': 0.688}
{'a': 0.281, 'b': 0.719}
>>> shared(chain(1.0), {"a": 0.2, "b": 0.8}), reserved(chain(1.0), {"a": 0.5, "b": 1.5})
({'a': 0.5, 'b': 0.5}, {'a': 0.25, 'b': 0.75})
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, log
from typing import Final, NamedTuple

from penstock.core.errors import SettingError
from penstock.core.schema import BelowOne, read
from penstock.policy.allocation.network import Network, busy_resource

SLACK: Final = 0.02
THRESHOLD: Final = 0.02
SMOOTHING: Final = 0.5
"""Share of what a module had in what it has next: the paper's gamma."""


@dataclass(slots=True, kw_only=True)
class ChangeDetector:
    """Detects a change of one rate: small, lasting deviations late, and large ones at once.

    The deviation of what is measured from what was last announced, as a logarithm, is summed up
    less some slack, for rises and falls apart (CUSUM). Above a threshold it counts as a change, and
    what was measured then is the rate from now on.

    >>> detector = ChangeDetector(rate=2.0)
    >>> [detector.detects(rate) for rate in (2.01, 1.99, 2.4)], detector.rate
    ([False, False, True], 2.4)
    >>> [detector.detects(2.48) for _ in range(4)]  # 3 % more, again and again
    [False, True, False, False]
    """

    rate: float
    """As it was announced last."""
    slack: float = SLACK
    """Deviation that is never a change, however long it lasts: a share, nearly."""
    threshold: float = THRESHOLD
    """Sum of deviations beyond the slack that is one."""
    _risen: float = 0.0
    _fallen: float = 0.0

    def detects(self, measured: float) -> bool:
        """Whether this measurement shows a change."""
        deviation = log(measured / self.rate)
        self._risen = max(0.0, self._risen + deviation - self.slack)
        self._fallen = max(0.0, self._fallen - deviation - self.slack)
        if max(self._risen, self._fallen) <= self.threshold:
            return False
        self.rate, self._risen, self._fallen = measured, 0.0, 0.0
        return True


class Piece(NamedTuple):
    """Some resource that is best spent together."""

    resource: float
    worth: float
    """What a unit of it brings."""
    hops: int
    """To the furthest module that gets some."""


Curve = tuple[Piece, ...]
"""What a subtree can make of resource, in pieces of falling worth."""


def curve(worth: float, branches: Iterable[tuple[float, Curve]]) -> Curve:
    """What a unit of a module's resource brings at its own sinks, and more below.

    A branch is a child: the flow that a unit of the module's resource sends there, and what the
    child makes of a unit of flow. The first piece has the module itself with all that is worth more
    than the piece without it. A module that reported only this piece, as in Theorem 3, would hide
    the leaves that are worth having once the way to them is paid for (`shrink` has an example).

    >>> good, fair = curve(10.0, []), curve(4.0, [])
    >>> curve(0.0, [(1.0, good), (1.0, fair)])
    (Piece(resource=2.0, worth=5.0, hops=1), Piece(resource=1.0, worth=4.0, hops=1))
    """
    pieces = (
        Piece(flow * piece.resource, piece.worth, piece.hops + 1)
        for flow, below in branches
        for piece in below
    )
    rest = deque(sorted(pieces, key=lambda piece: -piece.worth))
    resource, value, hops = 1.0, worth, 0
    while rest and rest[0].worth * resource > value:
        piece = rest.popleft()
        resource += piece.resource
        value += piece.worth * piece.resource
        hops = max(hops, piece.hops)
    return (Piece(resource, value / resource, hops), *rest)


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """What a module knows of itself and its children."""

    rates: Mapping[str, float]
    """`consumes`: flow from its parent that a unit of its resource takes; `worth`: what that brings
    at its own sinks; `>child`: the flow that it makes for a child."""
    reports: Mapping[str, Curve]
    """What each child makes of a unit of flow."""

    @property
    def produces(self) -> dict[str, float]:
        """Flow for each child of a unit of its resource."""
        return {child: self.rates[f">{child}"] for child in self.reports}

    @cached_property
    def own(self) -> Curve:
        """What comes of a unit of its resource."""
        branches = ((flow, self.reports[child]) for child, flow in self.produces.items())
        return curve(self.rates["worth"], branches)

    @property
    def report(self) -> Curve:
        """What comes of a unit of flow from its parent."""
        consumes = self.rates["consumes"]
        return tuple(piece._replace(resource=piece.resource / consumes) for piece in self.own)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A part of a plan, on its way down."""

    made: int
    """When."""
    hops: int
    """From the top to the receiver."""
    price: float
    """What a unit of resource has to bring in this plan."""
    flow: float
    """That the parent will send."""
    due: int
    """When it takes effect."""


class Agent:
    """One module, which measures its rates, reports upwards and follows the plan from above.

    >>> leaf = Agent({"consumes": 2.0, "worth": 3.0}, {})
    >>> leaf.follow(Order(made=0, hops=0, price=1.0, flow=5.0, due=0))
    {}
    >>> leaf.act(now=0, smoothing=0.0)
    2.5
    """

    def __init__(
        self, rates: Mapping[str, float], reports: Mapping[str, Curve], **test: float
    ) -> None:
        # Modules without a sink of their own bring nothing, which no measurement changes.
        self._detectors = {
            name: ChangeDetector(rate=rate, **test) for name, rate in rates.items() if rate > 0
        }
        self._memory = deque([(-1, Knowledge(rates=rates, reports=reports))])
        """What it knew since when: a plan rests on what was known when it was reported."""
        self._waiting: list[tuple[Order, float]] = []
        """Orders that take effect later, with what it then gets."""
        self._assigned = self._resource = 0.0
        """What it was given last, and what it has: a moving average."""

    @property
    def knows(self) -> Knowledge:
        """What it knows now."""
        return self._memory[-1][1]

    def learn(self, rates: Mapping[str, float], reports: Mapping[str, Curve], *, now: int) -> bool:
        """Measure its rates and read its children's reports; true if there is anything new."""
        changed = [name for name, test in self._detectors.items() if test.detects(rates[name])]
        if not changed and not reports:
            return False
        announced = {name: test.rate for name, test in self._detectors.items()}
        learned = Knowledge(
            rates={**self.knows.rates, **announced}, reports={**self.knows.reports, **reports}
        )
        self._memory.append((now, learned))
        return True

    def follow(self, order: Order) -> dict[str, Order]:
        """Note what it will get, all that it can use or nothing; returns its children's parts."""
        known = self._knew(order.made - order.hops)
        worth_it = known.own[0].worth >= order.price
        resource = order.flow / known.rates["consumes"] if worth_it else 0.0
        self._waiting.append((order, resource))
        hops = order.hops + 1
        due = max(order.due, order.made + hops)
        return {
            child: replace(order, hops=hops, flow=resource * flow, due=due)
            for child, flow in known.produces.items()
        }

    def act(self, *, now: int, smoothing: float) -> float:
        """Move towards the latest order that is due."""
        due = [(order.made, given) for order, given in self._waiting if order.due <= now]
        if due:
            latest, self._assigned = max(due)
            self._waiting = [pair for pair in self._waiting if pair[0].made > latest]
        self._resource = smoothing * self._resource + (1.0 - smoothing) * self._assigned
        return self._resource

    def _knew(self, at: int) -> Knowledge:
        """What it knew then; older knowledge is dropped, since later orders rest on later."""
        while len(self._memory) > 1 and self._memory[1][0] <= at:
            self._memory.popleft()
        return self._memory[0][1]


class Adaptation:
    """The agents of a tree, which begins at its optimum, and the messages between them.

    Sources must be unlimited: then only the division of resource counts.
    """

    def __init__(
        self,
        network: Network,
        *,
        smoothing: float = SMOOTHING,
        slack: float = SLACK,
        threshold: float = THRESHOLD,
        together: bool = True,
    ) -> None:
        settings = {"smoothing": smoothing, "slack": slack, "threshold": threshold}
        for name, value in settings.items():
            read(BelowOne, value, what=name)
        self.smoothing = smoothing
        self.together = together
        """Whether a plan takes effect everywhere at once; else in each module on receipt."""
        self.messages = 0
        """Reports and orders that were sent."""
        self.now = 0
        self._budget = network.budget
        self._top = _top(network)
        self._parents = {link.target: link.origin for link in network.links}
        self._agents = _agents(network, slack=slack, threshold=threshold)
        self._reports: dict[str, dict[str, Curve]] = {}
        self._orders: dict[str, Order] = {}
        self._begin()

    def tick(self, measured: Network) -> dict[str, float]:
        """Let a unit of time pass, in which each module measures its own rates, as they are there.

        Returns what each has then: weights in a pool, which `shared` or `reserved` turns into
        resource.
        """
        reports, self._reports = self._reports, defaultdict(dict)
        orders, self._orders = self._orders, {}
        for name, agent in self._agents.items():
            if agent.learn(_rates(measured, name), reports.get(name, {}), now=self.now):
                self._report(name, agent)
        for name, order in orders.items():
            self._send(self._agents[name].follow(order))
        acted = {
            name: agent.act(now=self.now, smoothing=self.smoothing)
            for name, agent in self._agents.items()
        }
        self.now += 1
        return acted

    def _report(self, name: str, agent: Agent) -> None:
        if name == self._top:
            self._send(agent.follow(self._plan(agent)))
        else:
            self._reports[self._parents[name]][name] = agent.knows.report
            self.messages += 1

    def _plan(self, top: Agent) -> Order:
        """The most worthwhile piece gets everything, and its worth is the price of resource."""
        best = top.knows.own[0]
        return Order(
            made=self.now,
            hops=0,
            price=best.worth,
            flow=top.knows.rates["consumes"] * self._budget / best.resource,
            due=self.now + (best.hops if self.together else 0),
        )

    def _send(self, orders: Mapping[str, Order]) -> None:
        self._orders.update(orders)
        self.messages += len(orders)

    def _begin(self) -> None:
        """Give all modules what the first plan assigns them."""
        orders = {self._top: self._plan(self._agents[self._top])}
        while orders:
            below: dict[str, Order] = {}
            for name, order in orders.items():
                below |= self._agents[name].follow(order)
            orders = below
        for agent in self._agents.values():
            agent.act(now=len(self._agents), smoothing=0.0)  # when all have received it


def shared(network: Network, weights: Mapping[str, float]) -> dict[str, float]:
    """What modules get of a pool that is shared by weight, and in which nothing is left idle.

    A module whose inputs run dry cannot use its share, and the others have it, in proportion to
    their weights: as with weights of processes or of Spark's FAIR pools.
    """
    return reserved(network, busy_resource(network, weights))


def reserved(network: Network, weights: Mapping[str, float]) -> dict[str, float]:
    """The same where each module has its share for itself, whether it can use it or not."""
    total = sum(weights.values())
    return {name: network.budget * weight / total for name, weight in weights.items()}


def _top(network: Network) -> str:
    """The only module without a parent."""
    for module, links in network.inputs.items():
        if len(links) > 1:
            raise SettingError(
                f"only trees adapt hop by hop, and module {module} has inputs from "
                f"{' and '.join(link.origin for link in links)}; plan again with cutting-plane"
            )
    for inflow in network.inflows:
        if inflow.rate < inf:
            raise SettingError(
                f"source {inflow.name} gives {inflow.rate:g} at most, and only trees of unlimited "
                "sources adapt hop by hop; plan again with shrink"
            )
    tops = [module for module, links in network.inputs.items() if not links]
    if len(tops) != 1:
        raise SettingError(
            f"only one tree adapts hop by hop, got {len(tops)} with the tops {', '.join(tops)}; "
            "give each a budget of its own"
        )
    return tops[0]


def _rates(network: Network, name: str) -> dict[str, float]:
    """What a module can measure of itself."""
    inputs = network.inputs[name]
    return {
        # An unlimited source gives as much as is consumed, whatever the rate.
        "consumes": inputs[0].consumes if inputs else 1.0,
        "worth": sum(out.weight * out.produces for out in network.outflows_of[name]),
        **{f">{link.target}": link.produces for link in network.outputs[name]},
    }


def _agents(network: Network, **test: float) -> dict[str, Agent]:
    """One of each module."""
    agents: dict[str, Agent] = {}
    for name in reversed(network.order):
        below = {x.target: agents[x.target].knows.report for x in network.outputs[name]}
        agents[name] = Agent(_rates(network, name), below, **test)
    return {name: agents[name] for name in network.modules}
