"""Rates drift, and a tree of modules follows: news goes up and orders come down, a hop at a time.

Each module measures its own rates. What has changed (`adaptation_change`) it reports to its parent,
with all that is below it (`adaptation_curve`); the parent reports in turn, and the top plans with
what has reached it. The plan goes down. It names the time of the reports on which it rests, so that
all modules divide by the same figures, and the time when its furthest module will have heard it, so
that a branch is not fed before it can work. What a module gets is a moving average of what it had
and what it is assigned (alloc, Section 7.3).

>>> from penstock.policy.allocation.network import Link, Network, Outflow
>>> def fork(produces: float) -> Network:
...     return Network(
...         budget=1.0,
...         modules=("a", "b"),
...         links=(Link(origin="a", target="b", produces=produces, consumes=1.0),),
...         outflows=(Outflow(name="o", origin="b", produces=1.0),),
...     )
>>> tree = Adaptation(fork(1.0))
>>> for _ in range(4):
...     print({name: round(x, 3) for name, x in tree.tick(fork(3.0)).items()})
{'a': 0.5, 'b': 0.5}
{'a': 0.375, 'b': 0.625}
{'a': 0.312, 'b': 0.688}
{'a': 0.281, 'b': 0.719}

`Agent` is one module, which measures its rates, reports upwards and follows the plan from above:

>>> leaf = Agent.of({}, consumes=2.0, worth=3.0)
>>> leaf.follow(Order(made=0, hops=0, price=1.0, flow=5.0, due=0))
{}
>>> leaf.act(now=0, smoothing=0.0)
2.5

Has a rate changed? A test that small, lasting deviations pass late and large ones at once.

The deviation of what is measured from what was last announced, as a logarithm, is summed up less
some slack, for rises and falls apart (CUSUM). Above a threshold it counts as a change, and what was
measured then is the rate from now on.

>>> watch = ChangeDetector(rate=2.0)
>>> [watch.detects(rate) for rate in (2.01, 1.99, 2.4)]
[False, False, True]
>>> watch.rate
2.4
>>> [watch.detects(2.48) for _ in range(4)]  # 3 % more, again and again
[False, True, False, False]

What a subtree can make of resource: the most worthwhile piece first.

A module that reports only what its best leaves come to, as in Theorem 3, hides from its parent the
leaves that are worth having once the way to them is paid for (`shrink` has an example). So it
reports all of it: what its resource and that of modules below brings, in pieces of falling worth.

>>> good = curve(10.0, [])
>>> fair = curve(4.0, [])
>>> curve(0.0, [Branch(flow=1.0, pieces=good), Branch(flow=1.0, pieces=fair)])
(Piece(resource=2.0, worth=5.0, hops=1), Piece(resource=1.0, worth=4.0, hops=1))
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import log
from typing import Final, NamedTuple

from penstock.core.errors import SettingError
from penstock.policy.allocation.network import Network, NetworkError, active

SLACK: Final = 0.02
THRESHOLD: Final = 0.02


@dataclass(slots=True, kw_only=True)
class ChangeDetector:
    """Of one rate."""

    rate: float
    """As it was announced last."""
    slack: float = SLACK
    """Deviation that is never a change, however long it lasts: a share, nearly."""
    threshold: float = THRESHOLD
    """Sum of deviations beyond the slack that is one."""
    _risen: float = 0.0
    _fallen: float = 0.0

    def __post_init__(self) -> None:
        for name in ("slack", "threshold"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise SettingError(f"{name} must be in [0, 1), got {getattr(self, name):g}")

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A child, as its parent sees it."""

    flow: float
    """That a unit of the parent's resource sends there."""
    pieces: Curve
    """That a unit of flow allows."""


def curve(worth: float, branches: Iterable[Branch]) -> Curve:
    """What a unit of a module's resource brings at its own sinks, and more below.

    The first piece holds the module itself with all that is worth more than the piece without it.
    """
    below = sorted(
        (
            Piece(branch.flow * piece.resource, piece.worth, piece.hops + 1)
            for branch in branches
            for piece in branch.pieces
        ),
        key=lambda piece: -piece.worth,
    )
    resource, value, hops, taken = 1.0, worth, 0, 0
    for piece in below:
        if piece.worth * resource <= value:
            break
        resource += piece.resource
        value += piece.worth * piece.resource
        hops = max(hops, piece.hops)
        taken += 1
    return (Piece(resource, value / resource, hops), *below[taken:])


