"""Has a rate changed? A test that small, lasting deviations pass late and large ones at once.

The deviation of what is measured from what was last announced, as a logarithm, is summed up less
some slack, for rises and falls apart (CUSUM). Above a threshold it counts as a change, and what was
measured then is the rate from now on.

>>> watch = Watch(rate=2.0)
>>> [watch.sees(rate) for rate in (2.01, 1.99, 2.4)]
[False, False, True]
>>> watch.rate
2.4
>>> [watch.sees(2.48) for _ in range(4)]  # 3 % more, again and again
[False, True, False, False]
"""

from dataclasses import dataclass
from math import log
from typing import Final

from penstock.core.errors import SettingError

SLACK: Final = 0.02
THRESHOLD: Final = 0.02


@dataclass(slots=True, kw_only=True)
class Watch:
    """Of one rate."""

    rate: float
    """As it was announced last."""
    slack: float = SLACK
    """Deviation that is never a change, however long it lasts: a share, nearly."""
    threshold: float = THRESHOLD
    """Sum of deviations beyond the slack that is one."""
    _risen: float = 0.0
    _fallen: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a test that cannot be."""
        for name in ("slack", "threshold"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise SettingError(f"{name} must be in [0, 1), got {getattr(self, name):g}")

    def sees(self, measured: float) -> bool:
        """Whether this measurement shows a change."""
        deviation = log(measured / self.rate)
        self._risen = max(0.0, self._risen + deviation - self.slack)
        self._fallen = max(0.0, self._fallen - deviation - self.slack)
        if max(self._risen, self._fallen) <= self.threshold:
            return False
        self.rate, self._risen, self._fallen = measured, 0.0, 0.0
        return True
