"""How many rows a module sends another for each that it takes in, as measured."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import nan

from penstock.core.graph import FlowGraph, Stream
from penstock.core.signals import ModuleReading, Observation
from penstock.forecast import Ewma
from penstock.policy.game.estimate import is_known


@dataclass
class Through:
    """Rows a second that got through each module in a step: those that came, and fewer or more by
    as many as wait now and did not before.

    A processed rate will not do where both are known: of a batch that outlasts a step it is the
    mean over all of it, and is told in the step in which it ends.

    >>> from penstock.testing import seen
    >>> through = Through()
    >>> through.take_in(seen(scan={"arrival_rate": 9.0, "backlog": 50.0}))
    {}
    >>> through.take_in(seen(scan={"arrival_rate": 9.0, "backlog": 20.0}))
    {'scan': 39.0}
    """

    _waiting: Mapping[str, float] = field(default_factory=dict)

    def take_in(self, seen: Observation) -> dict[str, float]:
        """Of the modules of which it can be told; backlogs are remembered for the next step."""
        found = {name: self._of(name, module, seen.step) for name, module in seen.modules.items()}
        told = {name: m.backlog for name, m in seen.modules.items() if m.backlog is not None}
        self._waiting = {name: rows for name, rows in told.items() if is_known(rows)}
        return {name: rate for name, rate in found.items() if rate is not None and is_known(rate)}

    def _of(self, name: str, module: ModuleReading, step: float) -> float | None:
        before, now, came = self._waiting.get(name), module.backlog, module.arrival_rate
        if now is None or not is_known(now) or came is None:
            return module.processed_rate
        return None if before is None else max(came + (before - now) / step, 0.0)


@dataclass
class Selectivities:
    """The file's, corrected by the rows that came to a module beside those that should have.

    Several streams to one module are corrected alike: nobody measures them one by one. A batch may
    leave a module in one step and come to the next in another, so a single pair of readings says
    little: averages over many steps are compared, and the file's word counts as the first reading.

    >>> from penstock.core.graph import Module
    >>> from penstock.testing import seen
    >>> stream = Stream(origin="scan", target="match", selectivity=2.0)
    >>> modules = (Module(name="scan"), Module(name="match"))
    >>> known = Selectivities(FlowGraph(source="scan", modules=modules, streams=(stream,)))
    >>> for _ in range(200):
    ...     known.take_in(seen(scan={"processed_rate": 10.0}, match={"arrival_rate": 5.0}))
    >>> round(known.of(stream), 6)
    0.5
    """

    graph: FlowGraph
    smoothing: float = 0.1
    """Weight of the newest reading."""
    _through: Through = field(default_factory=lambda: Through(), init=False, repr=False)
    _sent: dict[str, Ewma] = field(default_factory=dict, init=False, repr=False)
    """Rows a second that should have come to a module."""
    _came: dict[str, Ewma] = field(default_factory=dict, init=False, repr=False)
    """Rows a second that did."""

    def take_in(self, seen: Observation) -> None:
        """Learn from a reading; what is unknown, or no number, teaches nothing."""
        through, sent = self._through.take_in(seen), dict[str, float]()
        for stream in self.graph.streams:
            rows = through.get(stream.origin, nan) * declared(stream)
            sent[stream.target] = sent.get(stream.target, 0.0) + rows
        for name, rows in sent.items():
            self._compare(name, rows, seen.modules.get(name, ModuleReading()).arrival_rate)

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
