"""Flink's delayed scale-down: not at once, and no lower than the window's highest."""

from dataclasses import dataclass, field

from penstock.policy.peers.timing import EXACT


@dataclass
class DelayedScaleDown:
    """The scale-downs that were recommended of one module without a break.

    >>> delayed = DelayedScaleDown(interval=60.0)
    >>> [delayed.recommend(at, wanted, True) for at, wanted in ((0.0, 2), (30.0, 3), (60.0, 1))]
    [None, None, (3, True)]
    >>> delayed.recommend(100.0, 2, False)
    (2, False)
    """

    interval: float
    first: float | None = field(default=None, init=False)
    """When the first of them was recommended."""
    _recommended: list[tuple[float, int, bool]] = field(
        default_factory=list, init=False, repr=False
    )

    def clear(self) -> None:
        """Forget them: the module is to grow, to stay, or anything was rescaled."""
        self.first, self._recommended = None, []

    def recommend(self, at: float, wanted: int, outside: bool) -> tuple[int, bool] | None:
        """What the module may go down to now, and whether it was outside its band when that was
        recommended, the latest counting; None while it has to wait."""
        if self.first is None:
            self.first = at
        start = at - self.interval
        self._recommended = [one for one in self._recommended if one[0] >= start - EXACT]
        self._recommended.append((at, wanted, outside))
        if start < self.first - EXACT:
            return None
        _, degree, was_outside = max(reversed(self._recommended), key=lambda one: one[1])
        return degree, was_outside

    def left(self, at: float) -> float:
        """Seconds until a scale-down is possible."""
        return 0.0 if self.first is None else max(self.first + self.interval - at, 0.0)
