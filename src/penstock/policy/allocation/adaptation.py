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
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from penstock.core.errors import SettingError
from penstock.policy.allocation.adaptation_agent import Agent, Order
from penstock.policy.allocation.adaptation_change import SLACK, THRESHOLD
from penstock.policy.allocation.adaptation_curve import Branch, Curve
from penstock.policy.allocation.flow import active
from penstock.policy.allocation.network import Network, NetworkError

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
        """Whether a plan takes effect everywhere at once; else each module acts when it hears."""
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
            self._send(self._agents[name].obey(order))
        acted = {
            name: agent.act(now=self.now, smoothing=self.smoothing)
            for name, agent in self._agents.items()
        }
        self.now += 1
        return acted

    def _report(self, name: str, agent: Agent) -> None:
        if name == self._top:
            self._send(agent.obey(self._plan(agent)))
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
                below |= self._agents[name].obey(order)
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
