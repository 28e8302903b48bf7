"""What is learned of a module while it runs: its load to come, its work, its delays.

How many rows each module sees for one that comes to its source, learned over many batches.

Rows leave a micro-batch all at once, so that the rate at which they come to the next module leaps
from step to step. What is foreseen is the rate of the sources, which does not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, inf, isfinite, nan
from typing import Final

from penstock.core.graph import FlowGraph, Module
from penstock.core.roles import Forecaster
from penstock.core.signals import ModuleReading, Observation
from penstock.forecast import Ewma, Trusted
from penstock.policy.common.estimates import is_known
from penstock.policy.latency.stage import Stage

_MOST_AHEAD: Final = 60
"""Steps ahead that are foreseen at the most."""
_MOST_MARGIN: Final = 0.1
"""Share of the foreseen rate that is added for doubt at the most."""
_ALL_BUSY: Final = 0.98
"""What executors of a module reach at best, when rows that wait are to be worked off."""


@dataclass
class Estimate:
    """One module, as it was declared and as it was measured since.

    >>> from penstock.forecast import Last
    >>> count = Estimate(Module(name="count", service_time=0.01, start_up=20.0), Trusted(Last()))
    >>> count.take_in(ModuleReading(arrival_rate=150.0, running=2, requested=2), step=5.0)
    >>> count.foresee(count.start_up)
    >>> count.stage(limit=10.0, catch_up=60.0).rate
    150.0
    """

    module: Module
    forecaster: Forecaster
    smoothing: float = 0.3
    """Weight of the newest measurement."""
    margin: bool = False
    """Whether a forecast that was off lately is raised by as much."""
    start_up: float = field(default=0.0, init=False)
    """Seconds until an executor that is asked for takes tasks: as declared, until it is known."""
    rate: float | None = None
    """Rows a second that came in the newest step."""
    foreseen: float | None = None
    """The most rows a second until executors that are asked for now have come: of a source by its
    own forecast, of others by that of their sources."""
    tells_backlog: bool | None = field(default=None, init=False)
    """Whether it says how many rows wait; None before it has finished any."""
    _reading: ModuleReading = field(default_factory=ModuleReading, init=False, repr=False)
    _step: float = field(default=0.0, init=False, repr=False)
    _service: Ewma = field(init=False, repr=False)
    _overhead: Ewma = field(init=False, repr=False)
    _processed: Ewma = field(init=False, repr=False)
    """Rows a second: a step may hold the end of one batch or of two, so that single ones leap."""

    def __post_init__(self) -> None:
        """Begin with what was declared."""
        self._service, self._overhead = Ewma(self.smoothing), Ewma(self.smoothing)
        self._processed = Ewma(self.smoothing)
        self.start_up = self.module.start_up

    @property
    def service_time(self) -> float | None:
        """Seconds of an executor's time that a row takes."""
        known = self._service.level
        return known if isfinite(known) else self.module.service_time or None

    @property
    def overhead(self) -> float:
        """Seconds that a micro-batch takes beyond its rows."""
        known = self._overhead.level
        return known if isfinite(known) else self.module.overhead

    @property
    def batches(self) -> bool:
        """Whether it works in micro-batches."""
        return self.module.trigger > 0 or self._reading.batch_duration is not None

    def take_in(self, reading: ModuleReading, *, step: float) -> None:
        """Learn from a step; what it did not measure teaches nothing."""
        self._reading, self._step = reading, step
        if is_known(reading.service_time) and reading.service_time:
            self._service.update(reading.service_time)
        self._learn_overhead(reading)
        if is_known(reading.backlog):
            self.tells_backlog = True
        elif self.tells_backlog is None and is_known(reading.processed_rate):
            self.tells_backlog = False
        self.rate = reading.arrival_rate if is_known(reading.arrival_rate) else None
        if self.rate is not None:
            self.forecaster.update(self.rate)

    def foresee(self, within: float) -> None:
        """Foresee the most rows a second that come within so many seconds and a step."""
        ahead = ceil(within / max(self._step, 1e-9)) + 1
        coming = self.forecaster.forecast(min(max(ahead, 1), _MOST_AHEAD))
        most = float(coming.max()) if coming.size else nan
        if self.rate is not None and isfinite(most):
            self.foreseen = max(most, 0.0) * (1.0 + self._doubt())

    def lacks(self) -> str | None:
        """What is missing to choose executors, in words; None where nothing is."""
        if self.rate is None or self.foreseen is None:
            return "arrival rate unknown"
        return "service time unknown" if self.service_time is None else None

    def stage(self, *, limit: float, catch_up: float) -> Stage:
        """What executors are chosen by. Rows that wait count where they would be late.

        Late is what would take longer than `limit` seconds; it is to be worked off within
        `catch_up` seconds after the executors have come.
        """
        steady = self._steady(needs=1)
        return self._steady(needs=self._needed(steady, limit, catch_up))

    def _steady(self, *, needs: int) -> Stage:
        module = self.module
        return Stage(
            rate=self.foreseen or 0.0,
            service_time=self.service_time or 0.0,
            overhead=self.overhead,
            trigger=module.trigger,
            max_batch=inf if module.max_batch is None else module.max_batch,
            batches=self.batches,
            service_cv=self._reading.service_cv or module.service_cv,
            least=module.min_replicas,
            most=module.max_replicas,
            needs=needs,
        )

    def _needed(self, stage: Stage, limit: float, catch_up: float) -> int:
        """Executors by which late rows are worked off in time."""
        running, service = self._reading.running, stage.service_time
        waiting = self._reading.backlog
        if waiting is None or not is_known(waiting) or not running or not service:
            return 1
        capacity = running / service
        in_work = stage.rate * (max(stage.trigger, self._batch_duration) + self._batch_duration)
        behind = max(waiting - in_work, 0.0)
        until = max(self.start_up, self._step)
        behind += max(stage.rate - capacity, 0.0) * until
        usual = self._batch_duration * 2.0
        if behind / capacity + usual <= limit:
            return 1
        return ceil((stage.rate + behind / catch_up) * service / _ALL_BUSY)

    @property
    def _batch_duration(self) -> float:
        known = self._reading.batch_duration
        return known if known is not None and is_known(known) else 0.0

    def _learn_overhead(self, reading: ModuleReading) -> None:
        """A batch's duration less what its rows took on so many executors."""
        duration, rate, running = reading.batch_duration, reading.processed_rate, reading.running
        if rate is not None and is_known(rate):
            self._processed.update(rate)
        if not duration or rate is None or not running or self.service_time is None:
            return
        rows = self._processed.level * max(duration, self.module.trigger)
        self._overhead.update(max(duration - rows * self.service_time / running, 0.0))

    def _doubt(self) -> float:
        """How far off forecasts were lately, as a share."""
        if not self.margin or not isinstance(self.forecaster, Trusted):
            return 0.0
        error = self.forecaster.error
        return min(error, _MOST_MARGIN) if isfinite(error) else 0.0


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
