"""Parts of a network made super nodes, so that less is left to divide (alloc, Section 6).

>>> from penstock.policy.allocation.network import Link, Network, Outflow
>>> chain = Network(
...     budget=3.0,
...     modules=("a", "b"),
...     links=(Link(origin="a", target="b", produces=1.0, consumes=2.0),),
...     outflows=(Outflow(name="o", origin="b", produces=6.0),),
... )
>>> made = aggregate(chain, procedure="series-parallel")
>>> made.network.modules, dict(made.super_nodes)
(('b',), {'b': ('a', 'b')})
>>> made.expand({"b": 3.0})
{'a': 2.0, 'b': 1.0}

**Procedure 1** (alloc, Theorems 6 and 7) merges modules whose flow all goes to one with that one.
The paper aggregates series-parallel subgraphs between a head and a tail. All that its proof needs
is that nothing leaves but at the tail, so that the tail's work fixes the least of all others'
(Lemma 4). So a module joins the one that it feeds if it feeds no other and no sink, however the
modules between are linked, and wherever else they get input from; sources come along, limited or
not. No nested subgraph is left after that. A super node bears the name of its tail.

>>> from penstock.policy.allocation.network import Link, Network, Outflow
>>> diamond = Network(
...     budget=8.0,
...     modules=("head", "left", "right", "tail"),
...     links=(
...         Link(origin="head", target="left", produces=1.0, consumes=1.0),
...         Link(origin="head", target="right", produces=1.0, consumes=4.0),
...         Link(origin="left", target="tail", produces=1.0, consumes=2.0),
...         Link(origin="right", target="tail", produces=1.0, consumes=1.0),
...     ),
...     outflows=(Outflow(name="o", origin="tail", produces=16.0),),
... )
>>> reduced = series_parallel(diamond)
>>> reduced.network.modules, reduced.network.outflows[0].produces
(('tail',), 2.0)
>>> reduced.expand({"tail": 8.0})
{'head': 4.0, 'left': 2.0, 'right': 1.0, 'tail': 1.0}

What lies behind a single link, made a few super nodes (alloc, Procedure 2, Theorems 8 and 9).

If all that one module feeds, directly or not, hangs on one link, then the rest of the network needs
to know only what comes of the flow on that link. The paper makes it one super node: the best of it
with resource in plenty. That is not equivalent where resource is short, against Theorem 9: the rest
may then be better off without the less worthwhile part behind the link. What is behind is
equivalent to several super nodes, each less worthwhile than the one before: the first takes the
flow of the link, and the others work on what it lets through.

Behind the link all must be fed through it. Modules there may have sources of their own as long as
these are unlimited; the paper does not say so. A part whose super nodes would differ by too many
orders of magnitude for floating-point numbers is left as it is.

>>> from penstock.policy.allocation.network import Link, Network, Outflow
>>> network = Network(
...     budget=6.0,
...     modules=("a", "b", "good", "fair"),
...     links=(
...         Link(origin="a", target="b", produces=1.0, consumes=1.0),
...         Link(origin="b", target="good", produces=1.0, consumes=1.0),
...         Link(origin="b", target="fair", produces=1.0, consumes=1.0),
...     ),
...     outflows=(
...         Outflow(name="x", origin="good", produces=1.0, weight=10.0),
...         Outflow(name="y", origin="fair", produces=1.0, weight=3.0),
...     ),
... )
>>> reduced = single_link(network)
>>> reduced.network.modules
('a', 'b', 'b+1')
>>> [(out.origin, round(out.produces, 9)) for out in reduced.network.outflows]
[('b', 5.0), ('b+1', 3.0)]
>>> reduced.expand({"a": 1.5, "b": 3.0, "b+1": 1.5})
{'a': 1.5, 'b': 1.5, 'good': 1.5, 'fair': 1.5}

What a part of a network makes of a unit of flow, by how much resource it gets.

The more it gets the more it brings, and ever less for each further unit: a concave curve of
straight pieces, given by its corners. Each corner is the best answer to a price of resource.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count, islice, pairwise
from math import inf
from typing import Any, Final, Literal

import numpy as np

from penstock.core.errors import PenstockError, SettingError
from penstock.core.extras import require
from penstock.policy.allocation import lp
from penstock.policy.allocation import network as flow
from penstock.policy.allocation.network import Inflow, Link, Network, Outflow
from penstock.policy.allocation.reduction import Reduction, Resource, unreduced


def series_parallel(network: Network) -> Reduction:
    """Every module that feeds one only, inside that one."""
    groups = _Groups.of(network)
    return Reduction(
        network=Network(
            budget=network.budget,
            modules=tuple(module for module in network.modules if groups.tail[module] == module),
            inflows=tuple(groups.inflow(inflow) for inflow in network.inflows),
            links=groups.links(network),
            outflows=tuple(groups.outflow(outflow) for outflow in network.outflows),
        ),
        super_nodes=groups.members(),
        expand=groups.expand,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Groups:
    """Which module joins which, and the share of each in the resource of its group."""

    tail: Mapping[str, str]
    share: Mapping[str, float]

    @classmethod
    def of(cls, network: Network) -> "_Groups":
        tail: dict[str, str] = {}
        need: dict[str, float] = {}
        whole: dict[str, float] = {}
        for module in reversed(network.order()):
            tail[module] = _tail(network, module, tail)
            need[module] = _need(network, module, need) if tail[module] != module else 1.0
            whole[tail[module]] = whole.get(tail[module], 0.0) + need[module]
        share = {module: need[module] / whole[tail[module]] for module in network.modules}
        return cls(tail=tail, share=share)

    def members(self) -> dict[str, tuple[str, ...]]:
        groups: dict[str, list[str]] = {}
        for module in self.share:
            groups.setdefault(self.tail[module], []).append(module)
        return {name: tuple(who) for name, who in groups.items() if len(who) > 1}

    def expand(self, resource: Resource) -> dict[str, float]:
        return {module: share * resource[self.tail[module]] for module, share in self.share.items()}

    def inflow(self, inflow: Inflow) -> Inflow:
        share = self.share[inflow.target]
        return replace(inflow, target=self.tail[inflow.target], consumes=inflow.consumes * share)

    def outflow(self, outflow: Outflow) -> Outflow:
        return replace(outflow, produces=outflow.produces * self.share[outflow.origin])

    def links(self, network: Network) -> tuple[Link, ...]:
        """One between two groups: that of which the most is taken, the others follow."""
        kept: dict[tuple[str, str], Link] = {}
        for link in network.links:
            ends = link.origin, self.tail[link.target]
            if self.tail[link.origin] == ends[1]:
                continue
            made = Link(
                origin=ends[0],
                target=ends[1],
                produces=link.produces * self.share[link.origin],
                consumes=link.consumes * self.share[link.target],
            )
            kept[ends] = max(
                kept.get(ends, made), made, key=lambda one: one.consumes / one.produces
            )
        return tuple(kept.values())


def _tail(network: Network, module: str, tail: Mapping[str, str]) -> str:
    served = {tail[link.target] for link in network.outputs(module)}
    return served.pop() if len(served) == 1 and not network.outflows_of(module) else module


def _need(network: Network, module: str, need: Mapping[str, float]) -> float:
    return max(
        link.consumes * need[link.target] / link.produces for link in network.outputs(module)
    )


BULGE: Final = 1e-9
"""Share of the value by which a corner must stand out from between two others."""
GAP: Final = 1e-8
"""Share of the best use of resource by which the first corner may fall short of it."""
STEP: Final = 1e3
"""Times the value of a corner that the next may have, for none between to be overlooked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Yield:
    """A corner: who gets what, how much that is together, and what it is worth."""

    resource: Mapping[str, float]
    total: float
    value: float


