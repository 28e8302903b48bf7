"""One step at a time."""

from dataclasses import KW_ONLY, dataclass

from penstock.core.errors import SettingError
from penstock.core.roles import Policy
from penstock.core.signals import Decision, Observation
from penstock.guard.revise import Ruling, revise
from penstock.policy.degrees import in_force


@dataclass
class StepLimit:
    """Adds and removes only so many executors of a module in one control step.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> StepLimit(Static(degrees=9), out=2)(seen(counter={"running": 4})).why
    'counter is set to 9; counter goes to 6, at most 2 more in a step'
    """

    policy: Policy
    _: KW_ONLY
    out: int = 1
    """Most executors added; 0 for none ever."""
    in_: int = 1
    """Most executors removed; 0 for none ever."""

    def __post_init__(self) -> None:
        """Refuse steps backwards."""
        for name, value in (("out", self.out), ("in", self.in_)):
            if not value >= 0:
                raise SettingError(f"{name} of guard step-limit must be 0 or more, got {value}")

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy wants, as far as one step goes."""
        known = in_force(seen)
        return revise(self.policy(seen), lambda name, n: self._rule(name, n, known.get(name, n)))

    def _rule(self, name: str, degree: int, now: int) -> Ruling | None:
        most, fewest = now + self.out, now - self.in_
        if degree > most:
            return Ruling(most, f"{name} {_goes(now, most)}, at most {self.out} more in a step")
        if degree < fewest:
            return Ruling(
                fewest, f"{name} {_goes(now, fewest)}, at most {self.in_} fewer in a step"
            )
        return None


def _goes(now: int, then: int) -> str:
    return f"goes to {then}" if now != then else f"stays at {now}"
