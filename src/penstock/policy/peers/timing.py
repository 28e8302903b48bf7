"""Windows, beats and rests, counted in the seconds of the run: no rule reads a clock."""

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field

from penstock.core.units import format_duration

EXACT = 1e-9
"""Times are sums of steps."""


@dataclass
class Window:
    """Readings of the last so many seconds, the oldest falling out.

    >>> window = Window(10.0)
    >>> for at, value in ((0.0, 9.0), (5.0, 1.0), (10.0, 3.0)):
    ...     window.add(at, value)
    >>> window.mean(), window.most(), window.growth()
    (2.0, 3.0, 0.4)
    """

    span: float
    _held: deque[tuple[float, float]] = field(default_factory=deque, init=False, repr=False)

    def add(self, at: float, value: float) -> None:
        """Take in a reading; the newest is kept however short the window."""
        self._held.append((at, value))
        while len(self._held) > 1 and self._held[0][0] <= at - self.span + EXACT:
            self._held.popleft()

    def __len__(self) -> int:
        """Readings in the window."""
        return len(self._held)

    def mean(self) -> float:
        """Of at least one reading."""
        return sum(value for _, value in self._held) / len(self._held)

    def most(self) -> float:
        """The highest of at least one reading."""
        return max(value for _, value in self._held)

    def growth(self) -> float | None:
        """Change a second from the oldest reading to the newest; None with fewer than two."""
        if len(self._held) < 2:
            return None
        (start, first), (end, last) = self._held[0], self._held[-1]
        return (last - first) / (end - start)


@dataclass
class Beat:
    """Something that is done every so often, first at once or after one period.

    >>> beat = Beat(15.0)
    >>> [at for at in range(2, 40, 2) if beat.due(at, step=2.0)]
    [2, 18, 32]
    """

    period: float
    waits: bool = False
    """Whether the first comes a period after the start, and not at once."""
    next: float | None = field(default=None, init=False)
    """When it is due again, in seconds of the run."""

    def due(self, at: float, step: float) -> bool:
        """Whether it is time; if so, the next time is later."""
        if self.next is None:
            self.next = at - step + self.period if self.waits else at
        if at < self.next - EXACT:
            return False
        periods = (at - self.next + EXACT) // self.period + 1 if self.period else 0
        self.next += periods * self.period
        return True

    def left(self, at: float) -> float:
        """Seconds until it is due again."""
        return max((self.next or at) - at, 0.0)


@dataclass
class Rest:
    """How long ago something last changed, as it was seen to.

    >>> rest = Rest()
    >>> for at, degree in ((1.0, 2), (2.0, 2), (3.0, 4), (9.0, 4)):
    ...     rest.notice(at, degree)
    >>> rest.since(9.0)
    7.0
    """

    changed: float | None = field(default=None, init=False)
    """When the last change was decided: at the observation before the one that shows it."""
    _last: Hashable = field(default=None, init=False, repr=False)
    _at: float | None = field(default=None, init=False, repr=False)

    def notice(self, at: float, now: Hashable) -> None:
        """See what is in force; the first sight is no change."""
        if self._at is not None and now != self._last:
            self.changed = self._at
        self._last, self._at = now, at

    def since(self, at: float) -> float | None:
        """Seconds since the last change; None where there was none."""
        return None if self.changed is None else at - self.changed

    def over(self, at: float, after: float) -> bool:
        """Whether the last change, if any, is so many seconds past."""
        since = self.since(at)
        return since is None or since >= after - EXACT


def not_yet(rest: Rest, beat: Beat, *, at: float, step: float, cooldown: float) -> str | None:
    """Why nothing is judged now: a module has just changed, or it is not time; None where it is."""
    if not rest.over(at, cooldown):
        since = format_duration(rest.since(at) or 0.0)
        return f"a module changed {since} ago and all rest for {format_duration(cooldown)}"
    if not beat.due(at, step):
        return f"looks again in {format_duration(beat.left(at))}"
    return None
