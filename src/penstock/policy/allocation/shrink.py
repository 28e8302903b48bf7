"""The best division on trees, by agents that report what is behind them (alloc, Algorithm 2).

Modules report to one module of each tree, its root, and resource flows back. The published
algorithm shrinks a fork to the leaves that are best *for the fork* and forgets the others. That can
miss the optimum, against Theorem 5: where the way to the fork is dear, a lesser leaf below it is
worth having, since the way is paid for. So here the agents do the same under a price of resource
that is common to all, and are asked again at another price until it fits the budget; a leaf counts
if it brings more than its resource costs. That is exact, it is so with limited sources, and it is
so in every tree in the undirected sense, also where modules join several streams, and in several
trees that share a budget.

>>> from penstock.policy.allocation.network import Inflow, Link, Network, Outflow
>>> dear_way = Network(
...     budget=4.0,
...     modules=("root", "fork", "good", "fair"),
...     inflows=(Inflow(name="s", target="root", consumes=1.0),),
...     links=(
...         Link(origin="root", target="fork", produces=1.0, consumes=1.0),
...         Link(origin="fork", target="good", produces=1.0, consumes=1.0),
...         Link(origin="fork", target="fair", produces=1.0, consumes=1.0),
...     ),
...     outflows=(
...         Outflow(name="o1", origin="good", produces=1.0, weight=10.0),
...         Outflow(name="o2", origin="fair", produces=1.0, weight=4.0),
...     ),
... )
>>> solve(dear_way).value  # 13.33 without `fair`, which is worth less than `fork` with `good`
14.0

One question takes time linear in the modules; a module behind which several sources are limited
takes time for each of those. Ten or so prices are enough.

What a module is worth having, by how much of it: a concave curve of straight pieces.

At a price of resource, a module of a tree reports to its neighbour what it and all behind it gain
from each further unit of the neighbour's resource, up to where a source behind it is used up.

>>> rising = [(2.0, 3.0), (inf, 0.0)]
>>> falling = [(5.0, -1.0)]
>>> total([rising, falling], own=0.5, limit=4.0)
[(2.0, 2.5), (4.0, -0.5)]
>>> best(total([rising, falling], own=0.5, limit=4.0))
2.0

A network that is a tree, or several, seen from one module of each: its root.

Direction does not matter for being a tree: two chains that a module joins are one. Each other
module has one neighbour towards the root, and communicates through it.

>>> from penstock.policy.allocation.network import Link, Network
>>> join = Network(
...     budget=1.0,
...     modules=("a", "b", "c"),
...     links=(
...         Link(origin="a", target="c", produces=2.0, consumes=1.0),
...         Link(origin="b", target="c", produces=4.0, consumes=1.0),
...     ),
... )
>>> for node in tree_nodes(join):
...     print(node)
TreeNode(module='a', parent=None, link=None)
TreeNode(module='c', parent='a', link=Link(origin='a', target='c', produces=2.0, consumes=1.0))
TreeNode(module='b', parent='c', link=Link(origin='b', target='c', produces=4.0, consumes=1.0))
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import inf, isfinite, sqrt
from typing import Final

from penstock.core.errors import SettingError
from penstock.policy.allocation.allocation import Allocation, checked_allocation
from penstock.policy.allocation.messages import MessageBus
from penstock.policy.allocation.network import Link, Network, affordable

Curve = list[tuple[float, float]]
"""Where each piece ends, and its slope; slopes fall, and the last end is the most there can be."""


def total(curves: Sequence[Curve], *, own: float, limit: float) -> Curve:
    """The sum of curves and of a straight line of slope `own`, up to a limit.

    Slopes are summed piece by piece and never subtracted again: what is small beside what has
    ended keeps its digits.
    """
    if all(curve[0][0] >= limit for curve in curves):
        return [(limit, own + sum(curve[0][1] for curve in curves))]
    parts = [[(limit, own)], *curves]
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        odd = parts[-1:] if len(parts) % 2 else []
        parts = [_sum(one, other) for one, other in pairs] + odd
    return parts[0]


def _sum(one: Curve, other: Curve) -> Curve:
    made: Curve = []
    i = j = 0
    while i < len(one) and j < len(other):
        end, slope = min(one[i][0], other[j][0]), one[i][1] + other[j][1]
        made.append((end, slope))
        i += one[i][0] == end
        j += other[j][0] == end
    return made


def best(curve: Curve) -> float:
    """How much to take: as long as it gains."""
    most = 0.0
    for end, slope in curve:
        if slope <= 0:
            break
        most = end
    return most


def fed(curve: Curve, ratio: float) -> Curve:
    """The same for a neighbour that feeds the module `ratio` of its resource for each unit.

    The module takes less than it is fed where less is best.
    """
    gaining = [(end / ratio, slope * ratio) for end, slope in curve if slope > 0]
    if gaining and gaining[-1][0] == inf:
        return gaining
    return [*gaining, (inf, 0.0)]


def feeding(curve: Curve, ratio: float) -> Curve:
    """The same for a neighbour that needs `ratio` of the module's resource for each unit.

    The module does more than is needed where more is best, and that comes free to the neighbour.
    """
    return [(end / ratio, min(slope, 0.0) * ratio) for end, slope in curve]


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeNode:
    """A module and how it is tied to the tree."""

    module: str
    parent: str | None
    """The neighbour towards the root; None for the root itself."""
    link: Link | None
    """Between the two."""


def tree_nodes(network: Network) -> list[TreeNode]:
    """Every module, each after its neighbour towards the root; an error of what is no tree."""
    seen: dict[str, TreeNode] = {}
    for root in network.order():
        if root not in seen:
            _grow(network, root, seen)
    return list(seen.values())


def _grow(network: Network, root: str, seen: dict[str, TreeNode]) -> None:
    seen[root] = TreeNode(module=root, parent=None, link=None)
    reached = [root]
    for module in reached:
        for link in chain(network.outputs(module), network.inputs(module)):
            if link is seen[module].link:
                continue
            other = link.target if link.origin == module else link.origin
            if other in seen:
                raise _no_tree(seen, module, other)
            seen[other] = TreeNode(module=other, parent=module, link=link)
            reached.append(other)


def _no_tree(seen: Mapping[str, TreeNode], one: str, other: str) -> SettingError:
    first, second = _to_hub(seen, one), _to_hub(seen, other)
    while len(first) > 1 and len(second) > 1 and first[-2] == second[-2]:
        first.pop()
        second.pop()
    round_trip = [*reversed(first), *second[:-1]] if len(second) > 1 else [*reversed(first)]
    shown = ", ".join(round_trip if len(round_trip) <= 8 else [*round_trip[:7], "..."])
    return SettingError(
        f"shrink plans trees only, and the streams between {shown} form a ring; "
        "plan with lp, cutting-plane or heuristic-a"
    )


def _to_hub(seen: Mapping[str, TreeNode], module: str) -> list[str]:
    path = [module]
    while (parent := seen[path[-1]].parent) is not None:
        path.append(parent)
    return path


NEAR: Final = 1e-12
"""Prices that differ by less than this share are the same.