def fed(pieces: Curve, consumes: float) -> Curve:
    """The same for a unit of flow, of a module that consumes so much."""
    return tuple(piece._replace(resource=piece.resource / consumes) for piece in pieces)


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """What a module knows of itself and has heard of those below."""

    consumes: float
    """Flow from its parent that a unit of its resource takes."""
    worth: float
    """What a unit of its resource brings at its own sinks."""
    produces: Mapping[str, float]
    """Flow for each child."""
    received: Mapping[str, Curve]
    """What each child makes of a unit of flow."""

    @cached_property
    def own(self) -> Curve:
        """What comes of a unit of its resource."""
        branches = (
            Branch(flow=self.produces[child], pieces=c) for child, c in self.received.items()
        )
        return curve(self.worth, branches)

    @property
    def report(self) -> Curve:
        """What comes of a unit of flow from its parent."""
        return fed(self.own, self.consumes)

    def resource(self, flow: float, price: float) -> float:
        """What it takes of a flow where resource has a price: all that it can, or nothing."""
        return flow / self.consumes if self.own[0].worth >= price else 0.0


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


@dataclass(slots=True, kw_only=True)
class Agent:
    """A module."""

    detectors: dict[str, ChangeDetector]
    """By the rate: `consumes`, `worth`, or the name of the child that is fed."""
    memory: deque[tuple[float, Knowledge]]
    """What it knew since when: a plan rests on what was known when it was reported."""
    waiting: list[tuple[Order, float]] = field(default_factory=list)
    """Orders that take effect later, with what it then gets,"""
    assigned: float = 0.0
    """what it has been given,"""
    resource: float = 0.0
    """and what it has: a moving average."""

    @classmethod
    def of(
        cls, branches: Mapping[str, Branch], *, consumes: float, worth: float, **test: float
    ) -> "Agent":
        """One that knows all about itself and its children."""
        produces = {child: branch.flow for child, branch in branches.items()}
        rates = {"consumes": consumes, "worth": worth, **{f">{c}": f for c, f in produces.items()}}
        knowledge = Knowledge(
            consumes=consumes,
            worth=worth,
            produces=produces,
            received={child: branch.pieces for child, branch in branches.items()},
        )
        # Modules without a sink of their own bring nothing, which no measurement changes.
        detectors = {
            name: ChangeDetector(rate=rate, **test) for name, rate in rates.items() if rate > 0
        }
        return cls(detectors=detectors, memory=deque([(-1, knowledge)]))

    @property
    def knows(self) -> Knowledge:
        """What it knows now."""
        return self.memory[-1][1]

    def learn(self, rates: Mapping[str, float], reports: Mapping[str, Curve], *, now: int) -> bool:
        """Measure its rates and read its children's reports; true if there is anything new."""
        changed = [name for name, watch in self.detectors.items() if watch.detects(rates[name])]
        if not changed and not reports:
            return False
        rate = {name: watch.rate for name, watch in self.detectors.items()}
        known = self.knows
        learned = replace(
            known,
            consumes=rate["consumes"],
            worth=rate.get("worth", 0.0),
            produces={child: rate[f">{child}"] for child in known.produces},
            received={**known.received, **reports},
        )
        self.memory.append((now, learned))
        return True

    def follow(self, order: Order) -> dict[str, Order]:
        """Note what it will get, and send its children their parts."""
        known = self._knew(order.made - order.hops)
        resource = known.resource(order.flow, order.price)
        self.waiting.append((order, resource))
        hops = order.hops + 1
        return {
            child: replace(
                order, hops=hops, flow=resource * flow, due=max(order.due, order.made + hops)
            )
            for child, flow in known.produces.items()
        }

    def act(self, *, now: int, smoothing: float) -> float:
        """Move towards the latest order that is due."""
        due = [(order.made, given) for order, given in self.waiting if order.due <= now]
        if due:
            latest, self.assigned = max(due)
            self.waiting = [pair for pair in self.waiting if pair[0].made > latest]
        self.resource = smoothing * self.resource + (1.0 - smoothing) * self.assigned
        return self.resource

    def _knew(self, at: int) -> Knowledge:
        """What it knew then; all before that is forgotten, since later orders rest on later."""
        while len(self.memory) > 1 and self.memory[1][0] <= at:
            self.memory.popleft()
        return self.memory[0][1]


