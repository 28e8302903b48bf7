"""What is learned of a module while it runs, and how long rows take through it with n executors.

A module that works in micro-batches takes up at the start of a batch what has come since the start
of the one before. With n executors, rows that arrive at a rate r and take s seconds each, and a
batch that costs o seconds beyond its rows, batches start every T = max(trigger, o / (1 - rho))
seconds, rho = r s / n, and take rho T + o. A row waits anything up to T for its batch and then for
its end. A module that serves rows one by one is a queue (Kingman, with many servers).
"""

from dataclasses import dataclass, field, replace
from math import ceil, inf, isfinite, nan, sqrt
from typing import Final

from penstock.core.graph import Module
from penstock.core.roles import Forecaster
from penstock.core.signals import ModuleReading
from penstock.forecast import Trusted
from penstock.policy.common.estimates import Averages, known, service_time

_TAIL: Final = 1.645
"""Standard deviations from the mean to the 95th percentile of a sum of several waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sojourn:
    """Seconds that rows spend in a module: their mean, and the square of their spread.

    >>> (Sojourn(mean=1.0, variance=0.5) + Sojourn(mean=2.0, variance=0.5)).p95
    4.645
    """

    mean: float = 0.0
    variance: float = 0.0

    def __add__(self, other: "Sojourn") -> "Sojourn":
        return Sojourn(mean=self.mean + other.mean, variance=self.variance + other.variance)

    @property
    def p95(self) -> float:
        """What 95 % of the rows stay under."""
        return self.mean + _TAIL * sqrt(self.variance)


UNSTABLE: Final = Sojourn(mean=inf)
"""Of rows that arrive faster than they are served."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What is known of a module when executors are chosen for it.

    >>> count = Stage(rate=300.0, service_time=0.01, overhead=0.5, trigger=1.0, batches=True)
    >>> round(count.sojourn(4).p95, 2), round(count.sojourn(5).p95, 2), count.sojourn(3).p95
    (3.95, 2.47, inf)
    """

    rate: float
    """Rows a second that are predicted."""
    service_time: float
    overhead: float = 0.0
    """Seconds of a micro-batch beyond its rows."""
    trigger: float = 0.0
    """Least seconds between the starts of two batches."""
    max_batch: float = inf
    """Seconds of work that an executor takes on in a batch, at most."""
    batches: bool = False
    service_cv: float = 1.0
    least: int = 1
    most: int = 20
    needs: int = 1
    """Executors that rows which wait already ask for."""

    def utilisation(self, executors: int) -> float:
        """Busy share of so many executors."""
        return self.rate * self.service_time / executors

    def sojourn(self, executors: int) -> Sojourn:
        """Seconds that rows spend here beside so many executors, once that has settled."""
        busy = self.utilisation(executors)
        if busy >= 1.0:
            return UNSTABLE
        return self._batch(busy) if self.batches else self._queue(executors, busy)

    def _batch(self, busy: float) -> Sojourn:
        alone = self.overhead / (1.0 - busy)
        if alone > self.max_batch + self.overhead:
            return UNSTABLE  # batches are too short to keep up with so few
        every = max(self.trigger, alone)
        takes = busy * every + self.overhead
        return Sojourn(mean=every / 2.0 + takes, variance=every**2 / 12.0)

    def _queue(self, executors: int, busy: float) -> Sojourn:
        crowd = busy ** (sqrt(2.0 * (executors + 1)) - 1.0) / (executors * (1.0 - busy))
        wait = (1.0 + self.service_cv**2) / 2.0 * crowd * self.service_time
        spread = wait**2 + (self.service_cv * self.service_time) ** 2
        return Sojourn(mean=wait + self.service_time, variance=spread)


_MOST_AHEAD: Final = 60
"""Steps ahead that are predicted at the most."""
_MOST_MARGIN: Final = 0.1
"""Share of the predicted rate that is added for doubt at the most."""
_ALL_BUSY: Final = 0.98
"""Highest utilisation of a module's executors while a backlog is processed."""


