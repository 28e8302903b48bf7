"""The controller of one module: foresees its load, and finds the best course for it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from penstock.core.module import Module
from penstock.core.roles import Forecaster
from penstock.core.signals import ModuleReading, Observation
from penstock.forecast import Trusted
from penstock.policy.game.estimate import is_known
from penstock.policy.mpc.costs import Outlook, Prices
from penstock.policy.mpc.horizon import Problem, Trajectory, solve
from penstock.policy.mpc.known import Known
from penstock.policy.mpc.options import Options

Optimiser = Callable[[Problem], Trajectory]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Course:
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
    options: Options


@dataclass
class Pilot:
    """Steers one module, as if it were alone: what is seen goes in, a course comes out.

    >>> from penstock.forecast import Last
    >>> from penstock.testing import seen
    >>> module = Module(name="count", service_time=0.01, max_replicas=8)
    >>> pilot = Pilot(module, Prices(strategy="th-node"), Last(), horizon=2)
    >>> pilot.take_in(seen(count={"arrival_rate": 350.0}))
    >>> course = pilot.course(degree=3, clock=None, clocks=(2.0,))
    >>> course.replicas, round(course.utilisation, 3)
    (4, 0.875)
    """

    module: Module
    prices: Prices
    forecaster: Forecaster
    horizon: int
    optimiser: Optimiser = solve
    catch_up: float | None = None
    """Seconds in which rows that wait are to be worked off."""
    arrival_cv: float = 1.0
    """Taken where it was never measured."""
    own_queues: bool = False
    """Whether each replica has a queue of its own."""
    steps: int = 0
    """Steps seen so far."""
    rate: float | None = None
    """Rows a second that came in the newest step, where they were measured."""
    _known: Known = field(init=False, repr=False)
    _behind: NDArray[np.float64] = field(init=False, repr=False)
    """Rows a second to be caught up on, by step."""

    def __post_init__(self) -> None:
        """Nothing was measured yet."""
        self._known = Known(self.module, arrival_cv=self.arrival_cv, own_queues=self.own_queues)
        self._behind = np.zeros(self.horizon)

    def take_in(self, seen: Observation) -> None:
        """Learn from a step."""
        reading = seen.modules.get(self.module.name, ModuleReading())
        self.steps += 1
        self.rate = reading.arrival_rate if is_known(reading.arrival_rate) else None
        if self.rate is not None:
            self.forecaster.update(self.rate)
        self._known.take_in(reading, clock=seen.frequency, headroom=self.prices.headroom)
        self._behind = self._backlog(reading.backlog, seen.step)

    def lacks(self) -> str | None:
        """What is missing to foresee anything, in words; None where nothing is."""
        if self.rate is None:
            return "arrival rate unknown"
        if not self._known.has_service_time:
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

    @np.errstate(over="ignore", invalid="ignore")  # a load beyond all numbers is an endless cost
    def course(
        self, *, degree: int, clock: float | None, clocks: Iterable[float], heaviest: float = 0.0
    ) -> Course:
        """The best course from a degree and a clock in GHz; None for a clock left to itself.

        `heaviest` is the share of the work that one key brings: a replica cannot share it.
        """
        module = self.module
        options = Options.of(least=module.min_replicas, most=module.max_replicas, clocks=clocks)
        outlook = self._outlook(options, heaviest)
        here = max(options.clocks) if clock is None else clock
        problem = Problem(
            stages=self.prices.stages(options, outlook),
            switching=self.prices.switching(options),
            start=self.prices.start(options, degree, here),
            current=options.index(degree, here),
            refuge=int(outlook.ideal.argmin()),
        )
        return self._course(options, outlook, self.optimiser(problem))

    def _outlook(self, options: Options, heaviest: float) -> Outlook:
        return Outlook(
            rates=self._rates(),
            service_times=self._known.service_times(options),
            parallel=np.minimum(options.replicas, _useful(heaviest)),
            arrival_cv=self._known.arrival_cv,
            service_cv=self._known.variability,
            correction=self._known.correction.factor,
            own_queues=self.own_queues,
        )

    def _course(self, options: Options, outlook: Outlook, best: Trajectory) -> Course:
        first, late = best.choices[0], self.prices.kind.latency
        responds = outlook.response_times(self.prices.headroom)[0, first] if late else None
        return Course(
            replicas=options.degree(first),
            clock=options.clock(first),
            rate=float(self._coming()[0]),
            behind=float(self._behind[0]),
            utilisation=float(outlook.utilisation[0, first]),
            useful=float(outlook.parallel[first]),
            response_time=None if responds is None else float(responds),
            trajectory=best,
            options=options,
        )

    def _coming(self) -> NDArray[np.float64]:
        return np.maximum(self.forecaster.forecast(self.horizon), 0.0)

    def _rates(self) -> NDArray[np.float64]:
        """Rows a second to be served, by step."""
        return self._coming() + self._behind

    def _backlog(self, rows: float | None, step: float) -> NDArray[np.float64]:
        """Rows that wait, spread over the steps in which they are to be worked off."""
        if self.catch_up is None or rows is None or not is_known(rows):
            return np.zeros(self.horizon)
        begins = step * np.arange(self.horizon)
        return np.where(begins < self.catch_up, rows / self.catch_up, 0.0)


def _useful(heaviest: float) -> float:
    """Replicas that can be busy at once if one key brings this share of the work."""
    return 1.0 / heaviest if heaviest else np.inf
