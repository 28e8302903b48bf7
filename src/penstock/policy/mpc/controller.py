"""The controller of one module: predicts its load, and finds the best course for it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.graph import Module
from penstock.core.roles import Forecaster
from penstock.core.signals import ModuleReading, Observation
from penstock.forecast import Trusted
from penstock.model.queueing import Correction, waiting_time
from penstock.model.scalability import scalability, slowdown
from penstock.policy.common.estimates import known, service_time
from penstock.policy.mpc.costs import Options, Outlook, Prices
from penstock.policy.mpc.horizon import Problem, Trajectory, solve

_MOST_VARIED: Final = 1e6
"""Coefficient of variation above which a measurement is taken to be a mistake."""
_FASTEST: Final = 1000.0
"""GHz that no processor reaches."""


@dataclass
class LastMeasured:
    """Service time, variability and the correction of the waiting time, each as last measured, by
    which the next steps are judged: mpc, Section 5.3.

    A service time that was never measured is the declared one, at the clock that is seen first.

    >>> known = LastMeasured(Module(name="count", service_time=0.002))
    >>> options = Options.of(least=1, most=1, clocks=(1.0, 2.0))
    >>> known.observe(ModuleReading(), clock=1.0, headroom=0.95)
    >>> known.service_times(options).tolist()
    [0.002, 0.001]
    >>> known.observe(ModuleReading(service_time=0.003), clock=2.0, headroom=0.95)
    >>> known.service_times(options).tolist()
    [0.006, 0.003]
    """

    module: Module
    arrival_cv: float = 1.0
    """Taken where it was never measured."""
    own_queues: bool = False
    """Whether each replica has a queue of its own."""
    service_cv: float | None = None
    correction: Correction = field(default_factory=Correction)
    _alone: float | None = None
    """Seconds that a row takes with no other replica about."""
    _clock: float | None = None
    """GHz at which that was measured."""

    def observe(self, reading: ModuleReading, *, clock: float | None, headroom: float) -> None:
        """Learn from a reading; unknown values, and a time at an unknown clock, are ignored."""
        if reading.arrival_cv is not None and 0.0 <= reading.arrival_cv < _MOST_VARIED:
            self.arrival_cv = reading.arrival_cv
        if reading.service_cv is not None and 0.0 <= reading.service_cv < _MOST_VARIED:
            self.service_cv = reading.service_cv
        if not is_valid_clock(clock):
            return
        if self._alone is None and self.module.service_time:
            self._alone, self._clock = self.module.service_time, clock
        if (alone := service_time(reading, scalability(self.module))) is not None:
            self._alone, self._clock = alone, clock
            self._correct(reading, headroom)

    @property
    def variability(self) -> float:
        """Coefficient of variation of the service time: measured, or as declared."""
        return self.module.service_cv if self.service_cv is None else self.service_cv

    @property
    def has_service_time(self) -> bool:
        """Whether it was measured or declared."""
        return self._alone is not None

    def service_times(self, options: Options) -> NDArray[np.float64]:
        """Seconds that a row takes at a replica of each option: mpc, Expr. 1."""
        model = scalability(self.module)
        beside = np.array([slowdown(model, n) for n in options.replicas.tolist()])
        times = (self._alone or 0.0) * beside
        clocked = times if self._clock is None else times * self._clock / options.clocks
        return np.minimum(clocked, np.finfo(float).max)  # a time that is none has no cost

    def _correct(self, reading: ModuleReading, headroom: float) -> None:
        """Compare the wait with what the formula makes of the same step: mpc, Expr. 8.

        It is given the rate that came and not the one that was predicted, and the replicas that ran
        and not those that were asked for: an error of the forecast, or a guard, is none of its own.
        """
        rate, wait = known(reading.arrival_rate), known(reading.waiting_time)
        running = reading.running or 0
        if rate is None or wait is None or running < 1:
            return
        with np.errstate(over="ignore", invalid="ignore"):  # beyond bounds, it is ignored
            predicted = waiting_time(
                rate=rate,
                service_time=reading.service_time or 0.0,
                replicas=running,
                arrival_cv=self.arrival_cv,
                service_cv=self.variability,
                headroom=headroom,
                own_queues=self.own_queues,
            )
        self.correction.update(measured=wait, predicted=predicted)


def is_valid_clock(clock: float | None) -> bool:
    """Whether a clock can be computed with: none to decide on, or one that ticks.

    >>> is_valid_clock(None), is_valid_clock(1.6), is_valid_clock(float("nan"))
    (True, True, False)
    """
    return clock is None or 0.0 < clock < _FASTEST


Optimiser = Callable[[Problem], Trajectory]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModulePlan:
    """What a module should do in the steps to come, and what it would be like."""

    replicas: int
    clock: float
    """GHz."""
    rate: float
    """Rows a second that are to come in the next step."""
    behind: float
    """Rows a second that are to be caught up on besides."""
    utilisation: float
    """Busy share of the replicas in the next step, above 1 where they cannot keep up."""
    useful: float
    """Replicas that can be busy at once: fewer than there are where one key is the bottleneck."""
    response_time: float | None
    """Mean seconds from arrival to result, for strategies that look at it."""
    trajectory: Trajectory


@dataclass
class ModuleController:
    """Controls one module, as if it were alone: what is seen goes in, a course comes out.

    >>> from penstock.forecast import Last
    >>> from penstock.testing import seen
    >>> module = Module(name="count", service_time=0.01, max_replicas=8)
    >>> known, prices = LastMeasured(module), Prices(strategy="th-node")
    >>> controller = ModuleController(known, prices, Last(), horizon=2)
    >>> controller.observe(seen(count={"arrival_rate": 350.0}))
    >>> plan = controller.plan(degree=3, clock=None, clocks=(2.0,))
    >>> plan.replicas, round(plan.utilisation, 3)
    (4, 0.875)
    """

    measured: LastMeasured
    prices: Prices
    forecaster: Forecaster
    horizon: int
    optimiser: Optimiser = solve
    catch_up: float | None = None
    """Seconds in which the backlog is to be processed."""
    rate: float | None = None
    """Rows a second that came in the newest step, where they were measured."""
    _behind: NDArray[np.float64] = field(init=False, repr=False)
    """Rows a second to be caught up on, by step."""

    def __post_init__(self) -> None:
        self._behind = np.zeros(self.horizon)

    def observe(self, seen: Observation) -> None:
        """Learn from a step."""
        reading = seen.modules.get(self.measured.module.name, ModuleReading())
        self.rate = known(reading.arrival_rate)
        if self.rate is not None:
            self.forecaster.update(self.rate)
        self.measured.observe(reading, clock=seen.frequency, headroom=self.prices.headroom)
        self._behind = self._backlog(reading.backlog, seen.step)

    def lacks(self) -> str | None:
        """What is missing to predict anything, as text; None where nothing is."""
        if self.rate is None:
            return "arrival rate unknown"
        if not self.measured.has_service_time:
            return "service time unknown"
        with np.errstate(over="ignore"):
            rates = self._rates()
        if not np.isfinite(rates).all():
            return "no forecast yet"
        return None

    @property
    def caveat(self) -> str | None:
        """What is to be known of the forecast, in words; None while it is taken as it is."""
        return self.forecaster.caveat if isinstance(self.forecaster, Trusted) else None

    @np.errstate(over="ignore", invalid="ignore")  # a load beyond all numbers is an infinite cost
    def plan(
        self, *, degree: int, clock: float | None, clocks: Iterable[float], heaviest: float = 0.0
    ) -> ModulePlan:
        """The best course from a degree and a clock in GHz; None for a clock left to itself.

        `heaviest` is the share of the work that one key brings: a replica cannot share it.
        """
        module = self.measured.module
        options = Options.of(least=module.min_replicas, most=module.max_replicas, clocks=clocks)
        outlook = Outlook(
            rates=self._rates(),
            service_times=self.measured.service_times(options),
            parallel=np.minimum(options.replicas, 1.0 / heaviest if heaviest else np.inf),
            arrival_cv=self.measured.arrival_cv,
            service_cv=self.measured.variability,
            correction=self.measured.correction.factor,
            own_queues=self.measured.own_queues,
        )
        here = max(options.clocks) if clock is None else clock
        problem = Problem(
            stages=self.prices.stages(options, outlook),
            switching=self.prices.switching(options),
            start=self.prices.start(options, degree, here),
            current=options.index(degree, here),
            fallback=int(outlook.ideal.argmin()),
        )
        best = self.optimiser(problem)
        first, late = best.choices[0], self.prices.kind.latency
        responds = outlook.response_times(self.prices.headroom)[0, first] if late else None
        return ModulePlan(
            replicas=int(options.replicas[first]),
            clock=float(options.clocks[first]),
            rate=float(self._coming()[0]),
            behind=float(self._behind[0]),
            utilisation=float(outlook.utilisation[0, first]),
            useful=float(outlook.parallel[first]),
            response_time=None if responds is None else float(responds),
            trajectory=best,
        )

    def _coming(self) -> NDArray[np.float64]:
        return np.maximum(self.forecaster.forecast(self.horizon), 0.0)

    def _rates(self) -> NDArray[np.float64]:
        """Rows a second to be served, by step."""
        return self._coming() + self._behind

    def _backlog(self, rows: float | None, step: float) -> NDArray[np.float64]:
        """The backlog, spread over the steps in which it is to be processed."""
        waiting = known(rows)
        if self.catch_up is None or waiting is None:
            return np.zeros(self.horizon)
        begins = step * np.arange(self.horizon)
        return np.where(begins < self.catch_up, waiting / self.catch_up, 0.0)
