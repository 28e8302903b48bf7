"""How many rows each module sees for one that comes to its source, learned over many batches.

Rows leave a micro-batch all at once, so that the rate at which they come to the next module leaps
from step to step. What is foreseen is the rate of the sources, which does not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from penstock.core.graph import FlowGraph
from penstock.core.signals import Observation
from penstock.policy.game.estimate import is_known

_FORGETS: Final = 0.97
"""What is left of a step's weight one step later."""
_ENOUGH: Final = 10.0
"""Steps after which what was counted is believed."""


@dataclass
class Reach:
    """Rows counted at each module and at the source before it.

    >>> from penstock.core.graph import Module, Stream
    >>> from penstock.testing import seen
    >>> modules = (Module(name="split"), Module(name="count"))
    >>> streams = (Stream(origin="split", target="count", selectivity=2.0),)
    >>> reach = Reach(FlowGraph(source="split", modules=modules, streams=streams))
    >>> reach.of({"split": 100.0})
    {'split': 100.0, 'count': 200.0}
    >>> for at in range(40):
    ...     reach.take_in(seen(split={"processed_rate": 50.0}, count={"arrival_rate": 150.0}))
    >>> round(reach.of({"split": 100.0})["count"])
    300
    """

    graph: FlowGraph
    _counts: dict[str, tuple[float, float, float]] = field(
        default_factory=dict, init=False, repr=False
    )
    """By module: rows that came, rows that its source finished, and the weight of both."""

    def take_in(self, seen: Observation) -> None:
        """Count a step in which both were measured."""
        for source in self.graph.sources:
            before = seen.modules.get(source)
            if before is None or not is_known(before.processed_rate):
                continue
            for name in self._behind(source):
                after = seen.modules.get(name)
                if after is not None and is_known(after.arrival_rate):
                    self._count(name, after.arrival_rate or 0.0, before.processed_rate or 0.0)

    def of(self, rates: Mapping[str, float]) -> dict[str, float]:
        """Rows a second at every module, given those at the sources."""
        return {
            name: rates[source] * (1.0 if name == source else self._ratio(source, name))
            for source in self.graph.sources
            if source in rates
            for name in (source, *self._behind(source))
        }

    def _count(self, name: str, came: float, finished: float) -> None:
        rows, of, weight = self._counts.get(name, (0.0, 0.0, 0.0))
        self._counts[name] = (
            _FORGETS * rows + came,
            _FORGETS * of + finished,
            _FORGETS * weight + 1.0,
        )

    def _ratio(self, source: str, name: str) -> float:
        declared = self._declared[source][name]
        rows, of, weight = self._counts.get(name, (0.0, 0.0, 0.0))
        if weight < _ENOUGH or not of or not rows:
            return declared
        return rows / of

    def _behind(self, source: str) -> list[str]:
        return [name for name in self._declared[source] if name != source]

    @property
    def _declared(self) -> dict[str, dict[str, float]]:
        """By source, rows that each module behind it sees for one of its own."""
        return {source: _visits(self.graph, source) for source in self.graph.sources}


def _visits(graph: FlowGraph, source: str) -> dict[str, float]:
    visits = {source: 1.0}
    for name in graph.order():
        for stream in graph.outputs(name) if name in visits else ():
            share = visits[name] * stream.selectivity * stream.probability
            visits[stream.target] = visits.get(stream.target, 0.0) + share
    return visits
