"""What came of earlier changes, for Flink's two ways to learn from them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, inf

_MOST = 3
"""Changes that are remembered of each module (`history.max.count`)."""
_AGE = 86400.0
"""Seconds after which they are forgotten (`history.max.age`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A module's change of degree, and what was known when it was decided."""

    at: float
    before: int
    after: int
    rate: float
    """Rows a second that it could take in before."""
    expected: float
    """Rows a second that it was expected to take in after."""


@dataclass
class History:
    """The changes of one module that were seen to take effect."""

    changes: list[Change] = field(default_factory=list)
    pending: Change | None = None

    def notice(self, at: float, degree: int) -> None:
        """See the degree in force: what was decided last took effect, or a guard refused it."""
        if self.pending is not None and self.pending.after == degree and self.pending.rate < inf:
            self.changes.append(self.pending)
        self.pending = None
        self.changes = [one for one in self.changes if at - one.at <= _AGE][-_MOST:]

    def failed(self, degree: int, rate: float, threshold: float) -> str | None:
        """Why the last scale-up did not help, in words; None where it did or there was none."""
        last = self.changes[-1] if self.changes else None
        if last is None or last.after != degree or last.after <= last.before:
            return None
        hoped, got = last.expected - last.rate, rate - last.rate
        if not hoped > 0 or got / hoped >= threshold:
            return None
        return (
            f"from {last.before} to {last.after} brought {got:.3g} rows/s "
            f"where {hoped:.3g} were expected"
        )


def scalability(changes: Sequence[Change], fewest: int, low: float) -> float:
    """What an executor brings beside the first, by least squares: `sum(P R) / (beta sum(P^2))`.

    `beta` is what one executor did at the smallest degree seen, the latest such. At most 1, at
    least `low`, rounded up to two places; 1 with fewer than so many changes.

    >>> seen = [Change(at=0.0, before=p, after=p, rate=r, expected=r)
    ...         for p, r in ((1, 100.0), (2, 160.0), (4, 280.0))]
    >>> scalability(seen, fewest=3, low=0.5)
    0.74
    """
    if not changes or len(changes) < fewest:
        return 1.0
    least = min(reversed(changes), key=lambda change: change.before)
    beta = least.rate / least.before
    above = sum(change.before * change.rate for change in changes)
    below = beta * sum(change.before**2 for change in changes)
    alpha = above / below if below else 1.0
    return ceil(round(max(low, min(1.0, alpha)) * 100, 9)) / 100
