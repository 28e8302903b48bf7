"""Parts of a network made super nodes, so that less is left to divide (alloc, Section 6).

**Procedure 1** (`series_parallel`; Theorems 6 and 7) merges modules whose flow all goes to one
module with that one. The paper aggregates series-parallel subgraphs between a head and a tail. All
that its proof needs is that flow leaves at the tail only, so that the tail's work fixes the least
of all others' (Lemma 4). So a module joins the one that it feeds if it feeds no other and no sink,
however the modules between are linked, and wherever else they get input from; sources come along,
limited or not. No nested subgraph is left after that. A super node has the name of its tail.

>>> diamond = Network(
...     budget=8.0,
...     modules=("head", "left", "right", "tail"),
...     links=(
...         Link("head", "left", produces=1.0, consumes=1.0),
...         Link("head", "right", produces=1.0, consumes=4.0),
...         Link("left", "tail", produces=1.0, consumes=2.0),
...         Link("right", "tail", produces=1.0, consumes=1.0),
...     ),
...     outflows=(Outflow("o", "tail", produces=16.0),),
... )
>>> reduced = aggregate(diamond, procedure="series-parallel")
>>> reduced.network.modules, reduced.network.outflows[0].produces, len(reduced.super_nodes["tail"])
(('tail',), 2.0, 4)
>>> reduced.expand({"tail": 8.0})
{'head': 4.0, 'left': 2.0, 'right': 1.0, 'tail': 1.0}

**Procedure 2** (`single_link`; Theorems 8 and 9) replaces what depends on a single link by a few
super nodes. If all that one module feeds, directly or not, depends on one link, then the rest of
the network needs to know only what comes of the flow on that link. The paper makes it one super
node: the best of it with resource in plenty. That is not equivalent where resource is short,
against Theorem 9: the rest may then be better off without the less worthwhile part behind the link.
What is behind is equivalent to several super nodes, each less worthwhile than the one before: the
first takes the flow of the link, and the others work on what it lets through.

Behind the link all must be fed through it. Modules there may have sources of their own as long as
these are unlimited; the paper does not say so. A part whose super nodes would differ by too many
orders of magnitude for floating-point numbers is left as it is.

>>> fork = Network(
...     budget=6.0,
...     modules=("a", "b", "good", "fair"),
...     links=(
...         Link("a", "b", produces=1.0, consumes=1.0),
...         Link("b", "good", produces=1.0, consumes=1.0),
...         Link("b", "fair", produces=1.0, consumes=1.0),
...     ),
...     outflows=(
...         Outflow("x", "good", produces=1.0, weight=10.0),
...         Outflow("y", "fair", produces=1.0, weight=3.0),
...     ),
... )
>>> reduced = single_link(fork)
>>> reduced.network.modules
('a', 'b', 'b+1')
>>> [(out.origin, round(out.produces, 9)) for out in reduced.network.outflows]
[('b', 5.0), ('b+1', 3.0)]
>>> reduced.expand({"a": 1.5, "b": 3.0, "b+1": 1.5})
{'a': 1.5, 'b': 1.5, 'good': 1.5, 'fair': 1.5}
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count, islice, pairwise
from math import inf
from typing import Final, Literal

from penstock.core.errors import SettingError
from penstock.policy.allocation import lp
from penstock.policy.allocation import network as flow
from penstock.policy.allocation.network import Inflow, Link, Network, Outflow
from penstock.policy.allocation.reduction import Reduction, unreduced


def series_parallel(network: Network) -> Reduction:
    """Every module that feeds one only, inside that one."""
    tail, share = _groups(network)
    links: dict[tuple[str, str], Link] = {}
    for link in network.links:
        ends = link.origin, tail[link.target]
        if tail[link.origin] == ends[1]:
            continue
        produces, consumes = link.produces * share[link.origin], link.consumes * share[link.target]
        outer = Link(*ends, produces=produces, consumes=consumes)
        # Of several between two groups the one of which most is taken stays, the others follow.
        links[ends] = max(links.get(ends, outer), outer, key=lambda x: x.consumes / x.produces)
    members: dict[str, tuple[str, ...]] = {}
    for module in network.modules:
        members[tail[module]] = (*members.get(tail[module], ()), module)
    return Reduction(
        network=Network(
            budget=network.budget,
            modules=tuple(module for module in network.modules if tail[module] == module),
            inflows=tuple(
                replace(x, target=tail[x.target], consumes=x.consumes * share[x.target])
                for x in network.inflows
            ),
            links=tuple(links.values()),
            outflows=tuple(
                replace(x, produces=x.produces * share[x.origin]) for x in network.outflows
            ),
        ),
        super_nodes={name: inside for name, inside in members.items() if len(inside) > 1},
        expand=lambda resource: {
            module: part * resource[tail[module]] for module, part in share.items()
        },
    )


def _groups(network: Network) -> tuple[dict[str, str], dict[str, float]]:
    """The module that each one joins, and its share in the resource of that group."""
    tail: dict[str, str] = {}
    need: dict[str, float] = {}
    whole: dict[str, float] = {}
    for module in reversed(network.order):
        links = network.outputs[module]
        served = {tail[link.target] for link in links}
        joins = len(served) == 1 and not network.outflows_of[module]
        tail[module] = served.pop() if joins else module
        taken = (link.consumes * need[link.target] / link.produces for link in links)
        need[module] = max(taken) if joins else 1.0
        whole[tail[module]] = whole.get(tail[module], 0.0) + need[module]
    return tail, {module: need[module] / whole[tail[module]] for module in network.modules}


BULGE: Final = 1e-9
"""Share of the value by which a corner must stand out from between two others."""
GAP: Final = 1e-8
"""Share of the best use of resource by which the first corner may fall short of it."""
STEP: Final = 1e3
"""Times the value of a corner that the next may have, for none between to be overlooked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Yield:
    """What each module gets, how much that is together, and what it is worth."""

    resource: Mapping[str, float]
    total: float
    value: float