def yields(network: Network) -> list[Yield]:
    """The corners from no resource to plenty, whatever the budget; sources must bound the rest.

    >>> from penstock.policy.allocation.network import Inflow, Link, Network, Outflow
    >>> fork = Network(
    ...     budget=1.0,
    ...     modules=("b", "good", "fair"),
    ...     inflows=(Inflow(name="s", target="b", consumes=1.0, rate=1.0),),
    ...     links=(
    ...         Link(origin="b", target="good", produces=1.0, consumes=1.0),
    ...         Link(origin="b", target="fair", produces=1.0, consumes=1.0),
    ...     ),
    ...     outflows=(
    ...         Outflow(name="x", origin="good", produces=1.0, weight=10.0),
    ...         Outflow(name="y", origin="fair", produces=1.0, weight=3.0),
    ...     ),
    ... )
    >>> [(corner.total, corner.value) for corner in yields(fork)]
    [(0.0, 0.0), (2.0, 10.0), (3.0, 13.0)]
    """
    most = flow.active(network, dict.fromkeys(network.modules, inf))
    corners = [_corner(network, {}), _corner(network, flow.outputs(network, most))]
    if corners[1].value <= 0:
        return corners[:1]
    i = 0
    while i + 1 < len(corners):
        between = _between(network, *corners[i : i + 2])
        if between is None:
            i += 1
        else:
            corners.insert(i + 1, between)
    # Beside all that came before, the last corner may bring too little for numbers to show.
    return corners if corners[-1].value > corners[-2].value else corners[:-1]