SMOOTHING: Final = 0.5
"""Share of what a module had in what it has next: the paper's gamma."""


class Adaptation:
    """The agents of a tree, which begins at its optimum, and the messages between them.

    Sources must be unlimited: then what counts is how resource is divided.
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
        if not 0.0 <= smoothing < 1.0:
            raise SettingError(f"smoothing must be in [0, 1), got {smoothing:g}")
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

        What all have then: weights in a pool, of which `shared` says what they come to.
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
            flow=top.knows.consumes * self._budget / best.resource,
            due=self.now + (best.hops if self.together else 0),
        )

    def _send(self, orders: Mapping[str, Order]) -> None:
        self._orders.update(orders)
        self.messages += len(orders)

    def _begin(self) -> None:
        """All have what the first plan gives them."""
        orders = {self._top: self._plan(self._agents[self._top])}
        while orders:
            below: dict[str, Order] = {}
            for name, order in orders.items():
                below |= self._agents[name].follow(order)
            orders = below
        for agent in self._agents.values():
            [(_, agent.assigned)] = agent.waiting
            agent.resource = agent.assigned
            agent.waiting.clear()


def shared(network: Network, weights: Mapping[str, float]) -> dict[str, float]:
    """What modules get of a pool that is shared by weight, and in which nothing lies idle.

    A module whose inputs run dry cannot use its share, and the others have it, in proportion to
    their weights: as with weights of processes or of Spark's FAIR pools.

    >>> from penstock.policy.allocation.network import Link, Network, Outflow
    >>> chain = Network(
    ...     budget=1.0,
    ...     modules=("a", "b"),
    ...     links=(Link(origin="a", target="b", produces=1.0, consumes=1.0),),
    ...     outflows=(Outflow(name="o", origin="b", produces=1.0),),
    ... )
    >>> shared(chain, {"a": 0.2, "b": 0.8})
    {'a': 0.5, 'b': 0.5}
    """
    return _scaled(active(network, weights), network.budget)


def reserved(network: Network, weights: Mapping[str, float]) -> dict[str, float]:
    """The same where each module has its share for itself, whether it can use it or not.

    >>> reserved(Network(budget=4.0, modules=("a", "b")), {"a": 0.5, "b": 1.5})
    {'a': 1.0, 'b': 3.0}
    """
    return _scaled(weights, network.budget)


def _scaled(weights: Mapping[str, float], budget: float) -> dict[str, float]:
    total = sum(weights.values())
    return {name: budget * weight / total for name, weight in weights.items()}


def _top(network: Network) -> str:
    """The only module without a parent."""
    for module in network.modules:
        if len(parents := [link.origin for link in network.inputs(module)]) > 1:
            raise NetworkError(
                f"only trees adapt hop by hop, and module {module} has inputs from "
                f"{' and '.join(parents)}; plan again with cutting-plane",
                part="modules",
                name=module,
            )
    for inflow in network.inflows:
        if inflow.rate < float("inf"):
            raise NetworkError(
                f"source {inflow.name} gives {inflow.rate:g} at most, and only trees of unlimited "
                "sources adapt hop by hop; plan again with shrink",
                part="sources",
                name=inflow.name,
            )
    tops = [module for module in network.modules if not network.inputs(module)]
    if len(tops) != 1:
        raise NetworkError(
            f"only one tree adapts hop by hop, got {len(tops)} with the tops {', '.join(tops)}; "
            "give each a budget of its own",
            part="modules",
            name=tops[-1],
        )
    return tops[0]


def _rates(network: Network, name: str) -> dict[str, float]:
    """What a module can measure of itself."""
    consumed = [link.consumes for link in network.inputs(name)]
    return {
        # An unlimited source gives as much as is consumed, whatever the rate.
        "consumes": consumed[0] if consumed else 1.0,
        "worth": sum(out.weight * out.produces for out in network.outflows_of(name)),
        **{f">{link.target}": link.produces for link in network.outputs(name)},
    }


def _agents(network: Network, **test: float) -> dict[str, Agent]:
    """One of each module."""
    made: dict[str, Agent] = {}
    for name in reversed(network.order()):
        rates = _rates(network, name)
        branches = {
            link.target: Branch(flow=link.produces, pieces=made[link.target].knows.report)
            for link in network.outputs(name)
        }
        made[name] = Agent.of(branches, consumes=rates["consumes"], worth=rates["worth"], **test)
    return {name: made[name] for name in network.modules}
