"""Only so many changes in a time."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from penstock.core.errors import SettingError
from penstock.core.settings import seconds
from penstock.core.signals import Observation
from penstock.core.units import format_duration
from penstock.policy.hierarchy.conflicts import Conflicts
from penstock.policy.hierarchy.rule import Answer, Proposal, refused


@dataclass
class TokenBucket:
    """Grants a change for a token, of which one comes `every` so many seconds.

    Tokens that nobody needs are kept, `burst` of them at most. Where modules want the same room it
    decides as `conflicts` does, and what that refuses takes no token; nor does a request that is
    granted for a region without room to know of it, since nothing changes by it.

    >>> from penstock.testing import seen
    >>> rule = TokenBucket(every=60.0)
    >>> wish = Proposal(level="application", manager="count", before=2, change=1, why="busy")
    >>> [rule.accept([wish], seen(at=at))[0].granted for at in (0.0, 30.0, 60.0)]
    [1, 0, 1]
    >>> rule.accept([wish], seen(at=75.0))[0].why
    'no token is left, the next comes in 45 s'
    """

    every: float = seconds(60.0)
    """Seconds in which a token comes."""
    burst: int = 1
    """Tokens that are kept, at most; there are as many at the start."""
    _conflicts: Conflicts = field(default_factory=Conflicts, init=False, repr=False)
    _tokens: float = field(default=0.0, init=False, repr=False, compare=False)
    _at: float | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse a bucket that is always empty, or never."""
        if not 0 < self.every < inf:
            raise SettingError(
                f"every of manager token-bucket must be above 0s and finite, got {self.every:g}s"
            )
        if self.burst < 1:
            raise SettingError(f"burst of manager token-bucket must be 1 or more, got {self.burst}")
        self._tokens = float(self.burst)

    def prioritise(self, proposals: Sequence[Proposal], seen: Observation, /) -> list[Proposal]:
        """The busiest first."""
        return self._conflicts.prioritise(proposals, seen)

    def accept(self, proposals: Sequence[Proposal], seen: Observation, /) -> list[Answer]:
        """What there is room and a token for."""
        self._refill(seen.at)
        return [self._pay(answer) for answer in self._conflicts.accept(proposals, seen)]

    def follow_up(self, answers: Sequence[Answer], _: Observation, /) -> str | None:
        """How many tokens are left, where some were asked for."""
        if not answers:
            return None
        whole = int(self._tokens + _ROUNDING)
        return f"{whole} of {self.burst} token{'s' * (self.burst > 1)} left"

    def _refill(self, at: float) -> None:
        passed = 0.0 if self._at is None else max(at - self._at, 0.0)
        self._tokens = min(self._tokens + passed / self.every, float(self.burst))
        self._at = at

    def _pay(self, answer: Answer) -> Answer:
        if not answer.granted or answer.roomless:
            return answer
        if self._tokens < 1 - _ROUNDING:
            wait = format_duration((1 - self._tokens) * self.every)
            return refused(answer.proposal, f"no token is left, the next comes in {wait}")
        self._tokens = max(self._tokens - 1, 0.0)
        return answer


_ROUNDING = 1e-9  # times are sums of steps
