"""Capacity for what waits, and for what comes while executors start."""

from dataclasses import KW_ONLY, dataclass, field
from math import ceil

from penstock.core.errors import SettingError
from penstock.core.roles import Policy
from penstock.core.schema import Fraction, NotNegativeSeconds, PositiveSeconds, Share, checked
from penstock.core.signals import Decision, ModuleReading, Observation
from penstock.core.units import format_duration
from penstock.core.words import count_of, percent
from penstock.guard.common import Ruling, pace, reading, revise
from penstock.policy.common.degrees import in_force
from penstock.policy.common.estimates import RescaleTimes, known


@dataclass
@checked("guard catch-up")
class CatchUp:
    """Raises a degree until the backlog is processed within `duration`.

    The rows are those that wait and those that come while a change of degree takes place; the time
    that it takes is learned. They need `backlog / duration + arrival_rate * rescale_time / duration
    + arrival_rate / utilisation` rows a second. While rows wait no module shrinks. It never lowers
    a degree, and asks for as much as there is to catch up on: put a clamp around it. It is also
    known as catch-up.duration and restart.time.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> late = {"running": 4, "arrival_rate": 300.0, "backlog": 6e4, "service_time": 0.01}
    >>> CatchUp(Static(degrees=4), rescale_time=20.0)(seen(counter=late)).why
    'counter is set to 4; counter raised to 5 for 300 rows/s at 90 % busy and, within 10 min, \
60,000 waiting rows and 6,000 rows that arrive during the 20 s rescale'
    """

    policy: Policy
    _: KW_ONLY
    duration: PositiveSeconds = 600.0
    """Seconds in which to work it off, from when the executors are there."""
    utilisation: Share = 0.9
    """Busy share that rows that arrive in the meantime may take."""
    backlog: NotNegativeSeconds = 10.0
    """Seconds of arrivals that wait at any time and are no backlog, as in micro-batches."""
    rescale_time: NotNegativeSeconds = 10.0
    """Seconds that executors are taken to need until some were seen to come."""
    _times: RescaleTimes = field(default_factory=RescaleTimes, init=False, repr=False)

    def __post_init__(self) -> None:
        self._times = RescaleTimes(cap=self.duration)

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy wants, and enough to catch up."""
        self._times.observe(seen)
        now = in_force(seen)
        return revise(
            self.policy(seen), lambda name, n: self._rule(name, n, now.get(name, n), seen)
        )

    def rescale_time_of(self, name: str) -> float:
        """Seconds that a module takes to grow, as learned."""
        return self._times.of(name, prior=self.rescale_time)

    def _rule(self, name: str, degree: int, now: int, seen: Observation) -> Ruling | None:
        module = reading(seen, name)
        load = _load(module, self.backlog)
        if load is None or (degree == now and not load.late):
            return None
        time = self._times.left(name, seen.at, prior=self.rescale_time)
        if degree != now or self._needed(load, time) > now:
            time = self.rescale_time_of(name)  # a change is to come
        needed = max(self._needed(load, time), now if load.late and degree < now else 0)
        if needed <= degree or not (load.late or time):
            return None
        return Ruling(needed, f"{name} {_goes(now, needed)} {self._reason(load, time)}")

    def _needed(self, load: "_Load", time: float) -> int:
        """Executors for the target rate."""
        meanwhile = load.arrives * time / self.duration
        rate = load.late / self.duration + meanwhile + load.arrives / self.utilisation
        return ceil(rate / load.pace - 1e-9)

    def _reason(self, load: "_Load", time: float) -> str:
        arriving = count_of(load.arrives * time, "row")
        parts = [f"{count_of(load.late, 'waiting row')}"] if load.late else []
        parts += [f"{arriving} that arrive during the {format_duration(time)} rescale"] * bool(time)
        return (
            f"for {count_of(load.arrives, 'row')}/s at {percent(self.utilisation)} busy and, "
            f"within {format_duration(self.duration)}, {' and '.join(parts)}"
        )


@dataclass(frozen=True, slots=True)
class _Load:
    arrives: float
    """Rows a second."""
    late: float
    """Rows that wait; 0 where no more do than always."""
    pace: float
    """Rows a second of one executor."""


def _load(module: ModuleReading, tolerated: float) -> _Load | None:
    """What a module has to do, where that is known."""
    arrives, waits, each = known(module.arrival_rate), known(module.backlog), pace(module)
    if arrives is None or waits is None or each is None:
        return None
    return _Load(arrives, waits if waits > arrives * tolerated else 0.0, each)


def _goes(now: int, then: int) -> str:
    return f"stays at {now}" if now == then else f"{'raised' if then > now else 'goes'} to {then}"


# Busy enough, and not too busy.


@dataclass
@checked("guard dead-band")
class DeadBand:
    """Leaves a module alone while its utilisation lies between `low` and `high`.

    It may still grow where rows pile up: where its running executors would need longer than
    `backlog` for those that wait. It is also known as utilization.min and utilization.max.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> DeadBand(Static(degrees=6))(seen(counter={"running": 4, "utilisation": 0.7})).why
    'counter is set to 6; counter stays at 4, 70 % busy is between 50 % and 85 %'
    """

    policy: Policy
    _: KW_ONLY
    low: Fraction = 0.5
    """Busy share below which a module may change."""
    high: Fraction = 0.85
    """Busy share above which a module may change."""
    backlog: NotNegativeSeconds = 30.0
    """Seconds of work for the running executors that may wait before a module grows all the same;
    in micro-batches a few seconds of it always do."""

    def __post_init__(self) -> None:
        if self.low > self.high:
            why = f"low of guard dead-band is above its high, got {self.low:g} and {self.high:g}"
            raise SettingError(why, fields=("low", "high"))

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy wants, of the modules that are too busy or not busy enough."""
        now = in_force(seen)
        return revise(
            self.policy(seen),
            lambda name, n: self._rule(name, n, now.get(name, n), reading(seen, name)),
        )

    def _rule(self, name: str, degree: int, now: int, module: ModuleReading) -> Ruling | None:
        busy = module.utilisation
        if degree == now or busy is None or not self.low <= busy <= self.high:
            return None
        if degree > now and self._piles_up(module):
            return None
        band = f"between {percent(self.low)} and {percent(self.high)}"
        return Ruling(now, f"{name} stays at {now}, {percent(busy)} busy is {band}")

    def _piles_up(self, module: ModuleReading) -> bool:
        each, backlog, running = pace(module), known(module.backlog), module.running
        if each is None or backlog is None or running is None:
            return False
        return backlog > self.backlog * each * running
