"""The optimum by one that knows everything: the paper's linear program, solved by HiGHS.

Rates may lie twelve orders of magnitude apart, and a solver's tolerances are absolute, so it is
asked in shares: of what each sink could have alone, and of what each module would need if all sinks
had that at once. No coefficient is then above 1. What it answers is made exactly feasible
(Algorithm 1 for the outputs that it found, scaled to what can be afforded), which also takes the
least resource of all optima; and it is held against the bound that its dual prices give, so that an
answer is either right or refused.

`bound` limits what any allocation is worth, by how each module splits its price among its streams.
A unit of resource costs 1, and a module's price is passed on to those that it feeds, in any split:
it makes for all of them at once, so together they pay for no more than it takes. A sink
then costs so much a unit, and what the budget can buy at these prices is worth no less than what it
can bring in truth (weak duality). The prices of the linear program make it equal.

>>> from penstock.policy.allocation.network import Link, Network, Outflow
>>> x = Outflow(name="x", origin="a", produces=1.0, weight=3.0)
>>> y = Outflow(name="y", origin="a", produces=1.0, weight=1.0)
>>> network = Network(budget=1.0, modules=("a",), outflows=(x, y))
>>> bound(network, {"x": 1.0, "y": 1.0}, {x: 1.0, y: 1.0}), bound(
...     network, {"x": 1.0, "y": 1.0}, {x: 3.0, y: 1.0}
... )
(4.0, 4.0)

The solver of linear programs, asked for the most that rows of limits allow.

>>> entries = Entries(values=[0.5, 1.0], rows=[0, 0], columns=[0, 1])
>>> found = maximise([1.0, 0.4], entries, limits=[1.0], most=[1.0, inf])
>>> found.value, found.shares, found.prices
(1.2, [1.0, 0.5], [0.4])
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import inf
from typing import Any, Final, NamedTuple

from penstock.core.errors import PenstockError
from penstock.core.extras import require
from penstock.policy.allocation.allocation import (
    Allocation,
    checked_allocation,
    rates_too_far_apart,
    reachable_flows,
)
from penstock.policy.allocation.messages import MessageBus, Stream
from penstock.policy.allocation.network import Link, Network, Outflow, affordable, needs
from penstock.policy.allocation.single_output import alone


def bound(network: Network, most: Mapping[str, float], split: Mapping[Stream, float]) -> float:
    """No allocation is worth more, whatever the split.

    `most` is the flow that each sink could have alone, of those that count; the split has every
    stream that leads to one of them.
    """
    costs = sink_costs(network, split)
    weights = {outflow.name: outflow.weight for outflow in network.outflows}
    value, budget = 0.0, network.budget
    for sink in sorted(most, key=lambda sink: costs[sink] / weights[sink]):
        flow = most[sink] if costs[sink] * most[sink] <= budget else budget / costs[sink]
        value += weights[sink] * flow
        budget = max(budget - costs[sink] * flow, 0.0)
    return value


def sink_costs(network: Network, split: Mapping[Stream, float]) -> dict[str, float]:
    """What a unit of flow at each sink costs."""
    prices = dict.fromkeys(network.modules, 1.0)
    costs: dict[str, float] = {}
    for module in network.order():
        for stream, part in _parts(network, module, split).items():
            price = prices[module] * part / stream.produces
            if isinstance(stream, Outflow):
                costs[stream.name] = price
            else:
                prices[stream.target] += price * stream.consumes
    return costs


def _parts(network: Network, module: str, split: Mapping[Stream, float]) -> dict[Stream, float]:
    """Shares of a module's streams, 1 in all; even where nothing is known."""
    leaving: list[Stream] = [*network.outflows_of(module), *network.outputs(module)]
    known = {stream: max(split[stream], 0.0) for stream in leaving if stream in split}
    total = sum(known.values())
    if total > 0:
        return {stream: part / total for stream, part in known.items()}
    return dict.fromkeys(known, 1.0 / max(len(known), 1))


class Entries(NamedTuple):
    """A sparse matrix, by coordinates."""

    values: Sequence[float]
    rows: Sequence[int]
    columns: Sequence[int]


class Found(NamedTuple):
    """An optimum."""

    value: float
    shares: list[float]
    prices: list[float]
    """What one more of each limit would bring."""


def maximise(
    worth: Sequence[float], entries: Entries, *, limits: Sequence[float], most: Sequence[float]
) -> Found:
    """The best numbers, each from 0 to its most, of which no row takes more than its limit.

    All numbers should be around 1: entries below 1e-9 are taken for nothing.
    """
    # Presolve can take a thousand times as long as all the rest, and fail; rarely it is of help.
    for presolve in (False, True):
        solution = _linprog(worth, entries, limits, most, presolve)
        if solution.success:
            prices = (-solution.ineqlin.marginals).tolist()
            return Found(-float(solution.fun), solution.x.tolist(), prices)
    raise PenstockError(f"HiGHS found no optimum of the linear program: {solution.message}")


def _linprog(
    worth: Sequence[float],
    entries: Entries,
    limits: Sequence[float],
    most: Sequence[float],
    presolve: bool,
) -> Any:
    require("twin", "an allocation by linear program", "scipy")
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    place = (entries.rows, entries.columns)
    matrix = coo_array((entries.values, place), shape=(len(limits), len(worth)))
    return linprog(
        [-each for each in worth],
        A_ub=matrix.tocsr(),
        b_ub=limits,
        bounds=[(0.0, None if highest == inf else highest) for highest in most],
        options={
            "presolve": presolve,
            "primal_feasibility_tolerance": 1e-10,
            "dual_feasibility_tolerance": 1e-10,
        },
    )


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
    each = alone(MessageBus(network))
    most = reachable_flows(network, {k: one.flow(network.budget) for k, one in each.items()})
    if not most:
        return checked_allocation(
            network, dict.fromkeys(network.modules, 0.0), policy="lp", promised=0.0
        )
    program = _Program.of(network, most)
    flows, split = program.solved()
    resource = needs(network, flows)
    times = affordable(network, resource)
    promised = times * sum(o.weight * flows.get(o.name, 0.0) for o in network.outflows)
    allocation = checked_allocation(
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
            raise rates_too_far_apart("a module needs less than can be written down")
        return cls(network=network, most=most, scale=scale, streams=rows)

    def solved(self) -> tuple[dict[str, float], dict[Stream, float]]:
        """Flow at each sink, and the price of each stream at its origin."""
        solution = maximise(
            self._worth(),
            self._entries(),
            limits=[0.0] * len(self.streams) + [1.0],
            most=[1.0] * len(self.most) + [inf] * len(self.scale),
        )
        pairs = zip(self.most.items(), solution.shares, strict=False)
        flows = {sink: min(share, 1.0) * most for (sink, most), share in pairs if share > IDLE}
        return flows, dict(zip(self.streams, solution.prices, strict=False))

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
