"""What a module brought about at each degree, while rows waited throughout.

Only then is its rate that of its executors and not that of its load.

>>> levels = Levels(window=60.0)
>>> late = {"backlog": 1e6, "processed_rate": 100.0, "arrival_rate": 500.0}
>>> for _ in range(3):
...     levels.notice(ModuleReading(running=2, **late), step=10.0)
>>> levels.rates[2], levels.seconds[2]
(100.0, 20.0)
"""

from dataclasses import dataclass, field

from penstock.core.signals import ModuleReading
from penstock.guard.pace import known, pace


@dataclass
class Levels:
    """Of one module: its mean rate at each degree of one stretch in which rows waited."""

    window: float
    """Seconds for which a rate has to be measured at least."""
    rates: dict[int, float] = field(default_factory=dict, init=False)
    """Rows a second, by the number of executors that were running."""
    seconds: dict[int, float] = field(default_factory=dict, init=False)
    """How long each was measured."""
    _running: int | None = field(default=None, init=False)
    _settling: float = field(default=0.0, init=False)

    def notice(self, module: ModuleReading, step: float) -> None:
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
    if not known(module.backlog, module.processed_rate, module.running):
        return None
    usual = 2 * max(step, module.batch_duration or 0.0) * (module.processed_rate or 0.0)
    return (module.backlog or 0.0) > usual


def _rate(module: ModuleReading, running: int) -> float:
    """Rows a second, but no more than executors can do: a batch that ends in a step is told as if
    all of its rows had been processed in it."""
    each, rate = pace(module), module.processed_rate or 0.0
    return rate if each is None else min(rate, running * each)