@dataclass
class Estimate:
    """One module, as it was declared and as it was measured since.

    >>> from penstock.forecast import Last
    >>> count = Estimate(Module(name="count", service_time=0.01, start_up=20.0), Trusted(Last()))
    >>> count.observe(ModuleReading(arrival_rate=150.0, running=2, requested=2), step=5.0)
    >>> count.foresee(count.start_up)
    >>> count.stage(limit=10.0, catch_up=60.0).rate
    150.0
    """

    module: Module
    forecaster: Forecaster
    smoothing: float = 0.3
    """Weight of the newest measurement."""
    margin: bool = False
    """Whether a forecast that was off recently is raised by as much."""
    start_up: float = field(default=0.0, init=False)
    """Seconds until an executor that is asked for takes tasks: as declared, until it is known."""
    rate: float | None = None
    """Rows a second that came in the newest step."""
    foreseen: float | None = None
    """The most rows a second until executors requested now have come: of a source by its
    own forecast, of others by that of their sources."""
    reports_backlog: bool | None = field(default=None, init=False)
    """Whether it says how many rows wait; None before it has finished any."""
    _reading: ModuleReading = field(default_factory=ModuleReading, init=False, repr=False)
    _step: float = field(default=0.0, init=False, repr=False)
    _averages: Averages = field(init=False, repr=False)
    """Of the service time, the overhead and the processed rate: a step may hold the end of one
    batch or of two, so single rates leap."""

    def __post_init__(self) -> None:
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

    def observe(self, reading: ModuleReading, *, step: float) -> None:
        """Learn from a step; unknown values are ignored."""
        self._reading, self._step = reading, step
        self._averages.update("service_time", service_time(reading))
        self._learn_overhead(reading)
        if known(reading.backlog) is not None:
            self.reports_backlog = True
        elif self.reports_backlog is None and known(reading.processed_rate) is not None:
            self.reports_backlog = False
        self.rate = known(reading.arrival_rate)
        if self.rate is not None:
            self.forecaster.update(self.rate)

    def foresee(self, within: float) -> None:
        """Predict the most rows a second that come within so many seconds and a step."""
        ahead = ceil(within / max(self._step, 1e-9)) + 1
        coming = self.forecaster.forecast(min(max(ahead, 1), _MOST_AHEAD))
        most = float(coming.max()) if coming.size else nan
        if self.rate is not None and isfinite(most):
            self.foreseen = max(most, 0.0) * (1.0 + self._doubt())

    def missing(self) -> str | None:
        """What is missing to choose executors, as text; None where nothing is."""
        if self.rate is None or self.foreseen is None:
            return "arrival rate unknown"
        return "service time unknown" if self.service_time is None else None

    def stage(self, *, limit: float, catch_up: float) -> Stage:
        """What executors are chosen by. Rows that wait count where they would be late.

        Late is what would take longer than `limit` seconds; it is to be processed within
        `catch_up` seconds after the executors have come.
        """
        module = self.module
        steady = Stage(
            rate=self.foreseen or 0.0,
            service_time=self.service_time or 0.0,
            overhead=self.overhead,
            trigger=module.trigger,
            max_batch=inf if module.max_batch is None else module.max_batch,
            batches=self.batches,
            service_cv=self._reading.service_cv or module.service_cv,
            least=module.min_replicas,
            most=module.max_replicas,
        )
        return replace(steady, needs=self._needed(steady, limit, catch_up))

    def _needed(self, stage: Stage, limit: float, catch_up: float) -> int:
        """Executors that process late rows in time."""
        running, service = self._reading.running, stage.service_time
        waiting = known(self._reading.backlog)
        if waiting is None or not running or not service:
            return 1
        capacity, batch = running / service, known(self._reading.batch_duration) or 0.0
        in_work = stage.rate * (max(stage.trigger, batch) + batch)
        behind = max(waiting - in_work, 0.0)
        until = max(self.start_up, self._step)
        behind += max(stage.rate - capacity, 0.0) * until
        if behind / capacity + batch * 2.0 <= limit:
            return 1
        return ceil((stage.rate + behind / catch_up) * service / _ALL_BUSY)

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
        """How far off forecasts were recently, as a share."""
        if not self.margin or not isinstance(self.forecaster, Trusted):
            return 0.0
        error = self.forecaster.error
        return min(error, _MOST_MARGIN) if isfinite(error) else 0.0