def yields(network: Network) -> list[Yield]:
    """What a network makes of resource, from none to plenty, whatever the budget.

    The more it gets the more it brings, and ever less for each further unit: a concave curve of
    straight pieces, given by its corners. Each corner is the best at some price of resource.
    Sources must limit the last one.

    >>> source = Inflow("s", "b", consumes=1.0, rate=1.0)
    >>> links = [Link("b", leaf, produces=1.0, consumes=1.0) for leaf in ("good", "fair")]
    >>> good, fair = Outflow("x", "good", 1.0, weight=10.0), Outflow("y", "fair", 1.0, weight=3.0)
    >>> fork = Network(budget=1.0, modules=("b", "good", "fair"), inflows=(source,),
    ...     links=tuple(links), outflows=(good, fair))
    >>> [(corner.total, corner.value) for corner in yields(fork)]
    [(0.0, 0.0), (2.0, 10.0), (3.0, 13.0)]
    """
    most = flow.busy_resource(network, dict.fromkeys(network.modules, inf))
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
    resource = flow.least_resource(network, outputs)
    return Yield(resource=resource, total=sum(resource.values()), value=network.worth(outputs))


def _best(network: Network, most: Mapping[str, float], price: float) -> Yield:
    """The best at a price, given what was best at a lower one: as prices rise none takes more.

    A linear program in shares of that, as a solver's tolerances are absolute.
    """
    gains = {module: -price * x for module, x in most.items() if x > 0}
    for out in network.outflows:
        if out.origin in gains:
            gains[out.origin] += out.weight * out.produces * most[out.origin]
    at = {module: i for i, module in enumerate(gains)}
    links = [link for link in network.links if link.target in at]
    rows = [
        {
            at[x.target]: x.consumes * most[x.target] / (x.produces * most[x.origin]),
            at[x.origin]: -1.0,
        }
        for x in links
    ]
    unit = max(map(abs, gains.values())) or 1.0
    solution = lp.maximise(
        [gain / unit for gain in gains.values()],
        rows,
        limits=[0.0] * len(rows),
        most=[1.0] * len(at),
    )
    shares = zip(at, solution.shares, strict=True)
    taken = dict.fromkeys(network.modules, 0.0) | {m: most[m] * share for m, share in shares}
    return _corner(network, flow.outputs(network, taken))


