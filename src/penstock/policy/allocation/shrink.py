"""The best division on trees, by agents that report what is behind them (alloc, Algorithm 2).

Modules report to one module of each tree, its root, and resource flows back. The published
algorithm shrinks a fork to the leaves that are best *for the fork* and forgets the others. That can
miss the optimum, against Theorem 5: where the way to the fork is dear, a lesser leaf below it is
worth having, since the way is paid for. So here the agents do the same under a price of resource
that is common to all, and are asked again at another price until it fits the budget; a leaf counts
if it brings more than its resource costs. That is exact, also with limited sources, in every tree
in the undirected sense (where modules join several streams), and in several trees that share a
budget.

>>> from penstock.policy.allocation.network import Outflow
>>> dear_way = Network(
...     budget=4.0,
...     modules=("root", "fork", "good", "fair"),
...     links=(
...         Link("root", "fork", produces=1.0, consumes=1.0),
...         Link("fork", "good", produces=1.0, consumes=1.0),
...         Link("fork", "fair", produces=1.0, consumes=1.0),
...     ),
...     outflows=(
...         Outflow("o1", "good", produces=1.0, weight=10.0),
...         Outflow("o2", "fair", produces=1.0, weight=4.0),
...     ),
... )
>>> solve(dear_way).value  # 13.33 without `fair`, which is worth less than `fork` with `good`
14.0

One question takes time linear in the modules; a module behind which several sources are limited
takes time for each of those. Ten or so prices are enough.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, sqrt
from typing import Final, NamedTuple

from penstock.core.errors import SettingError
from penstock.policy.allocation.allocation import Allocation, checked_allocation
from penstock.policy.allocation.messages import MessageBus
from penstock.policy.allocation.network import Link, Network, feasible_factor

NEAR: Final = 1e-12
"""Prices that differ by less than this share are the same.

What is worth its price to the last digit can be so large that rounding it hides all others. So
the search ends between two prices at which such a part is certainly in and certainly out, and not
at the price that is right for it.
"""

Curve = list[tuple[float, float]]
"""What a module gains, by how much resource it gets: a concave curve of straight pieces. Where each
piece ends, and its slope; slopes fall, and the last end is the most there can be."""


def solve(network: Network) -> Allocation:
    """The optimum of a tree or several; an error of other networks."""
    agents = _Agents(network)
    planned = _within(agents.plan, network.budget)
    # Rounding may have taken a little more than there is.
    factor = min(1.0, feasible_factor(network, planned))
    return checked_allocation(
        network,
        {module: factor * planned[module] for module in network.modules},
        policy="shrink",
        promised=factor * agents.value(planned),
        bus=agents.bus,
    )


def total(curves: Sequence[Curve], *, own: float, limit: float) -> Curve:
    """The sum of curves and of a straight line of slope `own`, up to a limit.

    Slopes are summed piece by piece and never subtracted again, so that small ones keep their
    digits beside large ones that have ended.

    >>> total([[(2.0, 3.0), (inf, 0.0)], [(5.0, -1.0)]], own=0.5, limit=4.0)
    [(2.0, 2.5), (4.0, -0.5)]
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
    pieces: Curve = []
    i = j = 0
    while i < len(one) and j < len(other):
        end, slope = min(one[i][0], other[j][0]), one[i][1] + other[j][1]
        pieces.append((end, slope))
        i += one[i][0] == end
        j += other[j][0] == end
    return pieces


class TreeNode(NamedTuple):
    """A module and how it is tied to the tree."""

    module: str
    parent: str | None
    """The neighbour towards the root; None for the root itself."""
    link: Link | None
    """Between the two."""


def tree_nodes(network: Network) -> dict[str, TreeNode]:
    """Every module, each after its neighbour towards the root; an error of what is no tree.

    Direction does not matter for being a tree: two chains that a module joins are one.

    >>> ends = ("a", "c"), ("b", "c")
    >>> links = tuple(Link(*pair, produces=2.0, consumes=1.0) for pair in ends)
    >>> join = Network(budget=1.0, modules=("a", "b", "c"), links=links)
    >>> [(node.module, node.parent) for node in tree_nodes(join).values()]
    [('a', None), ('c', 'a'), ('b', 'c')]
    """
    nodes: dict[str, TreeNode] = {}
    for root in network.order:
        if root in nodes:
            continue
        nodes[root] = TreeNode(root, None, None)
        reached = [root]
        for module in reached:
            for link in (*network.outputs[module], *network.inputs[module]):
                if link is nodes[module].link:
                    continue
                other = link.target if link.origin == module else link.origin
                if other in nodes:
                    raise _no_tree(nodes, module, other)
                nodes[other] = TreeNode(other, module, link)
                reached.append(other)
    return nodes


def _no_tree(nodes: Mapping[str, TreeNode], one: str, other: str) -> SettingError:
    first, second = _way_to_root(nodes, one), _way_to_root(nodes, other)
    while len(first) > 1 and len(second) > 1 and first[-2] == second[-2]:
        first.pop()
        second.pop()
    ring = [*reversed(first), *(second[:-1] if len(second) > 1 else ())]
    shown = ", ".join(ring if len(ring) <= 8 else [*ring[:7], "..."])
    return SettingError(
        f"shrink plans trees only, and the streams between {shown} form a ring; "
        "plan with lp, cutting-plane or heuristic-a"
    )


def _way_to_root(nodes: Mapping[str, TreeNode], module: str) -> list[str]:
    path = [module]
    while (parent := nodes[path[-1]].parent) is not None:
        path.append(parent)
    return path


