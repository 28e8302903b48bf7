"""What Kubernetes makes of a recommendation: down by the window's highest, up by so much at once.

As its controller does where an autoscaler has no `behavior` of its own: a scale-down goes no lower
than the highest recommendation of the last 300 s, the replicas at the start counting as one; in
15 s replicas may double or grow by 4, whichever is more, counted from those of 15 s ago.
"""

from dataclasses import dataclass, field
from math import ceil

from penstock.core.units import format_duration
from penstock.policy.mpc.verdict import Verdict, held, moved
from penstock.policy.peers.deciding import check
from penstock.policy.peers.timing import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How fast replicas may come and go."""

    scale_down_window: float = 300.0
    scale_up_percent: float = 100.0
    scale_up_pods: int = 4
    scale_up_period: float = 15.0

    def check(self, policy: str) -> None:
        """Refuse limits that are none."""
        for name in self.__slots__:
            check(f"{name} of policy {policy}", getattr(self, name), 0.0)

    def most(self, start: int) -> int:
        """Replicas that a period may end with.

        >>> Limits().most(2), Limits().most(10)
        (6, 20)
        """
        by_share = ceil(start * (1 + self.scale_up_percent / 100) - 1e-9)
        return max(start + self.scale_up_pods, by_share)


@dataclass
class Stabiliser:
    """The memory of one module: what was recommended, and which changes came of it."""

    limits: Limits
    _recommended: Window = field(init=False, repr=False)
    _changes: list[tuple[float, int]] = field(default_factory=list, init=False, repr=False)
    _last: tuple[float, int] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Nothing has been recommended yet."""
        self._recommended = Window(self.limits.scale_down_window)

    def notice(self, at: float, degree: int) -> None:
        """See the degree in force; a change counts from the observation that it was decided at."""
        if self._last is None:
            self._recommended.add(at, degree)
        elif degree != self._last[1]:
            self._changes.append((self._last[0], degree - self._last[1]))
        start = at - self.limits.scale_up_period
        self._changes = [change for change in self._changes if change[0] > start + 1e-9]
        self._last = (at, degree)

    def settle(self, at: float, name: str, degree: int, wanted: int, why: str) -> Verdict:
        """The verdict on a module of which so many replicas are recommended, and why."""
        self._recommended.add(at, wanted)
        if wanted > degree:
            return self._up(name, degree, wanted, why)
        if wanted == degree:
            return held(name, degree, why)
        return self._down(name, degree, wanted, why)

    def _up(self, name: str, degree: int, wanted: int, why: str) -> Verdict:
        most = max(self.limits.most(degree - sum(n for _, n in self._changes)), degree)
        if wanted <= most:
            return moved(name, degree, wanted, why)
        in_ = format_duration(self.limits.scale_up_period)
        limited = f"{why} wants {wanted}, and {most} is the most allowed in {in_}"
        if most == degree:
            return held(name, degree, limited)
        return moved(name, degree, most, limited)

    def _down(self, name: str, degree: int, wanted: int, why: str) -> Verdict:
        highest = min(int(self._recommended.most()), degree)
        window = format_duration(self.limits.scale_down_window)
        if highest == wanted:
            return moved(name, degree, wanted, why)
        limited = f"{why} wants {wanted}, and {highest} is the highest of the last {window}"
        if highest == degree:
            return held(name, degree, limited)
        return moved(name, degree, highest, limited)
