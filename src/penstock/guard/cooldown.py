"""No change too soon after the last."""

from dataclasses import KW_ONLY, dataclass, field

from penstock.core.errors import SettingError
from penstock.core.roles import Policy
from penstock.core.settings import seconds
from penstock.core.signals import Decision, Observation
from penstock.core.units import format_duration
from penstock.guard.revise import Ruling, revise
from penstock.policy.degrees import in_force


@dataclass
class Cooldown:
    """Makes each module rest after a change before it grows, and longer before it shrinks.

    A change is one that was seen to take effect: what another guard refused does not count, and
    what somebody else did does.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> guard = Cooldown(Static(degrees=2), in_=60.0)
    >>> for at, degree in ((0.0, 2), (10.0, 4), (30.0, 4)):
    ...     decided = guard(seen(at=at, counter={"running": degree}))
    >>> decided.why
    'counter is set to 2; counter stays at 4, it changed 30 s ago and may shrink after 1 min'
    """

    policy: Policy
    _: KW_ONLY
    out: float = seconds(0.0)
    """Seconds after a change before a module may grow."""
    in_: float = seconds(300.0)
    """Seconds after a change before a module may shrink."""
    _degrees: dict[str, int] = field(default_factory=dict, init=False, repr=False)
    _changed: dict[str, float] = field(default_factory=dict, init=False, repr=False)
    _decided_at: float = field(default=0.0, init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse times that cannot pass."""
        for name, value in (("out", self.out), ("in", self.in_)):
            if not value >= 0:
                raise SettingError(f"{name} of guard cooldown must be 0 s or more, got {value:g}")

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy wants, of the modules that have rested."""
        self._notice(seen)
        return revise(self.policy(seen), lambda name, degree: self._rule(name, degree, seen.at))

    def _notice(self, seen: Observation) -> None:
        for name, degree in in_force(seen).items():
            if self._degrees.get(name, degree) != degree:
                self._changed[name] = self._decided_at
            self._degrees[name] = degree
        self._decided_at = seen.at

    def _rule(self, name: str, degree: int, at: float) -> Ruling | None:
        now = self._degrees.get(name, degree)
        rest, verb = (self.out, "grow") if degree > now else (self.in_, "shrink")
        since = at - self._changed.get(name, float("-inf"))
        if degree == now or since >= rest - 1e-9:  # times are sums of steps
            return None
        return Ruling(
            now,
            f"{name} stays at {now}, it changed {format_duration(since)} ago "
            f"and may {verb} after {format_duration(rest)}",
        )
