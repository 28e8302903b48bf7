"""Flink's delayed scale-down: not at once, and no lower than the window's highest."""

from dataclasses import dataclass, field

from penstock.policy.peers.timing import EXACT


@dataclass
class DelayedScaleDown:
    """The scale-downs that were recommended of one module without a break.

    >>> delayed = DelayedScaleDown(interval=60.0)
    >>> [delayed.recommend(at, wanted) for at, wanted in ((0.0, 2), (30.0, 3), (60.0, 1))]
    [None, None, 3]
    >>> delayed.recommend(100.0, 2)
    2
    """

    interval: float
    first: float | None = field(default=None, init=False)
    """When the first of them was recommended."""
    _recommended: list[tuple[float, int]] = field(default_factory=list, init=False, repr=False)

    def clear(self) -> None:
        """Forget them: the module is to grow, to stay, or anything was rescaled."""
        self.first, self._recommended = None, []

    def recommend(self, at: float, wanted: int) -> int | None:
        """What the module may go down to now; None while it has to wait."""
        if self.first is None:
            self.first = at
        start = at - self.interval
        self._recommended = [one for one in self._recommended if one[0] >= start - EXACT]
        self._recommended.append((at, wanted))
        if start < self.first - EXACT:
            return None
        return max(degree for _, degree in self._recommended)

    def left(self, at: float) -> float:
        """Seconds until a scale-down is possible."""
        return 0.0 if self.first is None else max(self.first + self.interval - at, 0.0)
