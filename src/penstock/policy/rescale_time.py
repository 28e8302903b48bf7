"""How long it takes until executors that were asked for can take tasks, learned by watching.

>>> from penstock.testing import seen
>>> times = RescaleTimes()
>>> for at, running in ((0.0, 2), (2.0, 2), (4.0, 2), (6.0, 2), (8.0, 5)):
...     times.notice(seen(at=at, counter={"requested": 2 if at == 0 else 5, "running": running}))
>>> times.of("counter", prior=10.0)  # asked for at 0 s, there between 6 s and 8 s
7.0
"""

from dataclasses import dataclass, field
from statistics import median
from typing import Final

from penstock.core.signals import ModuleReading, Observation

_KEPT: Final = 9
"""Last times that count: the median of an odd few forgets, and no single one sways it."""


@dataclass
class RescaleTimes:
    """For each module, the median of its last times to grow.

    A time begins when executors are asked for and ends when as many are running. It lies between
    two observations, of which the middle is taken. One that takes longer than `cap` counts as
    that, once: what a full cluster never grants says nothing about the time that others take.
    Times to shrink are left out, because capacity is not missing meanwhile.
    """

    cap: float = 600.0
    _times: dict[str, list[float]] = field(default_factory=dict, init=False)
    _asked: dict[str, int] = field(default_factory=dict, init=False)
    _since: dict[str, float] = field(default_factory=dict, init=False)
    _before: float | None = field(default=None, init=False)

    def notice(self, seen: Observation) -> None:
        """Look whether executors were asked for, or have come."""
        for name, module in seen.modules.items():
            if module.requested is not None and module.running is not None:
                self._look(name, module.requested, module, seen)
        self._before = seen.at

    def of(self, name: str, *, prior: float) -> float:
        """Seconds that a module takes to grow; `prior` before it was seen to."""
        return median(self._times[name]) if self._times.get(name) else prior

    def left(self, name: str, at: float, *, prior: float) -> float:
        """Seconds that are left of a growth that is under way; 0 where none is."""
        if name not in self._since:
            return 0.0
        return max(self.of(name, prior=prior) - (at - self._since[name]), 0.0)

    def _look(self, name: str, requested: int, module: ModuleReading, seen: Observation) -> None:
        before, running = self._asked.get(name), module.running or 0
        self._asked[name] = requested
        if before is not None and requested > before:
            self._since[name] = seen.at - seen.step if self._before is None else self._before
        elif before is not None and requested < before:
            self._since.pop(name, None)  # it will not come to what was asked for
        if name not in self._since:
            return
        waited = seen.at - self._since[name]
        if running >= requested:
            earliest = max((self._before or 0.0) - self._since[name], 0.0)
            self._learn(name, (earliest + waited) / 2)
        elif waited > self.cap:
            self._learn(name, self.cap)

    def _learn(self, name: str, time: float) -> None:
        self._times[name] = [*self._times.get(name, []), min(time, self.cap)][-_KEPT:]
        del self._since[name]
