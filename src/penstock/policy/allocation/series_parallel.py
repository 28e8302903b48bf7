"""Modules whose flow all goes to one, made one with it (alloc, Procedure 1, Theorems 6 and 7).

The paper aggregates series-parallel subgraphs between a head and a tail. All that its proof needs
is that nothing leaves but at the tail, so that the tail's work fixes the least of everybody else's
(Lemma 4). Hence a module joins the one that it feeds if it feeds no other and no sink, however the
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
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.policy.allocation.network import Inflow, Link, Network, Outflow
from penstock.policy.allocation.reduction import Reduction, Resource


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
    """Who joins whom, and what share of the resource of all that join is whose."""

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
        found: dict[str, list[str]] = {}
        for module in self.share:
            found.setdefault(self.tail[module], []).append(module)
        return {name: tuple(who) for name, who in found.items() if len(who) > 1}

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