def single_link(network: Network) -> Reduction:
    """All that depends on single links, as super nodes; the largest such parts are taken."""
    reduction = unreduced(network)
    for link, inside in list(_parts(network)):
        reduction = reduction.then(_replaced(reduction.network, link, inside))
    return reduction


def _parts(network: Network) -> Iterator[tuple[Link, tuple[str, ...]]]:
    """Links on which two modules and more depend, with these, none inside another."""
    taken: set[str] = set()
    for module in network.order:
        inputs = network.inputs[module]
        if len(inputs) != 1 or module in taken:
            continue
        inside = _behind(network, module)
        if len(inside) > 1:
            taken |= set(inside)
            yield inputs[0], inside


def _behind(network: Network, head: str) -> tuple[str, ...]:
    """The head and all that it feeds, or none if any of them depends on something else too."""
    reached, known = [head], {head}
    for module in reached:
        if network.source_limits[module] < inf:
            return ()
        new = [link.target for link in network.outputs[module] if link.target not in known]
        reached += new
        known.update(new)
    fed = (link.origin for module in reached[1:] for link in network.inputs[module])
    return tuple(reached) if known.issuperset(fed) else ()


def _replaced(network: Network, link: Link, inside: tuple[str, ...]) -> Reduction:
    """The network with super nodes in place of what is behind a link, the most worthwhile first."""
    head, kept = link.target, [module for module in network.modules if module not in inside]
    part = Network(
        budget=network.budget,
        modules=tuple(module for module in network.modules if module in inside),
        inflows=(Inflow(link.origin, head, consumes=link.consumes, rate=1.0),),
        links=tuple(one for one in network.links if one.origin in inside),
        outflows=tuple(one for one in network.outflows if one.origin in inside),
    )
    points = yields(part)
    if not trusted(part, points):
        return unreduced(network)
    widths, gains = _widths(points), [more.value - less.value for less, more in pairwise(points)]
    names = tuple(islice(chain([head], _unused(head, network.modules)), len(widths)))
    links = [
        Link(link.origin, head, produces=link.produces, consumes=1.0 / width)
        if name == head
        else Link(head, name, produces=1.0 / widths[0], consumes=1.0 / width)
        for name, width in zip(names, widths, strict=True)
    ]
    sinks = zip(_unused(head, network.weights), names, gains, widths, strict=False)
    return Reduction(
        network=Network(
            budget=network.budget,
            modules=(*kept, *names),
            inflows=tuple(one for one in network.inflows if one.target in kept),
            links=(*(one for one in network.links if one.target in kept), *links),
            outflows=(
                *(one for one in network.outflows if one.origin in kept),
                *(Outflow(sink, name, produces=gain / width) for sink, name, gain, width in sinks),
            ),
        ),
        super_nodes=dict.fromkeys(names, inside),
        expand=lambda resource: (
            {module: resource[module] for module in kept}
            | _expanded(points, [resource[name] for name in names])
        ),
    )


def _widths(points: Sequence[Yield]) -> list[float]:
    """Resource of each super node for a unit of flow on the link."""
    return [more.total - less.total for less, more in pairwise(points)]


def _expanded(points: Sequence[Yield], given: Sequence[float]) -> dict[str, float]:
    """Resource inside super nodes: the more worthwhile first, whichever of them it was given to.

    The points say what comes of a unit of flow: with nothing, and with each further super node.
    """
    inside, widths = dict.fromkeys(points[0].resource, 0.0), _widths(points)
    flow, left = given[0] / widths[0] if given else 0.0, sum(given)
    parts = [flow]
    for width in widths:
        parts.append(min(left / width, flow))
        left = max(left - flow * width, 0.0)
    for point, most, least in zip(points, parts, [*parts[1:], 0.0], strict=True):
        for module, used in point.resource.items():
            inside[module] += (most - least) * used
    return inside


def _unused(name: str, used: Collection[str]) -> Iterator[str]:
    return (numbered for i in count(1) if (numbered := f"{name}+{i}") not in used)


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
    reduction, left = unreduced(network), len(network.modules) + 1
    while len(reduction.network.modules) < left:
        left = len(reduction.network.modules)
        for step in STEPS[procedure]:
            reduction = reduction.then(step(reduction.network))
    return reduction
