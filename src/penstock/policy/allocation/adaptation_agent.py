"""A module that notices changes of its own rates, reports upwards and obeys orders from above.

>>> leaf = Agent.of({}, consumes=2.0, worth=3.0)
>>> leaf.obey(Order(made=0, hops=0, price=1.0, flow=5.0, due=0))
{}
>>> leaf.act(now=0, smoothing=0.0)
2.5
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from penstock.policy.allocation.adaptation_change import Watch
from penstock.policy.allocation.adaptation_curve import Branch, Curve, curve, fed


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """What a module knows of itself and has heard of those below."""

    consumes: float
    """Flow from its parent that a unit of its resource takes."""
    worth: float
    """What a unit of its resource brings at its own sinks."""
    produces: Mapping[str, float]
    """Flow for each child."""
    heard: Mapping[str, Curve]
    """What each child makes of a unit of flow."""

    @cached_property
    def own(self) -> Curve:
        """What comes of a unit of its resource."""
        branches = (Branch(flow=self.produces[child], pieces=c) for child, c in self.heard.items())
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
    """From the top to whom it is for."""
    price: float
    """What a unit of resource has to bring in this plan."""
    flow: float
    """That the parent will send."""
    due: int
    """When it takes effect."""


@dataclass(slots=True, kw_only=True)
class Agent:
    """A module."""

    watches: dict[str, Watch]
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
            heard={child: branch.pieces for child, branch in branches.items()},
        )
        # Modules without a sink of their own bring nothing, which no measurement changes.
        watches = {name: Watch(rate=rate, **test) for name, rate in rates.items() if rate > 0}
        return cls(watches=watches, memory=deque([(-1, knowledge)]))

    @property
    def knows(self) -> Knowledge:
        """What it knows now."""
        return self.memory[-1][1]

    def learn(self, rates: Mapping[str, float], reports: Mapping[str, Curve], *, now: int) -> bool:
        """Measure its own rates and hear its children; whether there is something to report."""
        changed = [name for name, watch in self.watches.items() if watch.sees(rates[name])]
        if not changed and not reports:
            return False
        rate = {name: watch.rate for name, watch in self.watches.items()}
        known = self.knows
        learned = replace(
            known,
            consumes=rate["consumes"],
            worth=rate.get("worth", 0.0),
            produces={child: rate[f">{child}"] for child in known.produces},
            heard={**known.heard, **reports},
        )
        self.memory.append((now, learned))
        return True

    def obey(self, order: Order) -> dict[str, Order]:
        """Note what it will get, and tell its children their part."""
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
