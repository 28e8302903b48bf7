"""No change too soon after the last."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field

from penstock.core.roles import Policy
from penstock.core.schema import NotNegativeSeconds, checked
from penstock.core.signals import Decision, Observation
from penstock.core.units import format_duration
from penstock.guard.common import Ruling, revise
from penstock.policy.common.degrees import in_force


@dataclass
@checked("guard cooldown")
class Cooldown:
    """Makes each module rest after a change before it grows, and longer before it shrinks.

    A change is one that was seen to take effect: what another guard refused does not count, and
    what another actor did does.

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
    out: NotNegativeSeconds = 0.0
    """Seconds after a change before a module may grow."""
    in_: NotNegativeSeconds = 300.0
    """Seconds after a change before a module may shrink."""
    _degrees: dict[str, int] = field(default_factory=dict, init=False, repr=False)
    _changed: dict[str, float] = field(default_factory=dict, init=False, repr=False)
    _decided_at: float = field(default=0.0, init=False, repr=False)

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy wants, of the modules that have rested."""
        self._observe(seen)
        return revise(self.policy(seen), lambda name, degree: self._rule(name, degree, seen.at))

    def _observe(self, seen: Observation) -> None:
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


# Growing at once, shrinking once it has been quiet for long.


@dataclass
@checked("guard scale-down")
class DelayedScaleDown:
    """Shrinks a module only to the largest degree that was recommended within `interval`.

    What was there at the start, or after a gap in the readings, counts as recommended. It is also
    known as scale-down.interval and stabilizationWindowSeconds.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> guard = DelayedScaleDown(Static(degrees=2), interval=300.0)
    >>> for at in (0.0, 60.0):
    ...     decided = guard(seen(at=at, counter={"running": 4}))
    >>> decided.why
    'counter is set to 2; counter stays at 4, recommended 1 min ago: the highest \
of the last 5 min applies'
    """

    policy: Policy
    _: KW_ONLY
    interval: NotNegativeSeconds = 600.0
    """Seconds of recommendations of which the largest counts. Less than the hour that is usual
    where a change restarts the job: executors of Spark come and go while it runs."""
    _wishes: dict[str, dict[int, float]] = field(default_factory=dict, init=False, repr=False)
    """By module, each degree that was recommended and when it last was."""

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy wants, and no less than it wanted recently."""
        decided, now = self.policy(seen), in_force(seen)
        self._observe(decided.configuration.degrees, now, seen.at)
        return revise(decided, lambda name, n: self._rule(name, n, now.get(name, n), seen.at))

    def _observe(self, degrees: Mapping[str, int], now: Mapping[str, int], at: float) -> None:
        for name, degree in degrees.items():
            wishes = self._wishes.setdefault(name, {})
            for wish in [wish for wish, when in wishes.items() if not self._recent(when, at)]:
                del wishes[wish]
            if not wishes:
                wishes[now.get(name, degree)] = at
            wishes[degree] = at

    def _recent(self, when: float, at: float) -> bool:
        return at - when < self.interval - 1e-9  # times are sums of steps

    def _rule(self, name: str, degree: int, now: int, at: float) -> Ruling | None:
        most, when = max(self._wishes[name].items())
        allowed = min(now, most)
        if degree >= allowed:
            return None
        goes = f"goes to {allowed}" if allowed != now else f"stays at {now}"
        which = "" if allowed == most else f"{most} "
        return Ruling(
            allowed,
            f"{name} {goes}, {which}recommended {format_duration(at - when)} ago: "
            f"the highest of the last {format_duration(self.interval)} applies",
        )
