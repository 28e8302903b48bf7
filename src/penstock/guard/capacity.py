"""Capacity: enough for what waits and comes, none where a module is busy enough or it is no use."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil

from penstock.core.errors import SettingError
from penstock.core.schema import Fraction, NotNegativeSeconds, PositiveSeconds, Share, checked
from penstock.core.signals import ModuleReading, Observation
from penstock.core.units import format_duration
from penstock.core.words import count_of, percent
from penstock.guard.common import Guard, ProposedDegree, Ruling, pace
from penstock.policy.common.degrees import in_force
from penstock.policy.common.estimates import TIME_TOLERANCE, RescaleTimes, known


@dataclass(kw_only=True)
@checked("guard catch-up")
class CatchUp(Guard):
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

    def observe(self, seen: Observation) -> None:
        """Learn how long executors take to come."""
        self._times.observe(seen)

    def rescale_time_of(self, name: str) -> float:
        """Seconds that a module takes to grow, as learned."""
        return self._times.of(name, prior=self.rescale_time)

    def rule(self, proposed: ProposedDegree) -> Ruling | None:
        """Enough to catch up."""
        name, degree, now = proposed.name, proposed.degree, proposed.now
        load = _load(proposed.module, self.backlog)
        if load is None or (degree == now and not load.late):
            return None
        time = self._times.left(name, proposed.seen.at, prior=self.rescale_time)
        if degree != now or self._needed(load, time) > now:
            time = self.rescale_time_of(name)  # a change is to come
        needed = max(self._needed(load, time), now if load.late and degree < now else 0)
        if needed <= degree or not (load.late or time):
            return None
        goes = f"{'raised' if needed > now else 'goes'} to {needed}"
        goes = f"stays at {now}" if now == needed else goes
        return Ruling(needed, f"{name} {goes} {self._reason(load, time)}")

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


@dataclass(kw_only=True)
@checked("guard dead-band")
class DeadBand(Guard):
    """Leaves a module alone while its utilisation lies between `low` and `high`.

    It may still grow where rows pile up: where its running executors would need longer than
    `backlog` for those that wait. It is also known as utilization.min and utilization.max.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> DeadBand(Static(degrees=6))(seen(counter={"running": 4, "utilisation": 0.7})).why
    'counter is set to 6; counter stays at 4, 70 % busy is between 50 % and 85 %'
    """

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

    def rule(self, proposed: ProposedDegree) -> Ruling | None:
        """A module that is busy enough stays as it is, unless rows pile up."""
        busy, grows = proposed.module.utilisation, proposed.degree > proposed.now
        if proposed.degree == proposed.now or busy is None or not self.low <= busy <= self.high:
            return None
        if grows and self._piles_up(proposed.module):
            return None
        band = f"between {percent(self.low)} and {percent(self.high)}"
        return proposed.refuse(f"{percent(busy)} busy is {band}")

    def _piles_up(self, module: ModuleReading) -> bool:
        each, backlog, running = pace(module), known(module.backlog), module.running
        if each is None or backlog is None or running is None:
            return False
        return backlog > self.backlog * each * running


@dataclass
class RateByDegree:
    """Of one module: its mean rate at each degree of one stretch in which rows waited throughout.

    Only then is its rate that of its executors and not that of its load.

    >>> levels = RateByDegree(window=60.0)
    >>> late = {"backlog": 1e6, "processed_rate": 100.0, "arrival_rate": 500.0}
    >>> for _ in range(3):
    ...     levels.observe(ModuleReading(running=2, **late), step=10.0)
    >>> levels.rates[2], levels.seconds[2]
    (100.0, 20.0)
    """

    window: float
    """Seconds for which a rate has to be measured at least."""
    rates: dict[int, float] = field(default_factory=dict, init=False)
    """Rows a second, by the number of executors that were running."""
    seconds: dict[int, float] = field(default_factory=dict, init=False)
    """How long each was measured."""
    _running: int | None = field(default=None, init=False)
    _settling: float = field(default=0.0, init=False)

    def observe(self, module: ModuleReading, step: float) -> None:
        """Count a step in; forget all once no rows wait, as the next stretch may differ."""
        waiting = rows_wait(module, step)
        if waiting is None:
            return
        running, batch = module.running or 0, module.batch_duration or 0.0
        if not waiting:
            self.rates, self.seconds = {}, {}
            self._running, self._settling = running, 0.0
        elif running != self._running:
            self.rates.pop(running, None)
            self.seconds.pop(running, None)
            # a batch that was planned for the old degree is run to its end first
            self._running, self._settling = running, batch
        elif self._settling > 0:
            self._settling -= step
        else:
            self._add(running, module, step)

    def judged(self, running: int, module: ModuleReading) -> bool:
        """Whether a degree was measured for long enough: a window, and a few batches."""
        return self.seconds.get(running, 0.0) >= self._needed(module) - 1e-9

    def _needed(self, module: ModuleReading) -> float:
        return max(self.window, 3 * (module.batch_duration or 0.0))

    def _add(self, running: int, module: ModuleReading, step: float) -> None:
        """The mean of the last two windows or so: a stretch may be long, and rows change.

        A rate is no more than executors can do: a batch that ends in a step is reported as if all
        of its rows had been processed in it.
        """
        each, rate = pace(module), module.processed_rate or 0.0
        rate = rate if each is None else min(rate, running * each)
        lasted = self.seconds.get(running, 0.0)
        before = min(lasted, 2 * self._needed(module))
        total = before * self.rates.get(running, 0.0) + step * rate
        self.seconds[running] = lasted + step
        self.rates[running] = total / (before + step)


def rows_wait(module: ModuleReading, step: float) -> bool | None:
    """Whether more rows wait than two steps or batches leave over; None where it is unknown.

    >>> rows_wait(ModuleReading(running=1, backlog=50.0, processed_rate=100.0), 1.0)
    False
    """
    waiting, rate = known(module.backlog), known(module.processed_rate)
    if waiting is None or rate is None or module.running is None:
        return None
    return waiting > 2 * max(step, module.batch_duration or 0.0) * rate


@dataclass(frozen=True, slots=True)
class _Block:
    degree: int
    """The most that is allowed."""
    until: float
    why: str


@dataclass(kw_only=True)
@checked("guard effectiveness")
class Effectiveness(Guard):
    """Takes back a growth that brought hardly more rows a second, and blocks it for a while.

    It judges only executors that came, and only while rows waited before and after: then the rate
    is all that the module can do. It goes back to the fewest executors that did about as well. It
    is also known as scaling.effectiveness.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> guard = Effectiveness(Static(degrees=8), window=20.0)
    >>> late = {"backlog": 1e6, "arrival_rate": 900.0, "processed_rate": 400.0}
    >>> for at in range(0, 80, 10):
    ...     n = 4 if at < 30 else 8
    ...     decided = guard(seen(at=at, step=10.0, counter={"running": n, **late}))
    >>> decided.why
    'counter is set to 8; growing counter from 4 to 8 raised its rate by 0 % instead of 100 %: \
back to 4, no growth beyond for 10 min'
    """

    threshold: Fraction = 0.1
    """Share of the gain that was to be expected below which a growth is ineffective."""
    window: PositiveSeconds = 60.0
    """Seconds for which a degree is measured before it is judged."""
    block: PositiveSeconds = 600.0
    """Seconds for which a module does not grow to that again."""
    _levels: dict[str, RateByDegree] = field(default_factory=dict, init=False, repr=False)
    _blocks: dict[str, _Block] = field(default_factory=dict, init=False, repr=False)

    def observe(self, seen: Observation) -> None:
        """Measure the degree of each module, and block one that did not help."""
        degrees = in_force(seen)
        for name, module in seen.modules.items():
            levels = self._levels.setdefault(name, RateByDegree(self.window))
            levels.observe(module, seen.step)
            now = degrees.get(name)
            if now is not None and levels.judged(now, module):
                self._judge(name, levels.rates, now, seen.at)

    def _judge(self, name: str, rates: Mapping[int, float], now: int, at: float) -> None:
        """Block a degree where fewer executors did about as well; the fewest are gone back to."""
        for before in sorted(n for n, rate in rates.items() if 0 < n < now and rate > 0):
            gain, hoped = rates[now] / rates[before] - 1, now / before - 1
            if gain < self.threshold * hoped:
                grew = f"growing {name} from {before} to {now}"
                why = f"{grew} raised its rate by {percent(gain)} instead of {percent(hoped)}"
                self._blocks[name] = _Block(before, at + self.block, why)
                return

    def rule(self, proposed: ProposedDegree) -> Ruling | None:
        """No growth to what did not help."""
        at, block = proposed.seen.at, self._blocks.get(proposed.name)
        if block is None or proposed.degree <= block.degree or at >= block.until - TIME_TOLERANCE:
            return None
        left = format_duration(block.until - at)
        return Ruling(
            block.degree, f"{block.why}: back to {block.degree}, no growth beyond for {left}"
        )
