"""A scale-up that did not help is taken back.

`RateByDegree` has the rate of a module at each degree while rows waited throughout: only then is
its rate that of its executors and not that of its load.

>>> levels = RateByDegree(window=60.0)
>>> late = {"backlog": 1e6, "processed_rate": 100.0, "arrival_rate": 500.0}
>>> for _ in range(3):
...     levels.observe(ModuleReading(running=2, **late), step=10.0)
>>> levels.rates[2], levels.seconds[2]
(100.0, 20.0)
"""

from dataclasses import KW_ONLY, dataclass, field

from penstock.core.roles import Policy
from penstock.core.schema import Fraction, PositiveSeconds, checked
from penstock.core.signals import Decision, ModuleReading, Observation
from penstock.core.units import format_duration
from penstock.core.words import percent
from penstock.guard.common import Ruling, pace, reading, revise
from penstock.policy.common.degrees import in_force
from penstock.policy.common.estimates import known


@dataclass
class RateByDegree:
    """Of one module: its mean rate at each degree of one stretch in which rows waited."""

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
        if not waiting:
            self._forget(module)
            return
        running = module.running or 0
        if running != self._running:
            self._begin(running, module)
        elif self._settling > 0:
            self._settling -= step
        else:
            self._add(running, module, step)

    def judged(self, running: int, module: ModuleReading) -> bool:
        """Whether a degree was measured for long enough: a window, and a few batches."""
        return self.seconds.get(running, 0.0) >= self._needed(module) - 1e-9

    def _needed(self, module: ModuleReading) -> float:
        return max(self.window, 3 * (module.batch_duration or 0.0))

    def _forget(self, module: ModuleReading) -> None:
        self.rates.clear()
        self.seconds.clear()
        self._running, self._settling = module.running, 0.0

    def _begin(self, running: int, module: ModuleReading) -> None:
        """At a new degree: a batch that was planned for the old one is run to its end first."""
        self._running, self._settling = running, module.batch_duration or 0.0
        self.rates.pop(running, None)
        self.seconds.pop(running, None)

    def _add(self, running: int, module: ModuleReading, step: float) -> None:
        """The mean of the last two windows or so: a stretch may be long, and rows change."""
        lasted = self.seconds.get(running, 0.0)
        before = min(lasted, 2 * self._needed(module))
        total = before * self.rates.get(running, 0.0) + step * _rate(module, running)
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


def _rate(module: ModuleReading, running: int) -> float:
    """Rows a second, but no more than executors can do: a batch that ends in a step is
    reported as if all of its rows had been processed in it."""
    each, rate = pace(module), module.processed_rate or 0.0
    return rate if each is None else min(rate, running * each)


@dataclass(frozen=True, slots=True)
class _Block:
    degree: int
    """The most that is allowed."""
    until: float
    why: str


@dataclass
@checked("guard effectiveness")
class Effectiveness:
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

    policy: Policy
    _: KW_ONLY
    threshold: Fraction = 0.1
    """Share of the gain that was to be expected below which a growth is ineffective."""
    window: PositiveSeconds = 60.0
    """Seconds for which a degree is measured before it is judged."""
    block: PositiveSeconds = 600.0
    """Seconds for which a module does not grow to that again."""
    _levels: dict[str, RateByDegree] = field(default_factory=dict, init=False, repr=False)
    _blocks: dict[str, _Block] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy wants, but for what did not help."""
        for name in seen.modules:
            self._judge(name, seen)
        return revise(self.policy(seen), lambda name, n: self._rule(name, n, seen.at))

    def _judge(self, name: str, seen: Observation) -> None:
        module, now = reading(seen, name), in_force(seen).get(name)
        levels = self._levels.setdefault(name, RateByDegree(self.window))
        levels.observe(module, seen.step)
        if now is None or not levels.judged(now, module):
            return
        before = self._as_good(levels, now)
        if before is not None:
            why = _describe(name, before, now, levels)
            self._blocks[name] = _Block(before, seen.at + self.block, why)

    def _as_good(self, levels: RateByDegree, now: int) -> int | None:
        """The fewest executors that did about as well as those of now."""
        fewer = sorted(n for n, rate in levels.rates.items() if 0 < n < now and rate > 0)
        return next((n for n in fewer if self._ineffective(levels, n, now)), None)

    def _ineffective(self, levels: RateByDegree, before: int, now: int) -> bool:
        return _gain(levels, before, now) < self.threshold * (now / before - 1)

    def _rule(self, name: str, degree: int, at: float) -> Ruling | None:
        block = self._blocks.get(name)
        if block is None or degree <= block.degree or at >= block.until - 1e-9:
            return None
        left = format_duration(block.until - at)
        return Ruling(
            block.degree, f"{block.why}: back to {block.degree}, no growth beyond for {left}"
        )


def _gain(levels: RateByDegree, before: int, now: int) -> float:
    return levels.rates[now] / levels.rates[before] - 1


def _describe(name: str, before: int, now: int, levels: RateByDegree) -> str:
    gain, hoped = percent(_gain(levels, before, now)), percent(now / before - 1)
    return f"growing {name} from {before} to {now} raised its rate by {gain} instead of {hoped}"