class _Agent:
    """What a module knows of itself and of the neighbour towards the root."""

    def __init__(self, network: Network, node: TreeNode) -> None:
        module, self.parent, link = node
        self.worth = sum(out.weight * out.produces for out in network.outflows_of[module])
        """What a unit of its resource brings at its own sinks."""
        self.limit = network.source_limits[module]
        """Resource that its own sources can keep busy."""
        self.feeds = link is not None and link.origin == module
        """Whether it feeds that neighbour, and is not fed by it."""
        ratio = 1.0 if link is None else link.produces / link.consumes
        self.ratio = 1.0 / ratio if self.feeds else ratio
        """Of its resource to its neighbour's, where neither waits for the other."""
        # The budget stands for endlessly much: a plan that is within it takes no more of anything.
        self.most = network.budget if self.feeds or link is None else inf
        """What it takes if its gain is unlimited."""

    def report_slope(self, slope: float) -> float:
        """What its neighbour gains a unit, where no source limits anything behind."""
        return self.ratio * (min(slope, 0.0) if self.feeds else max(slope, 0.0))

    def report(self, curve: Curve) -> Curve:
        """What its neighbour gains.

        A module that feeds does more than is needed where more is best, and that comes free to the
        neighbour; one that is fed takes less than it could where less is best.
        """
        if self.feeds:
            return [(end / self.ratio, min(slope, 0.0) * self.ratio) for end, slope in curve]
        gains = [(end / self.ratio, slope * self.ratio) for end, slope in curve if slope > 0]
        return gains if gains and gains[-1][0] == inf else [*gains, (inf, 0.0)]

    def take(self, wanted: float, near: float) -> float:
        """Its resource beside so much of its neighbour's."""
        return max(wanted, self.ratio * near) if self.feeds else min(wanted, self.ratio * near)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What all would take at a price of resource, if they only had to pay for it."""

    resource: Mapping[str, float]
    total: float
    value: float


class _Agents:
    """The agents of all modules, each after its neighbour towards the root."""

    def __init__(self, network: Network) -> None:
        self.agents = {name: _Agent(network, node) for name, node in tree_nodes(network).items()}
        self.bus = MessageBus(network)
        """Counts one message of each module to or from its neighbour in a pass, and of a root to
        or from the owner of the budget."""

    def value(self, resource: Mapping[str, float]) -> float:
        """What so much resource brings."""
        return sum(agent.worth * resource[name] for name, agent in self.agents.items())

    def plan(self, price: float) -> _Plan:
        """Ask all at a price: one pass to the roots, and one back."""
        resource = self._wanted(price)
        for name, agent in self.agents.items():
            if agent.parent is not None:
                resource[name] = agent.take(resource[name], resource[agent.parent])
        self.bus.passes += 2
        self.bus.messages += 2 * len(self.agents)
        return _Plan(resource=resource, total=sum(resource.values()), value=self.value(resource))

    def _wanted(self, price: float) -> dict[str, float]:
        """What each would take by itself, from the leaves to the roots."""
        wanted = dict.fromkeys(self.agents, 0.0)
        slopes = {name: agent.worth - price for name, agent in self.agents.items()}
        curves: defaultdict[str, list[Curve]] = defaultdict(list)
        for name, agent in reversed(self.agents.items()):
            if name not in curves and agent.limit == inf:
                wanted[name] = agent.most if slopes[name] > 0 else 0.0
                if agent.parent is not None:
                    slopes[agent.parent] += agent.report_slope(slopes[name])
            else:
                curve = total(curves.pop(name, []), own=slopes[name], limit=agent.limit)
                best = max((end for end, slope in curve if slope > 0), default=0.0)
                wanted[name] = min(best, agent.most)
                if agent.parent is not None:
                    curves[agent.parent].append(agent.report(curve))
        return wanted


def _within(plan_at: Callable[[float], _Plan], budget: float) -> Mapping[str, float]:
    """Resource at the price where the plan fits the budget.

    There the plans on either side are equally good, and a mixture of them takes what there is.
    """
    over = plan_at(0.0)
    if not (isfinite(over.total) and isfinite(over.value)):
        raise SettingError(
            "the streams multiply flow beyond what numbers hold; use larger units of flow where "
            "`produces` is far above `consumes`, or plan with lp"
        )
    if over.total <= budget:
        return over.resource
    under = _Plan(resource=dict.fromkeys(over.resource, 0.0), total=0.0, value=0.0)
    low, high, step = 0.0, inf, NEAR
    while low * (1.0 + 3.0 * NEAR) < high and over.value > under.value:
        even = (over.value - under.value) / (over.total - under.total)
        price = _next_price(even, low, high, step)
        step = NEAR if price == even else 10.0 * step
        plan = plan_at(price)
        if plan.total > budget:
            over, low = plan, price
        else:
            under, high = plan, price
    share = (budget - under.total) / (over.total - under.total)
    return {
        name: (1.0 - share) * less + share * over.resource[name]
        for name, less in under.resource.items()
    }


def _next_price(even: float, low: float, high: float, step: float) -> float:
    """The even price, unless rounding holds it at an end that is known.

    Then that end is left by ever larger steps, up to half the way to the other.
    """
    if even <= low * (1.0 + NEAR):
        return min(low * (1.0 + step), sqrt(low) * sqrt(high))
    if even >= high * (1.0 - NEAR):
        return max(high / (1.0 + step), sqrt(low) * sqrt(high))
    return even
