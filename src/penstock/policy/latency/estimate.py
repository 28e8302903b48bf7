"""What is learned of a module while it runs: its load to come, its work, its delays."""

from dataclasses import dataclass, field
from math import ceil, inf, isfinite, nan
from typing import Final

from penstock.core.graph import Module
from penstock.core.roles import Forecaster
from penstock.core.signals import ModuleReading
from penstock.forecast import Trusted
from penstock.policy.common.estimates import Averages, known, service_time
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
    _averages: Averages = field(init=False, repr=False)
    """Of the service time, the overhead and the processed rate: a step may hold the end of one
    batch or of two, so single rates leap."""

    def __post_init__(self) -> None:
        """Begin with what was declared."""
        self._averages = Averages(self.smoothing)
        self.start_up = self.module.start_up

    @property
    def service_time(self) -> float | None:
        """Seconds of an executor's time that a row takes."""
        return self._averages.of("service_time") or self.module.service_time or None

    @property
    def overhead(self) -> float:
        """Seconds that a micro-batch takes beyond its rows."""
        measured = self._averages.of("overhead")
        return self.module.overhead if measured is None else measured

    @property
    def batches(self) -> bool:
        """Whether it works in micro-batches."""
        return self.module.trigger > 0 or self._reading.batch_duration is not None

    def take_in(self, reading: ModuleReading, *, step: float) -> None:
        """Learn from a step; what it did not measure teaches nothing."""
        self._reading, self._step = reading, step
        self._averages.update("service_time", service_time(reading))
        self._learn_overhead(reading)
        if known(reading.backlog) is not None:
            self.tells_backlog = True
        elif self.tells_backlog is None and known(reading.processed_rate) is not None:
            self.tells_backlog = False
        self.rate = known(reading.arrival_rate)
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
        waiting = known(self._reading.backlog)
        if waiting is None or not running or not service:
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
        return known(self._reading.batch_duration) or 0.0

    def _learn_overhead(self, reading: ModuleReading) -> None:
        """A batch's duration less what its rows took on so many executors."""
        duration, rate, running = reading.batch_duration, reading.processed_rate, reading.running
        self._averages.update("processed_rate", rate)
        processed, time = self._averages.of("processed_rate"), self.service_time
        if not duration or rate is None or not running or time is None or processed is None:
            return
        rows = processed * max(duration, self.module.trigger)
        self._averages.update("overhead", max(duration - rows * time / running, 0.0))

    def _doubt(self) -> float:
        """How far off forecasts were lately, as a share."""
        if not self.margin or not isinstance(self.forecaster, Trusted):
            return 0.0
        error = self.forecaster.error
        return min(error, _MOST_MARGIN) if isfinite(error) else 0.0
