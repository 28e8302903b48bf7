"""What rows cost.

The service time is the one that the module measured of its rows; where it measured none, it is
what executors were busy for each row.
"""

from collections.abc import Sequence
from math import sqrt

from penstock.core.graph import Module
from penstock.core.signals import Tick
from penstock.experiment.fit.batches import MicroBatch
from penstock.experiment.fit.estimate import Estimate, kept, steady_mean
from penstock.experiment.fit.overheads import overheads


def service(ticks: Sequence[Tick], batches: Sequence[MicroBatch], module: Module) -> list[Estimate]:
    """Of one module: `service_time`, `service_cv`, and the overheads of its micro-batches."""
    rows = _service_time(ticks, batches, module)
    return [
        rows,
        _service_cv(ticks, batches, module),
        *overheads(ticks, batches, module, rows.value),
    ]


def _service_time(ticks: Sequence[Tick], batches: Sequence[MicroBatch], module: Module) -> Estimate:
    name, setting, file = module.name, "service_time", module.service_time
    samples = [(b.service, b.rows) for b in batches if b.service is not None]
    how = "mean over the rows of micro-batches"
    if not samples:
        samples, how = _of_steps(ticks, name), "mean over the rows of steps"
    if not samples:
        samples, how = _of_busy_time(ticks, name), "busy executors by rows finished"
    if not samples:
        return kept(name, setting, file, "no step tells rows finished and how busy executors were")
    value = steady_mean(*zip(*samples, strict=True))
    return Estimate(of=name, setting=setting, value=value, file=file, samples=len(samples), how=how)


def _of_steps(ticks: Sequence[Tick], name: str) -> list[tuple[float, float]]:
    readings = [(tick.seen.step, tick.seen.modules.get(name)) for tick in ticks]
    return [
        (seen.service_time, seen.processed_rate * step)
        for step, seen in readings
        if seen and seen.service_time is not None and seen.processed_rate
    ]


def _of_busy_time(ticks: Sequence[Tick], name: str) -> list[tuple[float, float]]:
    readings = [(tick.seen.step, tick.seen.modules.get(name)) for tick in ticks]
    return [
        (seen.utilisation * seen.running / seen.processed_rate, seen.processed_rate * step)
        for step, seen in readings
        if seen and seen.utilisation and seen.running and seen.processed_rate
    ]


def _service_cv(ticks: Sequence[Tick], batches: Sequence[MicroBatch], module: Module) -> Estimate:
    name, setting, file = module.name, "service_cv", module.service_cv
    moments = [(b.service, b.squared, b.rows) for b in batches if b.service and b.squared]
    if moments:
        spreads = [sqrt(max(squared / mean**2 - 1, 0.0)) for mean, squared, _ in moments]
        weights = [rows for _, _, rows in moments]
    else:
        known = [(t.seen.modules.get(name), t.seen.step) for t in ticks]
        told = [(s, step) for s, step in known if s and s.service_cv is not None]
        spreads = [s.service_cv or 0.0 for s, _ in told]
        weights = [(s.processed_rate or 0.0) * step for s, step in told]
    if not spreads or not sum(weights):
        return kept(name, setting, file, "not measured")
    value = steady_mean(spreads, weights)
    how = "mean over the rows"
    return Estimate(
        of=name,
        setting=setting,
        value=0.0 if value < 1e-4 else value,
        file=file,
        samples=len(spreads),
        how=how,
    )
