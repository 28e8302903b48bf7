"""Rates of one module over a control step, from running totals."""

from dataclasses import dataclass

from penstock.spark.progress import Batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Rows a second, and rows that wait; None where a step did not tell."""

    arrival: float | None
    processed: float | None
    backlog: float | None


@dataclass(slots=True)
class Progress:
    """Running totals of one module, from which rates over a step follow."""

    read: int = 0
    begun: int = 0
    """What had been read when the first step began."""
    read_at: float | None = None
    arrived: int | None = None
    arrived_at: float = 0.0

    def advance(self, events: list[Batch], arrived: int | None, now: float) -> Rates:
        """Take in what a step brought: progress events, and rows that have come by now."""
        return Rates(
            processed=self._processed(events),
            arrival=self._arrival(arrived, now),
            backlog=None if arrived is None else float(max(arrived - self.read, 0)),
        )

    def _processed(self, events: list[Batch]) -> float | None:
        """Rows finished between the last event of this step and that of the step before."""
        if not events or events[-1].read is None:
            return None
        end, rows = events[-1].ended, events[-1].read - self.read
        begin = self.read_at if self.read_at is not None else events[0].started
        self.read, self.read_at = events[-1].read, end
        return rows / (end - begin) if end > begin else None

    def _arrival(self, arrived: int | None, now: float) -> float | None:
        if arrived is None:
            return None
        before, then = self.arrived, self.arrived_at
        self.arrived, self.arrived_at = arrived, now
        return None if before is None or now <= then else (arrived - before) / (now - then)
