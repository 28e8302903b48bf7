"""What a running pipeline tells of its modules, averaged, for dividing cores by."""

from dataclasses import dataclass, field
from typing import Final

from penstock.core.graph import FlowGraph
from penstock.core.signals import ModuleReading, Observation
from penstock.forecast import Ewma
from penstock.policy.allocation.offer import Offer
from penstock.policy.allocation.selectivities import Selectivities
from penstock.policy.game.estimate import is_known

_LONGER: Final = 3.0
"""Times as long are selectivities averaged: they are what the data are, and each step tells little,
because rows leave a module and come to the next in batches."""


@dataclass
class Measured:
    """Averages that forget, of arrivals, service times and selectivities; the file's until then.

    >>> from penstock.core.graph import Module
    >>> from penstock.testing import seen
    >>> known = Measured(FlowGraph(source="scan", modules=(Module(name="scan"),)))
    >>> known.take_in(seen(scan={"arrival_rate": 40.0, "service_time": 0.02, "backlog": 600.0}))
    >>> known.offer().loads
    {'scan': 1.2}
    """

    graph: FlowGraph
    smoothing: float = 0.3
    """Weight of the newest reading."""
    catch_up: float | None = 30.0
    """Seconds over which rows that wait are offered again; None or 0 leaves them aside."""
    _rates: dict[str, Ewma] = field(default_factory=dict, init=False, repr=False)
    """Rows a second that come to each source."""
    _times: dict[str, Ewma] = field(default_factory=dict, init=False, repr=False)
    """Seconds of a core that a row takes."""
    _waiting: dict[str, float] = field(default_factory=dict, init=False, repr=False)
    """Rows, as last measured."""
    _selectivities: Selectivities = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Begin with the file's selectivities."""
        self._selectivities = Selectivities(self.graph, self.smoothing / _LONGER)

    def take_in(self, seen: Observation) -> None:
        """Learn from a reading; what is unknown, or no number, teaches nothing."""
        for name in self.graph.names():
            self._read(name, seen.modules.get(name, ModuleReading()))
        self._selectivities.take_in(seen)

    def unknown(self, seen: Observation) -> str | None:
        """What is missing to divide cores by, in words; None where nothing is."""
        for name in self.graph.names():
            if name not in seen.modules:
                return f"module {name} was not seen"
        for name in self.graph.sources:
            if not is_known(seen.modules[name].arrival_rate):
                return f"the arrival rate of {name} is unknown"
        for name in self.graph.names():
            if not self._service_time(name):
                return f"the service time of {name} is unknown"
        return None

    def offer(self) -> Offer:
        """What there is to do, once nothing is unknown."""
        again = self.catch_up or float("inf")
        return Offer(
            graph=self.graph,
            rates={name: average.level for name, average in self._rates.items()},
            waiting={name: rows / again for name, rows in self._waiting.items()},
            times={name: self._service_time(name) for name in self.graph.names()},
            selectivities={
                (stream.origin, stream.target): self._selectivities.of(stream)
                for stream in self.graph.streams
            },
        )

    def _read(self, name: str, reading: ModuleReading) -> None:
        if name in self.graph.sources:
            self._learn(self._rates, name, reading.arrival_rate)
        if reading.service_time:
            self._learn(self._times, name, reading.service_time)
        if reading.backlog is not None and is_known(reading.backlog):
            self._waiting[name] = reading.backlog

    def _service_time(self, name: str) -> float:
        measured = self._times.get(name)
        return self.graph[name].service_time if measured is None else measured.level

    def _learn(self, averages: dict[str, Ewma], name: str, value: float | None) -> None:
        if value is not None and is_known(value):
            averages.setdefault(name, Ewma(self.smoothing)).update(value)
