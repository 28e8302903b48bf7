"""The proportional-integral-derivative regulator of the ppq paper, as a value and a pure step.

No scaling by the time between steps: the gains belong to the period at which it is asked.
"""

from dataclasses import dataclass
from math import isfinite

from penstock.core.errors import SettingError


@dataclass(frozen=True, slots=True, kw_only=True)
class PidMemory:
    """What a regulator carries from one step to the next."""

    integral: float = 0.0
    last: float | None = None
    """The measurement of the last step; None before the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pid:
    """Turns how far a measurement is from its setpoint into a correction within bounds.

    >>> pid = Pid(setpoint=0.9, kp=1.8, kd=2.0, low=-0.3, high=0.3)
    >>> memory, out = pid.step(PidMemory(), 0.8)
    >>> round(out, 3)
    0.18
    >>> memory, out = pid.step(memory, 0.85)  # on its way: the derivative slows it down
    >>> round(out, 3)
    -0.01

    The derivative is of the measurement, so a new setpoint makes no jump. A regulator whose output
    must rise when the measurement does is `reverse`:

    >>> Pid(setpoint=0.05, kp=6.0, reverse=True, low=-1.0, high=1.0).step(PidMemory(), 0.15)[1]
    0.6
    """

    setpoint: float
    kp: float
    """Gain of the error."""
    low: float
    """The least output, and the least integral."""
    high: float
    """The largest output, and the largest integral."""
    ki: float = 0.0
    """Gain of the sum of errors."""
    kd: float = 0.0
    """Gain of the change since the last step, which it opposes."""
    reverse: bool = False
    """Whether the output rises with the measurement rather than falls."""

    def __post_init__(self) -> None:
        for name in ("setpoint", "kp", "ki", "kd", "low", "high"):
            if not isfinite(value := getattr(self, name)):
                raise SettingError(f"{name} of a PID must be a finite number, got {value}")
        for name in ("kp", "ki", "kd"):
            if (value := getattr(self, name)) < 0:
                raise SettingError(
                    f"{name} of a PID must be 0 or more, got {value:g}; "
                    "to act the other way round, set reverse"
                )
        if self.low > self.high:
            raise SettingError(
                f"low of a PID must be at most high, got {self.low:g} and {self.high:g}; swap them"
            )

    def step(self, memory: PidMemory, seen: float) -> tuple[PidMemory, float]:
        """The memory after a measurement, and the correction it asks for."""
        sign = -1.0 if self.reverse else 1.0
        error = sign * (self.setpoint - seen)
        change = 0.0 if memory.last is None else sign * (seen - memory.last)
        integral = self._clamp(memory.integral + self.ki * error)
        out = self._clamp(self.kp * error + integral - self.kd * change)
        return PidMemory(integral=integral, last=seen), out

    def _clamp(self, value: float) -> float:
        return min(max(value, self.low), self.high)
