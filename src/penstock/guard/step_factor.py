"""So many times more, such a share fewer."""

from dataclasses import KW_ONLY, dataclass
from math import ceil, floor, inf, isinf

from penstock.core.errors import SettingError
from penstock.core.roles import Policy
from penstock.core.signals import Decision, Observation
from penstock.guard.pace import percent
from penstock.guard.revise import Ruling, revise
from penstock.policy.degrees import in_force


@dataclass
class StepFactor:
    """Adds and removes only such a share of a module's executors in one control step.

    One executor more or fewer is always allowed. It is also known as scale-up.max-factor and
    scale-down.max-factor.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> StepFactor(Static(degrees=1))(seen(counter={"running": 10})).why
    'counter is set to 1; counter goes to 4, at most 60 % of 10 fewer in a step'
    """

    policy: Policy
    _: KW_ONLY
    out: float = inf
    """Largest share by which a module grows: 1 doubles it at most."""
    in_: float = 0.6
    """Largest share by which it shrinks: 0.6 leaves at least 40 % of it."""

    def __post_init__(self) -> None:
        """Refuse shares that nothing can grow or shrink by."""
        if not self.out > 0:
            raise SettingError(f"out of guard step-factor must be above 0, got {self.out:g}")
        if not 0 < self.in_ <= 1:
            raise SettingError(f"in of guard step-factor must be in (0, 1], got {self.in_:g}")

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy wants, as far as one step goes."""
        now = in_force(seen)
        return revise(self.policy(seen), lambda name, n: self._rule(name, n, now.get(name, n)))

    def _rule(self, name: str, degree: int, now: int) -> Ruling | None:
        most, fewest = self._most(now), self._fewest(now)
        if degree > most:
            how = f"at most {percent(self.out)} of {now} more in a step"
            return Ruling(int(most), f"{name} goes to {most:g}, {how}")
        if degree < fewest:
            how = f"at most {percent(self.in_)} of {now} fewer in a step"
            return Ruling(fewest, f"{name} goes to {fewest}, {how}")
        return None

    def _most(self, now: int) -> float:
        if isinf(self.out):
            return inf
        return max(now + 1, floor(now * (1 + self.out) + 1e-9))  # 100 * 1.15 is below 115 in binary

    def _fewest(self, now: int) -> int:
        return min(now - 1, ceil(now * (1 - self.in_) - 1e-9))
