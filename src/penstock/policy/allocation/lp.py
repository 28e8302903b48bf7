"""The optimum by one that knows everything: the paper's linear program, solved by HiGHS.

Rates may lie twelve orders of magnitude apart, and a solver's tolerances are absolute, so it is
asked in shares: of what each sink could have alone, and of what each module would need if all sinks
had that at once. No coefficient is then above 1. What it answers is made exactly feasible
(Algorithm 1 for the outputs that it found, scaled to what can be afforded), which also takes the
least resource of all optima; and it is held against the bound that its dual prices give, so that an
answer is either right or refused.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from math import inf
from typing import Final

from penstock.core.errors import PenstockError
from penstock.policy.allocation.allocation import Allocation
from penstock.policy.allocation.alone import alone
from penstock.policy.allocation.dual import bound
from penstock.policy.allocation.flow import affordable, needs
from penstock.policy.allocation.highs import Entries, maximise
from penstock.policy.allocation.network import Link, Network
from penstock.policy.allocation.post import Post, Stream
from penstock.policy.allocation.settle import settled, too_far_apart, within_reach

GAP: Final = 1e-7
"""Share of the bound by which an answer may fall short of it."""
IDLE: Final = 1e-12
"""Share of what a sink could have alone that a solver leaves behind where it means none."""


def solve(network: Network) -> Allocation:
    """The optimum of any network.

    >>> from penstock.policy.allocation.network import Link, Network, Outflow
    >>> network = Network(
    ...     budget=3.0,
    ...     modules=("a", "b", "c"),
    ...     links=(
    ...         Link(origin="a", target="b", produces=1.0, consumes=1.0),
    ...         Link(origin="a", target="c", produces=1.0, consumes=1.0),
    ...     ),
    ...     outflows=(
    ...         Outflow(name="x", origin="b", produces=1.0, weight=3.0),
    ...         Outflow(name="y", origin="c", produces=2.0, weight=1.0),
    ...     ),
    ... )
    >>> best = solve(network)
    >>> {module: round(share, 9) for module, share in best.resource.items()}, round(best.value, 9)
    ({'a': 1.0, 'b': 1.0, 'c': 1.0}, 5.0)
    """
    each = alone(Post(network))
    most = within_reach(network, {k: one.flow(network.budget) for k, one in each.items()})
    if not most:
        return settled(network, dict.fromkeys(network.modules, 0.0), policy="lp", promised=0.0)
    program = _Program.of(network, most)
    flows, split = program.solved()
    resource = needs(network, flows)
    times = affordable(network, resource)
    promised = times * sum(o.weight * flows.get(o.name, 0.0) for o in network.outflows)
    allocation = settled(
        network, {m: times * x for m, x in resource.items()}, policy="lp", promised=promised
    )
    _check(allocation.value, bound(network, most, split))
    return allocation


@dataclass(frozen=True, slots=True, kw_only=True)
class _Program:
    """The linear program in shares: those of sinks first, then those of modules that they need."""

    network: Network
    most: Mapping[str, float]
    scale: Mapping[str, float]
    """Resource of each module if all sinks had their most; modules that lead to none left out."""
    streams: tuple[Stream, ...]
    """Each with a row: what it takes is no more than its origin makes."""

    @classmethod
    def of(cls, network: Network, most: Mapping[str, float]) -> "_Program":
        scale = {module: need for module, need in needs(network, most).items() if need > 0}
        streams: Iterable[Stream] = chain(
            (outflow for outflow in network.outflows if outflow.name in most),
            (link for link in network.links if link.target in scale),
        )
        rows = tuple(streams)
        if any(stream.origin not in scale for stream in rows):
            raise too_far_apart("a module needs less than can be written down")
        return cls(network=network, most=most, scale=scale, streams=rows)

    def solved(self) -> tuple[dict[str, float], dict[Stream, float]]:
        """Flow at each sink, and the price of each stream at its origin."""
        found = maximise(
            self._worth(),
            self._entries(),
            limits=[0.0] * len(self.streams) + [1.0],
            most=[1.0] * len(self.most) + [inf] * len(self.scale),
        )
        pairs = zip(self.most.items(), found.shares, strict=False)
        flows = {sink: min(share, 1.0) * most for (sink, most), share in pairs if share > IDLE}
        return flows, dict(zip(self.streams, found.prices, strict=False))

    def _worth(self) -> list[float]:
        weights = {outflow.name: outflow.weight for outflow in self.network.outflows}
        worth = [weights[sink] * most for sink, most in self.most.items()]
        best = max(worth)
        return [each / best for each in worth] + [0.0] * len(self.scale)

    def _entries(self) -> Entries:
        """A row for each stream, what is taken less what is made of it; the budget last."""
        sinks = {sink: i for i, sink in enumerate(self.most)}
        modules = {module: i for i, module in enumerate(self.scale, start=len(sinks))}
        entries: list[tuple[float, int, int]] = []
        for row, stream in enumerate(self.streams):
            taker = modules[stream.target] if isinstance(stream, Link) else sinks[stream.name]
            entries.append((self._taken(stream), row, taker))
            entries.append((-1.0, row, modules[stream.origin]))
        for module, need in self.scale.items():
            entries.append((need / self.network.budget, len(self.streams), modules[module]))
        values, rows, columns = zip(*entries, strict=True)
        return Entries(values, rows, columns)

    def _taken(self, stream: Stream) -> float:
        """Share of the origin's scale that the taker's whole scale asks for: 1 at most."""
        if isinstance(stream, Link):
            taken = stream.consumes * self.scale[stream.target]
        else:
            taken = self.most[stream.name]
        return taken / stream.produces / self.scale[stream.origin]


def _check(value: float, most: float) -> None:
    if not value >= most * (1.0 - GAP):
        raise PenstockError(
            f"the linear program was solved to {value:g} with a bound of {most:g}, which is not "
            "exact enough to rely on; take cutting-plane, or bring the rates closer together"
        )
