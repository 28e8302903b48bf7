"""What pipelines that run have to do, as a processing network.

A core of a module takes `1 / service_time` rows a second: of each input as much as that input's
share of the rows that come (alpha), and it makes `selectivity * probability` rows of each for every
stream that leaves (beta). Joint inputs are the paper's: a module is taken to need its inputs in the
proportion in which they come, as it does under back-pressure.

Rows that wait are offered again. Those before a source add to its rate. Those before a later module
need no more work upstream, so they are taken to come along with the rows that reach it: its inputs
produce that much more for it. Where next to none reach it, they are a source of their own.

>>> from penstock.core.graph import Module, Stream
>>> offer = Offer(
...     graph=FlowGraph(
...         source="scan",
...         modules=(Module(name="scan"), Module(name="match")),
...         streams=(Stream(origin="scan", target="match"),),
...     ),
...     rates={"scan": 50.0},
...     waiting={"match": 30.0},
...     times={"scan": 0.01, "match": 0.02},
...     selectivities={("scan", "match"): 0.4},
... )
>>> offer.rows, offer.loads
({'scan': 50.0, 'match': 50.0}, {'scan': 0.5, 'match': 1.0})
>>> offer.network(cores=2, worth={"match": 1.0}).links[0].produces  # and not 0.4 / 0.01
100.0
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from penstock.core.graph import FlowGraph
from penstock.policy.allocation.network import Inflow, Link, Network, Outflow
from penstock.policy.allocation.pipelines import owners
from penstock.policy.allocation.selectivities import declared

_ALONE: Final = 1e6
"""Times as many rows wait as come: then those that come no longer count."""
_IDLE: Final = 1e-9
"""Cores up to which all modules of a pipeline together have as good as nothing to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Rows that come and wait, and what each takes. Rates are rows a second."""

    graph: FlowGraph
    rates: Mapping[str, float]
    """That come to each source."""
    waiting: Mapping[str, float]
    """Of rows that wait before each module and are offered again."""
    times: Mapping[str, float]
    """Seconds of a core that a row takes."""
    selectivities: Mapping[tuple[str, str], float]
    """Rows to each target for each that the origin takes in."""
    rows: Mapping[str, float] = field(init=False)
    """That each module has to do if none before it falls behind."""
    _coming: Mapping[str, Mapping[str, float]] = field(init=False, repr=False, compare=False)
    """To each module that is no source, by the module from which they come."""

    def __post_init__(self) -> None:
        """Follow the rows through the graph."""
        coming: dict[str, dict[str, float]] = {name: {} for name in self.graph.names()}
        rows: dict[str, float] = {}
        for name in self.graph.order():
            own = self.rates.get(name, 0.0) + self.waiting.get(name, 0.0)
            rows[name] = own + sum(coming[name].values())
            for stream in self.graph.outputs(name):
                coming[stream.target][name] = rows[name] * self.selectivities[name, stream.target]
        object.__setattr__(self, "_coming", coming)
        object.__setattr__(self, "rows", {name: rows[name] for name in self.graph.names()})

    @property
    def loads(self) -> dict[str, float]:
        """Cores that each module would need to keep up with all of it."""
        return {name: rows * self.times[name] for name, rows in self.rows.items()}

    def network(self, *, cores: int, worth: Mapping[str, float]) -> Network | None:
        """What there is to divide cores among, by the worth of a row at each sink.

        Modules that have nothing to do are left out; None where no module has anything.
        """
        busy = self._busy()
        links = {name: self._links(name) for name in busy}
        if not busy:
            return None
        return Network(
            budget=float(cores),
            modules=busy,
            inflows=tuple(self._inflow(name) for name in busy if not links[name]),
            links=tuple(link for name in busy for link in links[name]),
            outflows=tuple(
                Outflow(name=name, origin=name, produces=1 / self.times[name], weight=worth[name])
                for name in busy
                if name in worth
            ),
        )

    def _busy(self) -> tuple[str, ...]:
        """Modules with something to do, of pipelines that have more to do than next to nothing."""
        owner, loads = owners(self.graph), self.loads
        total = dict.fromkeys(owner.values(), 0.0)
        for name, load in loads.items():
            total[owner[name]] += load
        return tuple(name for name in loads if loads[name] > 0 and total[owner[name]] > _IDLE)

    def _inflow(self, name: str) -> Inflow:
        return Inflow(name=name, target=name, consumes=1 / self.times[name], rate=self.rows[name])

    def _links(self, name: str) -> tuple[Link, ...]:
        """Where a module's rows come from; nowhere, of a source and of one with rows of its own."""
        coming = {origin: rows for origin, rows in self._coming[name].items() if rows > 0}
        total = sum(coming.values())
        if self.rows[name] > _ALONE * total:
            return ()
        return tuple(
            Link(
                origin=origin,
                target=name,
                produces=self.rows[name] / total * rows / self.rows[origin] / self.times[origin],
                consumes=rows / total / self.times[name],
            )
            for origin, rows in coming.items()
        )


def example(graph: FlowGraph) -> Offer:
    """A row a second at every source, as the file has it: for finding out what suits a graph."""
    return Offer(
        graph=graph,
        rates=dict.fromkeys(graph.sources, 1.0),
        waiting={},
        times={module.name: module.service_time or 1.0 for module in graph.modules},
        selectivities={(way.origin, way.target): declared(way) for way in graph.streams},
    )
