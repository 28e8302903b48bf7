"""How many rows a module sends another for each that it takes in, as measured."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import nan

from penstock.core.graph import FlowGraph, Stream
from penstock.core.signals import ModuleReading
from penstock.forecast import Ewma
from penstock.policy.game.estimate import is_known


@dataclass
class Selectivities:
    """The file's, corrected by the rows that came to a module beside those that should have.

    Several streams to one module are corrected alike: nobody measures them one by one. A batch may
    leave a module in one step and come to the next in another, so a single pair of readings says
    little: averages are compared, and the file's word counts as the first reading.

    >>> from penstock.core.graph import Module
    >>> stream = Stream(origin="scan", target="match", selectivity=2.0)
    >>> modules = (Module(name="scan"), Module(name="match"))
    >>> known = Selectivities(FlowGraph(source="scan", modules=modules, streams=(stream,)))
    >>> scan, match = ModuleReading(processed_rate=10.0), ModuleReading(arrival_rate=5.0)
    >>> for _ in range(60):
    ...     known.take_in({"scan": scan, "match": match})
    >>> round(known.of(stream), 6)
    0.5
    """

    graph: FlowGraph
    smoothing: float = 0.3
    """Weight of the newest reading."""
    _sent: dict[str, Ewma] = field(default_factory=dict, init=False, repr=False)
    """Rows a second that should have come to a module."""
    _came: dict[str, Ewma] = field(default_factory=dict, init=False, repr=False)
    """Rows a second that did."""

    def take_in(self, modules: Mapping[str, ModuleReading]) -> None:
        """Learn from a reading; what is unknown, or no number, teaches nothing."""
        sent: dict[str, float] = {}
        for stream in self.graph.streams:
            left = modules.get(stream.origin, ModuleReading()).processed_rate
            rows = nan if left is None else left * declared(stream)
            sent[stream.target] = sent.get(stream.target, 0.0) + rows
        for name, rows in sent.items():
            self._compare(name, rows, modules.get(name, ModuleReading()).arrival_rate)

    def of(self, stream: Stream) -> float:
        """Rows that take this way for each that its origin takes in."""
        came, sent = self._came.get(stream.target), self._sent.get(stream.target)
        if came is None or sent is None or not (came.level > 0 and sent.level > 0):
            return declared(stream)
        return declared(stream) * (came.level / sent.level)

    def _compare(self, name: str, sent: float, came: float | None) -> None:
        if came is None or not (is_known(came) and is_known(sent)):
            return
        if name not in self._sent and sent > 0:
            self._came[name], self._sent[name] = Ewma(self.smoothing), Ewma(self.smoothing)
            self._came[name].update(sent)
            self._sent[name].update(sent)
        if name in self._sent and (sent > 0 or came > 0):  # a pause is no reason to forget
            self._came[name].update(came)
            self._sent[name].update(sent)


def declared(stream: Stream) -> float:
    """Rows that take a way for each that its origin takes in, by the file."""
    return stream.selectivity * stream.probability
