"""What was last measured of a module, by which the next steps are judged: mpc, Section 5.3."""

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.module import Module
from penstock.core.signals import ModuleReading
from penstock.model.kingman import Correction, waiting_time
from penstock.model.scalability import Scalability, scalability, slowdown
from penstock.policy.game.estimate import is_known
from penstock.policy.mpc.options import Options

_MOST_VARIED: Final = 1e6
"""Coefficient of variation above which a measurement is taken to be a mistake."""
_FASTEST: Final = 1000.0
"""GHz that no processor reaches."""


@dataclass
class Known:
    """Service time, variability and the correction of the waiting time, each as last measured.

    A service time that was never measured is the declared one, at the clock that is seen first.

    >>> known = Known(Module(name="count", service_time=0.002))
    >>> options = Options.of(least=1, most=1, clocks=(1.0, 2.0))
    >>> known.take_in(ModuleReading(), clock=1.0, headroom=0.95)
    >>> known.service_times(options).tolist()
    [0.002, 0.001]
    >>> known.take_in(ModuleReading(service_time=0.003), clock=2.0, headroom=0.95)
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

    def take_in(self, reading: ModuleReading, *, clock: float | None, headroom: float) -> None:
        """Learn from a reading; what is unknown, and a time at an unknown clock, teach nothing."""
        self._vary(reading)
        if not is_legible(clock):
            return
        if self._alone is None and self.module.service_time:
            self._alone, self._clock = self.module.service_time, clock
        if reading.service_time and is_known(reading.service_time):
            beside = slowdown(self._model, float(max(reading.running or 1, 1)))
            self._alone, self._clock = reading.service_time / beside, clock
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
        beside = np.array([slowdown(self._model, n) for n in options.replicas.tolist()])
        times = (self._alone or 0.0) * beside
        clocked = times if self._clock is None else times * self._clock / options.clocks
        return np.minimum(clocked, np.finfo(float).max)  # a time that is none has no cost

    @property
    def _model(self) -> Scalability:
        return scalability(self.module)

    def _vary(self, reading: ModuleReading) -> None:
        if reading.arrival_cv is not None and 0.0 <= reading.arrival_cv < _MOST_VARIED:
            self.arrival_cv = reading.arrival_cv
        if reading.service_cv is not None and 0.0 <= reading.service_cv < _MOST_VARIED:
            self.service_cv = reading.service_cv

    def _correct(self, reading: ModuleReading, headroom: float) -> None:
        """Compare the wait with what the formula makes of the same step: mpc, Expr. 8.

        It is given the rate that came and not the one that was foreseen, and the replicas that ran
        and not those that were asked for: an error of the forecast, or a guard, is none of its own.
        """
        rate, wait, running = reading.arrival_rate, reading.waiting_time, reading.running or 0
        if not (is_known(rate) and is_known(wait) and running >= 1):
            return
        with np.errstate(over="ignore", invalid="ignore"):  # beyond bounds, it teaches nothing
            predicted = waiting_time(
                rate=rate or 0.0,
                service_time=reading.service_time or 0.0,
                replicas=running,
                arrival_cv=self.arrival_cv,
                service_cv=self.variability,
                headroom=headroom,
                own_queues=self.own_queues,
            )
        self.correction.update(measured=wait, predicted=predicted)


def is_legible(clock: float | None) -> bool:
    """Whether a clock can be reckoned with: none to decide on, or one that ticks.

    >>> is_legible(None), is_legible(1.6), is_legible(float("nan"))
    (True, True, False)
    """
    return clock is None or 0.0 < clock < _FASTEST
