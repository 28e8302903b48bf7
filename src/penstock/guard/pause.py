"""Not now."""

from dataclasses import KW_ONLY, dataclass

from penstock.core.roles import Policy
from penstock.core.signals import Decision, Observation
from penstock.guard.revise import Ruling, revise
from penstock.policy.degrees import in_force


@dataclass
class Pause:
    """Stops growing, shrinking, or both; both unless one is named.

    It is also known as paused-scale-out and paused-scale-in.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> Pause(Static(degrees=1), in_=True)(seen(counter={"running": 4})).why
    'counter is set to 1; counter stays at 4, scaling in is paused'
    """

    policy: Policy
    _: KW_ONLY
    out: bool | None = None
    """Whether no module grows."""
    in_: bool | None = None
    """Whether no module shrinks."""

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy wants, in the direction that is not paused."""
        now = in_force(seen)
        return revise(self.policy(seen), lambda name, n: self._rule(name, n, now.get(name, n)))

    def _rule(self, name: str, degree: int, now: int) -> Ruling | None:
        both = self.out is None and self.in_ is None
        if degree > now and (both or self.out):
            return Ruling(now, f"{name} stays at {now}, scaling out is paused")
        if degree < now and (both or self.in_):
            return Ruling(now, f"{name} stays at {now}, scaling in is paused")
        return None
