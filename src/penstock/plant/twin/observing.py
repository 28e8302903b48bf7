"""What one control step measured, as any other plant would report it."""

import numpy as np
from numpy.typing import NDArray

from penstock.core.signals import Latency, ModuleReading
from penstock.plant.twin.totals import Totals

_SHARES = np.array([0.5, 0.95, 0.99])


def measured(now: Totals, before: Totals) -> ModuleReading:
    """What a station did between two moments; what had no sample is None."""
    step = now - before
    return ModuleReading(
        arrival_rate=step.arrival_rate,
        processed_rate=step.processed_rate,
        backlog=float(now.arrived - now.finished),
        utilisation=step.utilisation,
        service_time=step.service_time,
        service_cv=step.service_cv,
        batch_duration=step.batch_duration,
    )


def latency(ages: NDArray[np.float64], stations: NDArray[np.int64]) -> Latency | None:
    """Latency of the rows that left any of these stations in this step."""
    from penstock.plant.twin.latency import quantiles  # only a run needs numba

    found = np.empty(3)
    if not quantiles(ages, stations, _SHARES, found):
        return None
    p50, p95, p99 = found.tolist()
    return Latency(p50=p50, p95=p95, p99=p99)
