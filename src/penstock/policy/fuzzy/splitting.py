"""Split panes just enough: the inner level of the ppq paper, Section 3.1, as values and pure steps.

A pane whose worker falls behind is cut into parts that other workers take. How large a part may
grow follows the splitting factor alpha, which a PID moves so that the load of the pane stage stays
at a setpoint: a load above it raises alpha, a larger alpha lowers the threshold, and panes are cut
into more parts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isnan

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.core.schema import Count, NotNegative, Positive, Share, checked
from penstock.policy.common.pid import Pid, PidMemory


@dataclass(frozen=True, slots=True, kw_only=True)
class SplittingMemory:
    """What the regulator carries from one period to the next."""

    alpha: float = 1.0
    """The splitting factor: typical parts stay whole at 1, larger values cut them smaller."""
    pid: PidMemory = field(default_factory=PidMemory)


@dataclass(frozen=True, slots=True, kw_only=True)
@checked("pane splitting")
class SplittingControl:
    """Moves the size at which a part of a pane is cut off, so that the load meets a setpoint.

    >>> control = SplittingControl()
    >>> memory = control.step(SplittingMemory(), 1.0)
    >>> round(memory.alpha, 3)
    1.18
    >>> round(control.threshold(memory, [80.0, 100.0, 120.0], closed_panes=5), 1)
    98.6

    A period in which nothing was measured changes nothing, and nothing is split before five panes
    have shown how large they are:

    >>> control.step(memory, None) == memory
    True
    >>> control.threshold(memory, [80.0, 100.0, 120.0], closed_panes=4) is None
    True
    """

    setpoint: Share = 0.9
    """The load of the pane stage to keep."""
    period: Positive = 0.25
    """Seconds from one step to the next."""
    kp: NotNegative = 1.8
    ki: NotNegative = 0.0
    kd: NotNegative = 2.0
    most: Positive = 0.3
    """The most that alpha changes in one period."""
    low: Positive = 0.1
    """The least alpha."""
    high: Positive = 20.0
    """The largest alpha."""
    panes: Count = 5
    """Panes that close before the first is split."""
    _pid: Pid = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.low < self.high:
            why = (
                f"low of pane splitting must be below its high, got {self.low:g} and {self.high:g}"
            )
            raise SettingError(why, fields=("low", "high"))
        # The threshold falls as alpha rises, so that alpha has to rise with the load.
        pid = Pid(
            setpoint=self.setpoint,
            kp=self.kp,
            ki=self.ki,
            kd=self.kd,
            low=-self.most,
            high=self.most,
            reverse=True,
        )
        object.__setattr__(self, "_pid", pid)

    def step(self, memory: SplittingMemory, load: float | None) -> SplittingMemory:
        """The memory after one period in which the pane stage had a load; unknown ones hold."""
        if load is None or isnan(load):
            return memory
        if load < 0:
            raise SettingError(f"load of the pane stage must be 0 or more, got {load:g}")
        pid, change = self._pid.step(memory.pid, min(load, _CLIP))
        return SplittingMemory(alpha=min(max(memory.alpha + change, self.low), self.high), pid=pid)

    def threshold(
        self,
        memory: SplittingMemory,
        sizes: Sequence[float] | NDArray[np.float64],
        closed_panes: int,
    ) -> float | None:
        """Rows at which a part is cut off, from the sizes of closed parts; None for never."""
        if closed_panes < self.panes or len(sizes) == 0:
            return None
        typical = float(np.mean(sizes) + np.std(sizes))
        return max(typical / memory.alpha, 1.0)


def check_period(period: float, step: float) -> None:
    """Reject to sample less often than executors are decided.

    >>> check_period(5.0, 2.5)
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: the sampling period must be at most the control interval, \
or panes would be split more slowly than executors come, got 5 s and 2.5 s; lower the period
    """
    if period > step:
        raise SettingError(
            "the sampling period must be at most the control interval, or panes would be split "
            f"more slowly than executors come, got {period:g} s and {step:g} s; lower the period"
        )


_CLIP = 1e6
"""An infinite load, of a stage that can do no work, is as any that is far above the setpoint."""