def trusted(network: Network, corners: Sequence[Yield]) -> bool:
    """Whether a solver cannot have overlooked a corner, small as it is beside the next.

    The first is the best use of resource where flow is no limit, which is found in another way.
    """
    if len(corners) < 2:
        return True
    endless = replace(network, inflows=tuple(replace(one, rate=inf) for one in network.inflows))
    best = lp.solve(endless).value / network.budget
    first = corners[1].value / corners[1].total
    steps = pairwise(corners[1:])
    return first >= best * (1.0 - GAP) and all(b.value <= STEP * a.value for a, b in steps)


def _between(network: Network, less: Yield, more: Yield) -> Yield | None:
    price = (more.value - less.value) / (more.total - less.total)
    corner = _best(network, more.resource, price)
    bulge = (corner.value - less.value) - price * (corner.total - less.total)
    stands_out = less.total < corner.total < more.total and bulge > BULGE * corner.value
    return corner if stands_out else None


def _corner(network: Network, outputs: Mapping[str, float]) -> Yield:
    resource = flow.needs(network, outputs)
    return Yield(
        resource=resource,
        total=sum(resource.values()),
        value=sum(out.weight * outputs.get(out.name, 0.0) for out in network.outflows),
    )


def _best(network: Network, most: Mapping[str, float], price: float) -> Yield:
    """The best at a price, given what was best at a lower one: as prices rise none takes more.

    A linear program in shares of that, as a solver's tolerances are absolute.
    """
    require("twin", "an allocation by linear program", "scipy")
    from scipy.optimize import linprog

    at = {module: i for i, module in enumerate(m for m in network.modules if most[m] > 0)}
    gains = np.array([-price * most[module] for module in at])
    for out in network.outflows:
        if out.origin in at:
            gains[at[out.origin]] += out.weight * out.produces * most[out.origin]
    links = [link for link in network.links if link.target in at]
    solution = linprog(
        -gains / (np.abs(gains).max() or 1.0),
        A_ub=_rows(links, most, at) if links else None,
        b_ub=np.zeros(len(links)) if links else None,
        bounds=(0.0, 1.0),
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if not solution.success:
        raise PenstockError(
            f"HiGHS found no best yield at a price of {price:g}: {solution.message}"
        )
    shares = zip(at, solution.x.tolist(), strict=True)
    taken = dict.fromkeys(network.modules, 0.0) | {m: most[m] * share for m, share in shares}
    return _corner(network, flow.outputs(network, taken))


def _rows(links: Sequence[Link], most: Mapping[str, float], at: Mapping[str, int]) -> Any:
    """Takes less makes, as a share of the most that the origin of each link can make."""
    from scipy.sparse import coo_array

    numbers = [*range(len(links))] * 2
    ends = [*(at[link.target] for link in links), *(at[link.origin] for link in links)]
    makes = [link.produces * most[link.origin] for link in links]
    takes = [link.consumes * most[link.target] for link in links]
    shares = np.divide(takes, makes)
    entries = np.concatenate([shares, np.full(len(links), -1.0)])
    return coo_array((entries, (numbers, ends)), shape=(len(links), len(at))).tocsr()


def single_link(network: Network) -> Reduction:
    """All that hangs on single links, as super nodes; the largest such parts are taken."""
    made = unreduced(network)
    for link, inside in list(_parts(network)):
        made = made.then(_replaced(made.network, link, inside))
    return made


def _parts(network: Network) -> Iterator[tuple[Link, tuple[str, ...]]]:
    """Links on which two modules and more hang, with these, none inside another."""
    taken: set[str] = set()
    for module in network.order():
        inputs = network.inputs(module)
        if len(inputs) != 1 or module in taken:
            continue
        inside = _behind(network, module)
        if len(inside) > 1:
            taken |= set(inside)
            yield inputs[0], inside


def _behind(network: Network, head: str) -> tuple[str, ...]:
    """The head and all that it feeds, or none if any of them depends on something else too."""
    members = dict.fromkeys([head])
    reached = [head]
    for module in reached:
        if any(inflow.rate < inf for inflow in network.inflows_of(module)):
            return ()
        for link in network.outputs(module):
            if link.target not in members:
                members[link.target] = None
                reached.append(link.target)
    fed = (link.origin for module in reached[1:] for link in network.inputs(module))
    return tuple(members) if all(origin in members for origin in fed) else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stand:
    """Super nodes for what is behind a link."""

    names: tuple[str, ...]
    points: Sequence[Yield]
    """What comes of a unit of flow: with nothing, and with each further super node."""

    @property
    def widths(self) -> list[float]:
        """Resource of each for a unit of flow on the link."""
        return [more.total - less.total for less, more in pairwise(self.points)]

    def expand(self, resource: Resource) -> dict[str, float]:
        """Resource inside: the more worthwhile first, whichever super node it was given to."""
        inside = dict.fromkeys(self.points[0].resource, 0.0)
        flow = resource[self.names[0]] / self.widths[0] if self.names else 0.0
        left = sum(resource[name] for name in self.names)
        parts = [flow]
        for width in self.widths:
            parts.append(min(left / width, flow))
            left = max(left - flow * width, 0.0)
        for point, most, least in zip(self.points, parts, [*parts[1:], 0.0], strict=True):
            for module, used in point.resource.items():
                inside[module] += (most - least) * used
        return inside

    def links(self, link: Link) -> Iterator[Link]:
        """The link to the first, and those from it to the others."""
        through = [1.0 / width for width in self.widths]
        ends = list(zip(self.names, through, strict=True))
        for name, consumes in ends[:1]:
            yield Link(origin=link.origin, target=name, produces=link.produces, consumes=consumes)
        for name, consumes in ends[1:]:
            yield Link(origin=self.names[0], target=name, produces=through[0], consumes=consumes)

    def outflows(self, names: Iterator[str]) -> Iterator[Outflow]:
        """A sink for each, where what it brings leaves."""
        for name, (less, more) in zip(self.names, pairwise(self.points), strict=True):
            gain = (more.value - less.value) / (more.total - less.total)
            yield Outflow(name=next(names), origin=name, produces=gain)


def _replaced(network: Network, link: Link, inside: tuple[str, ...]) -> Reduction:
    head, gone = link.target, set(inside)
    part = _part(network, link, gone)
    points = yields(part)
    if not trusted(part, points):
        return unreduced(network)
    names = chain([head], _unused(head, set(network.modules)))
    stand = _Stand(names=tuple(islice(names, len(points) - 1)), points=points)
    kept = tuple(module for module in network.modules if module not in gone)
    sinks = _unused(head, {outflow.name for outflow in network.outflows})
    reduced = Network(
        budget=network.budget,
        modules=(*kept, *stand.names),
        inflows=tuple(one for one in network.inflows if one.target not in gone),
        links=(*(one for one in network.links if one.target not in gone), *stand.links(link)),
        outflows=(
            *(one for one in network.outflows if one.origin not in gone),
            *stand.outflows(sinks),
        ),
    )
    return Reduction(
        network=reduced,
        super_nodes=dict.fromkeys(stand.names, inside),
        expand=lambda resource: (
            {module: resource[module] for module in kept} | stand.expand(resource)
        ),
    )


def _part(network: Network, link: Link, inside: set[str]) -> Network:
    """What is behind the link, with a unit of flow on it."""
    unit = Inflow(name=link.origin, target=link.target, consumes=link.consumes, rate=1.0)
    return Network(
        budget=network.budget,
        modules=tuple(module for module in network.modules if module in inside),
        inflows=(unit,),
        links=tuple(one for one in network.links if one.origin in inside),
        outflows=tuple(one for one in network.outflows if one.origin in inside),
    )


def _unused(name: str, used: Collection[str]) -> Iterator[str]:
    return (made for i in count(1) if (made := f"{name}+{i}") not in used)


Procedure = Literal["series-parallel", "single-link", "both"]
STEPS: Final = {
    "series-parallel": (series_parallel,),
    "single-link": (single_link,),
    "both": (series_parallel, single_link),
}


def aggregate(network: Network, *, procedure: Procedure = "both") -> Reduction:
    """The smallest network that a procedure leaves, with the same optimum, and the way back."""
    if procedure not in STEPS:
        raise SettingError(f"procedure must be one of {', '.join(STEPS)}, got {procedure!r}")
    made, left = unreduced(network), len(network.modules) + 1
    while len(made.network.modules) < left:
        left = len(made.network.modules)
        for step in STEPS[procedure]:
            made = made.then(step(made.network))
    return made
