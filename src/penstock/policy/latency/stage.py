"""How long rows take through one module with so many executors.

A module that works in micro-batches takes up at the start of a batch what has come since the start
of the one before. With n executors, rows that come at a rate r and take s seconds each, and a batch
that costs o seconds beyond its rows, batches start every T = max(trigger, o / (1 - rho)) seconds,
rho = r s / n, and take rho T + o. A row waits anything up to T for its batch and then for its end.
A module that serves rows one by one is a queue (Kingman, with many servers).
"""

from dataclasses import dataclass
from math import inf, sqrt
from typing import Final

_TAIL: Final = 1.645
"""Standard deviations from the mean to the 95th percentile of a sum of several waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sojourn:
    """Seconds that rows spend in a module: their mean, and the square of their spread.

    >>> (Sojourn(mean=1.0, variance=0.5) + Sojourn(mean=2.0, variance=0.5)).p95
    4.645
    """

    mean: float = 0.0
    variance: float = 0.0

    def __add__(self, other: "Sojourn") -> "Sojourn":
        return Sojourn(mean=self.mean + other.mean, variance=self.variance + other.variance)

    @property
    def p95(self) -> float:
        """What 95 % of the rows stay under."""
        return self.mean + _TAIL * sqrt(self.variance)


NEVER: Final = Sojourn(mean=inf)
"""Of rows that come faster than they are served."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What is known of a module when executors are chosen for it.

    >>> count = Stage(rate=300.0, service_time=0.01, overhead=0.5, trigger=1.0, batches=True)
    >>> round(count.sojourn(4).p95, 2), round(count.sojourn(5).p95, 2), count.sojourn(3).p95
    (3.95, 2.47, inf)
    """

    rate: float
    """Rows a second that are foreseen."""
    service_time: float
    overhead: float = 0.0
    """Seconds of a micro-batch beyond its rows."""
    trigger: float = 0.0
    """Least seconds between the starts of two batches."""
    max_batch: float = inf
    """Seconds of work that an executor takes on in a batch, at most."""
    batches: bool = False
    service_cv: float = 1.0
    least: int = 1
    most: int = 20
    needs: int = 1
    """Executors that rows which wait already ask for."""

    def utilisation(self, executors: int) -> float:
        """Busy share of so many executors."""
        return self.rate * self.service_time / executors

    def sojourn(self, executors: int) -> Sojourn:
        """Seconds that rows spend here beside so many executors, once that has settled."""
        busy = self.utilisation(executors)
        if busy >= 1.0:
            return NEVER
        return self._batch(busy) if self.batches else self._queue(executors, busy)

    def _batch(self, busy: float) -> Sojourn:
        alone = self.overhead / (1.0 - busy)
        if alone > self.max_batch + self.overhead:
            return NEVER  # batches are too short to keep up with so few
        every = max(self.trigger, alone)
        takes = busy * every + self.overhead
        return Sojourn(mean=every / 2.0 + takes, variance=every**2 / 12.0)

    def _queue(self, executors: int, busy: float) -> Sojourn:
        crowd = busy ** (sqrt(2.0 * (executors + 1)) - 1.0) / (executors * (1.0 - busy))
        wait = (1.0 + self.service_cv**2) / 2.0 * crowd * self.service_time
        spread = wait**2 + (self.service_cv * self.service_time) ** 2
        return Sojourn(mean=wait + self.service_time, variance=spread)
