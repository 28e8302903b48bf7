"""Rows that each module will have to take in, followed down the flow graph as they are measured."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isnan, nan

from penstock.core.graph import FlowGraph, Stream
from penstock.core.signals import Observation
from penstock.policy.allocation.selectivities import Through, declared
from penstock.policy.peers.deciding import known
from penstock.policy.peers.timing import Window


@dataclass
class Flow:
    """What comes to the sources and what becomes of it, averaged over a window.

    A stream carries as many rows as the graph declares, corrected by what came to its target beside
    what should have; several streams to one module are corrected alike, for nobody measures them
    one by one. A module that is in no graph is a source of its own.

    >>> from penstock.core.graph import Module
    >>> from penstock.testing import seen
    >>> stream = Stream(origin="scan", target="match", selectivity=2.0)
    >>> modules = (Module(name="scan"), Module(name="match"))
    >>> flow = Flow(FlowGraph(source="scan", modules=modules, streams=(stream,)), 60.0)
    >>> scan = {"arrival_rate": 10.0, "processed_rate": 8.0}
    >>> flow.take_in(seen(scan=scan, match={"arrival_rate": 24.0}))
    >>> flow.inflow()
    {'scan': 10.0, 'match': 30.0}
    """

    graph: FlowGraph | None
    span: float
    """Seconds that are averaged over."""
    through: dict[str, Window] = field(default_factory=dict, init=False, repr=False)
    """Rows a second that each module got through."""
    _now: tuple[str, ...] = field(default=(), init=False, repr=False)
    _measured: frozenset[str] = field(default=frozenset(), init=False, repr=False)
    _arrived: dict[str, Window] = field(default_factory=dict, init=False, repr=False)
    _sent: dict[str, Window] = field(default_factory=dict, init=False, repr=False)
    _came: dict[str, Window] = field(default_factory=dict, init=False, repr=False)
    _through: Through = field(default_factory=lambda: Through(), init=False, repr=False)

    def take_in(self, seen: Observation) -> None:
        """Learn from an observation; what is unknown teaches nothing."""
        rates = {n: known(m.arrival_rate) for n, m in seen.modules.items()}
        arrived = {name: rate for name, rate in rates.items() if rate is not None}
        through = self._through.take_in(seen)
        for name, rate in arrived.items():
            self._arrived.setdefault(name, Window(self.span)).add(seen.at, rate)
        for name, rate in through.items():
            self.through.setdefault(name, Window(self.span)).add(seen.at, rate)
        self._compare(seen.at, through, arrived)
        self._now, self._measured = tuple(seen.modules), frozenset(arrived)

    def inflow(self) -> dict[str, float]:
        """Rows a second that each module will have to take in; NaN where a source is unknown."""
        sources = self.graph.sources if self.graph is not None else ()
        strangers = [name for name in self._now if name not in self._names()]
        return self.spread({name: self._rate(name) for name in (*sources, *strangers)})

    def spread(self, own: Mapping[str, float]) -> dict[str, float]:
        """Rates that begin at modules, followed to all that they reach."""
        total = {name: own.get(name, 0.0) for name in (*self._names(), *own)}
        for name in self._names():
            for stream in self.graph.outputs(name) if self.graph is not None else ():
                total[stream.target] += total[name] * self.ratio(stream)
        return total

    def ratio(self, stream: Stream) -> float:
        """Rows that take this way for each that its origin takes in, as measured."""
        came, sent = self._came.get(stream.target), self._sent.get(stream.target)
        if came is None or sent is None or not (came.mean() > 0 and sent.mean() > 0):
            return declared(stream)
        return declared(stream) * came.mean() / sent.mean()

    def _names(self) -> tuple[str, ...]:
        return self.graph.order() if self.graph is not None else ()

    def _rate(self, name: str) -> float:
        return self._arrived[name].mean() if name in self._measured else nan

    def _compare(
        self, at: float, through: Mapping[str, float], arrived: Mapping[str, float]
    ) -> None:
        sent: dict[str, float] = {}
        for stream in self.graph.streams if self.graph is not None else ():
            rows = through.get(stream.origin, nan) * declared(stream)
            sent[stream.target] = sent.get(stream.target, 0.0) + rows
        for name, rows in sent.items():
            if name in arrived and not isnan(rows):
                self._sent.setdefault(name, Window(self.span)).add(at, rows)
                self._came.setdefault(name, Window(self.span)).add(at, arrived[name])
