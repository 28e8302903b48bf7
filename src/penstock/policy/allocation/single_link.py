"""What lies behind a single link, made a few super nodes (alloc, Procedure 2, Theorems 8 and 9).

If all that one module feeds, directly or not, hangs on one link, then the rest of the network needs
to know only what comes of the flow on that link. The paper makes it one super node: the best of it
with resource in plenty. That is not equivalent where resource is short, against Theorem 9: the rest
may then be better off without the less worthwhile part behind the link. What is behind is
equivalent to several super nodes, each less worthwhile than the one before: the first takes the
flow of the link, and the others work on what it lets through.

Behind the link all must be fed through it. Modules there may have sources of their own as long as
these are unlimited; the paper does not say so. A part whose super nodes would differ by too many
orders of magnitude to tell them all apart is left as it is.

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
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice, pairwise
from math import inf

from penstock.policy.allocation.network import Inflow, Link, Network, Outflow
from penstock.policy.allocation.reduction import Reduction, Resource, unreduced
from penstock.policy.allocation.yields import Yield, trusted, yields


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
    found = dict.fromkeys([head])
    reached = [head]
    for module in reached:
        if any(inflow.rate < inf for inflow in network.inflows_of(module)):
            return ()
        for link in network.outputs(module):
            if link.target not in found:
                found[link.target] = None
                reached.append(link.target)
    fed = (link.origin for module in reached[1:] for link in network.inputs(module))
    return tuple(found) if all(origin in found for origin in fed) else ()


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
