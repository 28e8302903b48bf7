"""How long executors are kept after they were needed: learned from having missed them.

Giving one back saves its cost and risks that rows come before another has started. Where executors
were given back and rows were late soon after, they are kept twice as long from then on; every time
they are given back, a little less.
"""

from dataclasses import dataclass, field
from typing import Final

_FEWEST: Final = 1.0
_MOST: Final = 20.0
"""Starts of an executor for which it is kept."""
_SOON: Final = 30.0
"""Starts of an executor within which one that was given back counts as missed."""
_LESS: Final = 0.95
_SHORTEST: Final = 10.0
"""Seconds that the start of an executor is taken to last at the least."""


@dataclass
class Keep:
    """Of one module: what was needed lately, and how far back that counts.

    >>> keep = Keep()
    >>> [keep.degree(n, at=10.0 * i, now=5, start_up=10.0) for i, n in enumerate((5, 2, 2))]
    [5, 5, 2]
    >>> keep.missed(at=40.0, start_up=10.0)
    >>> keep.starts
    2.0
    """

    fixed: float | None = None
    """Seconds that are not learned but given."""
    starts: float = field(default=_FEWEST, init=False)
    """Starts of an executor for which it is kept."""
    _needed: list[tuple[float, int]] = field(default_factory=list, init=False, repr=False)
    """When, and how many."""
    _gave_back: float | None = field(default=None, init=False, repr=False)

    def degree(self, needed: int, *, at: float, now: int | None, start_up: float) -> int:
        """Executors to have: those needed, or as many as were needed within the time."""
        since = at - self.seconds(start_up)
        self._needed = [(t, n) for t, n in self._needed if t >= since - 1e-9] + [(at, needed)]
        if now is None or needed >= now:
            return needed
        kept = min(max(n for _, n in self._needed), now)
        if kept < now:
            self._gave_back = at
            self.starts = max(self.starts * _LESS, _FEWEST)
        return kept

    def missed(self, *, at: float, start_up: float) -> None:
        """Rows will be late: had executors been given back just before?"""
        if self._gave_back is None:
            return
        if at - self._gave_back <= _SOON * max(start_up, _SHORTEST):
            self.starts = min(2.0 * self.starts, _MOST)
        self._gave_back = None

    def seconds(self, start_up: float) -> float:
        """For how long executors are kept."""
        return self.starts * max(start_up, _SHORTEST) if self.fixed is None else self.fixed
