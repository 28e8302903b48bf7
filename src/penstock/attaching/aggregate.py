"""One application out of its queries: their rows weigh by the work that they cost.

A row of a heavy query is more to do than one of a light one. With service times s_i and rows r_i
the application has a mean service time s = sum(r_i s_i) / sum(r_i), and rows that wait count as
b_i s_i / s: so many mean rows are as much work.

>>> light = ModuleReading(processed_rate=90.0, backlog=100.0, service_time=0.01)
>>> heavy = ModuleReading(processed_rate=10.0, backlog=100.0, service_time=0.11)
>>> both = combine({"light": light, "heavy": heavy})
>>> round(both.service_time, 3), round(both.backlog, 1), both.processed_rate
(0.02, 600.0, 100.0)
"""

from collections.abc import Iterable, Mapping, Sequence

from penstock.attaching.latency import end_to_end
from penstock.core.signals import ModuleReading

Readings = Mapping[str, ModuleReading]


def combine(queries: Readings, feeds: Mapping[str, Sequence[str]] | None = None) -> ModuleReading:
    """The readings of all queries as one; unknown where no query tells."""
    told = list(queries.values())
    mean = mean_service_time(told)
    return ModuleReading(
        arrival_rate=_sum(r.arrival_rate for r in told),
        processed_rate=_sum(r.processed_rate for r in told),
        backlog=_sum(_weighed(r, mean) for r in told),
        service_time=mean,
        batch_duration=_mean((r.batch_duration, r.processed_rate) for r in told),
        latency=end_to_end({name: r.latency for name, r in queries.items()}, feeds or {}),
        state_rows=_whole(_sum(r.state_rows for r in told)),
    )


def mean_service_time(told: Iterable[ModuleReading]) -> float | None:
    """Seconds of an executor for a mean row of all queries."""
    return _mean((reading.service_time, reading.processed_rate) for reading in told)


def _weighed(reading: ModuleReading, mean: float | None) -> float | None:
    """The rows of a query that wait, in mean rows."""
    if reading.backlog is None or reading.service_time is None or not mean:
        return reading.backlog
    return reading.backlog * reading.service_time / mean


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _mean(pairs: Iterable[tuple[float | None, float | None]]) -> float | None:
    """The mean of the values that are known, by their weights; by none where all weigh nothing."""
    known = [(value, weight or 0.0) for value, weight in pairs if value is not None]
    total = sum(weight for _, weight in known)
    if not known:
        return None
    if total <= 0:
        return sum(value for value, _ in known) / len(known)
    return sum(value * weight for value, weight in known) / total


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