What is worth its price to the last digit can be so large that rounding it hides all others. So
the search ends between two prices at which such a part is certainly in and certainly out, and not
at the price that is right for it.
"""


def solve(network: Network) -> Allocation:
    """The optimum of a tree or several; an error of other networks."""
    agents_ = _Agents.of(network)
    planned = _within(agents_.at, network.budget)
    resource = dict(zip(agents_.names, planned, strict=True))
    # Rounding may have taken a little more than there is.
    times = min(1.0, affordable(network, resource))
    promised = times * sum(a.worth * x for a, x in zip(agents_.agents, planned, strict=True))
    return checked_allocation(
        network,
        {module: times * resource[module] for module in network.modules},
        policy="shrink",
        promised=promised,
        bus=MessageBus(network, messages=agents_.messages, passes=agents_.passes),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Agent:
    """What a module knows of itself and of the neighbour towards the root."""

    worth: float
    """What a unit of its resource brings at its own sinks."""
    limit: float
    """Resource that its own sources can keep busy."""
    parent: int | None
    ratio: float
    """Of its resource to its neighbour's, where neither waits for the other."""
    feeds: bool
    """Whether it feeds that neighbour, and is not fed by it."""
    most: float
    """What it takes if its gain is unlimited."""

    def report_slope(self, slope: float) -> float:
        """What its neighbour gains a unit, where no source limits anything behind."""
        return self.ratio * (min(slope, 0.0) if self.feeds else max(slope, 0.0))

    def report(self, curve: Curve) -> Curve:
        return feeding(curve, self.ratio) if self.feeds else fed(curve, self.ratio)

    def take(self, wanted: float, near: float) -> float:
        return max(wanted, self.ratio * near) if self.feeds else min(wanted, self.ratio * near)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What all would take at a price of resource, if they only had to pay for it."""

    resource: list[float]
    total: float
    value: float


@dataclass(slots=True, kw_only=True)
class _Agents:
    """The agents of all modules, each after its neighbour towards the root."""

    names: list[str]
    agents: list[_Agent]
    messages: int = 0
    passes: int = 0

    @classmethod
    def of(cls, network: Network) -> "_Agents":
        nodes = tree_nodes(network)
        index = {node.module: i for i, node in enumerate(nodes)}
        return cls(names=list(index), agents=[_agent(network, node, index) for node in nodes])

    def at(self, price: float) -> _Plan:
        """Ask all at a price: one pass to the roots, and one back."""
        resource = self._take(self._ask(price))
        brought = (agent.worth * x for agent, x in zip(self.agents, resource, strict=True))
        return _Plan(resource=resource, total=sum(resource), value=sum(brought))

    def _ask(self, price: float) -> list[float]:
        """What each would take by itself, from the leaves to the roots."""
        wanted = [0.0] * len(self.agents)
        slopes = [agent.worth - price for agent in self.agents]
        curves: defaultdict[int, list[Curve]] = defaultdict(list)
        for i in range(len(self.agents) - 1, -1, -1):
            agent = self.agents[i]
            if i not in curves and agent.limit == inf:
                wanted[i] = agent.most if slopes[i] > 0 else 0.0
                if agent.parent is not None:
                    slopes[agent.parent] += agent.report_slope(slopes[i])
            else:
                curve = total(curves.pop(i, []), own=slopes[i], limit=agent.limit)
                wanted[i] = min(best(curve), agent.most)
                if agent.parent is not None:
                    curves[agent.parent].append(agent.report(curve))
        self._swept()
        return wanted

    def _take(self, wanted: list[float]) -> list[float]:
        taken = wanted[:]
        for i, agent in enumerate(self.agents):
            if agent.parent is not None:
                taken[i] = agent.take(wanted[i], taken[agent.parent])
        self._swept()
        return taken

    def _swept(self) -> None:
        # One message of each module to or from its neighbour; a root's with the budget's owner.
        self.messages += len(self.agents)
        self.passes += 1


def _agent(network: Network, node: TreeNode, index: dict[str, int]) -> _Agent:
    module, link = node.module, node.link
    feeds = link is not None and link.origin == module
    ratio = 1.0 if link is None else link.produces / link.consumes
    return _Agent(
        worth=sum(out.weight * out.produces for out in network.outflows_of(module)),
        limit=min([inf, *(inflow.rate / inflow.consumes for inflow in network.inflows_of(module))]),
        parent=None if node.parent is None else index[node.parent],
        ratio=1.0 / ratio if feeds else ratio,
        feeds=feeds,
        # The budget stands for endlessly much: a plan that is within it takes no more of anything.
        most=network.budget if feeds or link is None else inf,
    )


def _within(at: Callable[[float], _Plan], budget: float) -> list[float]:
    """Resource at the price where the plan fits the budget.

    There the plans on either side are equally good, and a mixture of them takes what there is.
    """
    over = _finite(at(0.0))
    if over.total <= budget:
        return over.resource
    under = _Plan(resource=[0.0] * len(over.resource), total=0.0, value=0.0)
    low, high, step = 0.0, inf, NEAR
    while low * (1.0 + 3.0 * NEAR) < high and over.value > under.value:
        even = (over.value - under.value) / (over.total - under.total)
        price = _probe(even, low, high, step)
        step = NEAR if price == even else 10.0 * step
        plan = at(price)
        if plan.total > budget:
            over, low = plan, price
        else:
            under, high = plan, price
    share = (budget - under.total) / (over.total - under.total)
    pairs = zip(under.resource, over.resource, strict=True)
    return [(1.0 - share) * less + share * more for less, more in pairs]


def _probe(even: float, low: float, high: float, step: float) -> float:
    """The price to ask at next: the even one, unless rounding holds it at an end that is known.

    Then that end is left by ever larger steps, up to half the way to the other.
    """
    if even <= low * (1.0 + NEAR):
        return min(low * (1.0 + step), sqrt(low) * sqrt(high))
    if even >= high * (1.0 - NEAR):
        return max(high / (1.0 + step), sqrt(low) * sqrt(high))
    return even


def _finite(plan: _Plan) -> _Plan:
    if isfinite(plan.total) and isfinite(plan.value):
        return plan
    raise SettingError(
        "the streams multiply flow beyond what numbers hold; use larger units of flow where "
        "`produces` is far above `consumes`, or plan with lp"
    )
