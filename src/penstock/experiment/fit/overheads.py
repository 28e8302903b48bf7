"""What micro-batches take beyond their rows.

A batch lasts `overhead + task_overhead + rows * service_time / executors`. What executors were busy
with beyond their rows is `task_overhead`, what is left of the batch `overhead`. Both are
medians, so that a stall does not count, raised to the mean of the log-normal law about them where
their scatter is known.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import exp, expm1, sqrt
from typing import Final

import numpy as np

from penstock.core.graph import Module
from penstock.core.signals import Tick
from penstock.experiment.fit.batches import MicroBatch
from penstock.experiment.fit.estimate import Estimate, kept, middle
from penstock.experiment.fit.warming import beyond_rows, fresh, warm_up

_LEAST: Final = 0.01
"""Share of a batch below which task overhead is an artefact of batches across two steps."""
_MOST_SIGMA: Final = 1.5
"""Beyond it a few stalls would rule the mean."""


def overheads(
    ticks: Sequence[Tick], batches: Sequence[MicroBatch], module: Module, service_time: float
) -> list[Estimate]:
    """Of one module: `task_overhead`, `overhead`, `overhead_cv` and `warm_up`."""
    newcomers = fresh(ticks, batches, module.name)
    settled = [batch for batch in batches if batch not in newcomers]
    tasks = _task_overhead(ticks, batches, module)
    rest = _overhead(settled, module, service_time, tasks.value)
    sigma, scatter = _scatter(settled, module, service_time)
    raised = [
        told if told.kept else replace(told, value=told.value * exp(sigma**2 / 2))
        for told in (tasks, rest)
    ]
    usual = raised[0].value + raised[1].value
    return [*raised, scatter, warm_up(ticks, batches, module, service_time, usual)]


def _task_overhead(
    ticks: Sequence[Tick], batches: Sequence[MicroBatch], module: Module
) -> Estimate:
    name, setting, file = module.name, "task_overhead", module.task_overhead
    if not batches:
        return kept(name, setting, file, "no micro-batch was told")
    if not any(batch.service is not None for batch in batches):
        return kept(name, setting, file, "rows and tasks cannot be told apart")
    samples = _busy_beyond_rows(ticks, batches, module.name)
    if not samples:
        return kept(name, setting, file, "no step tells how busy executors were")
    value = middle(samples)
    return Estimate(
        of=name,
        setting=setting,
        value=value if value > _LEAST * middle([b.duration for b in batches]) else 0.0,
        file=file,
        samples=len(samples),
        how="busy time beyond the rows, median over steps",
    )


def _busy_beyond_rows(
    ticks: Sequence[Tick], batches: Sequence[MicroBatch], name: str
) -> list[float]:
    """Seconds that each task kept its executor busy beyond the rows, by step.

    Utilisation covers the time since the module last told it. Where executors were busy
    throughout, nobody knows with what.
    """
    found, since = [], 0.0
    for tick in ticks:
        seen = tick.seen.modules.get(name)
        if seen is None or seen.utilisation is None:
            continue
        begin, since = since, tick.seen.at
        inside = [batch for batch in batches if begin < batch.at <= tick.seen.at]
        if not inside or not seen.running or seen.utilisation >= 1:
            continue
        busy = seen.utilisation * seen.running * (tick.seen.at - begin)
        work = sum((b.service or 0.0) * b.rows * b.count for b in inside)
        found.append((busy - work) / (sum(b.count for b in inside) * seen.running))
    return found


def _overhead(
    batches: Sequence[MicroBatch], module: Module, service_time: float, task_overhead: float
) -> Estimate:
    name, setting, file = module.name, "overhead", module.overhead
    beyond = _beyond_rows(batches, service_time)
    if not beyond:
        return kept(name, setting, file, "no micro-batch was told")
    how = "time beyond rows and tasks, median over micro-batches"
    value = max(middle(beyond) - task_overhead, 0.0)
    return Estimate(of=name, setting=setting, value=value, file=file, samples=len(beyond), how=how)


def _scatter(
    batches: Sequence[MicroBatch], module: Module, service_time: float
) -> tuple[float, Estimate]:
    """Standard deviation of the logarithm of the time beyond the rows, and what it amounts to."""
    name, setting, file = module.name, "overhead_cv", module.overhead_cv
    single = [batch for batch in batches if batch.count == 1]
    beyond = np.array([value for value in _beyond_rows(single, service_time) if value > 0])
    if len(single) < len(batches) or beyond.size < 2:
        return 0.0, kept(name, setting, file, "single micro-batches were not told")
    sigma = min(float(np.log(beyond).std()), _MOST_SIGMA)
    how = "scatter of the time beyond the rows"
    cv, size = sqrt(expm1(sigma**2)), int(beyond.size)
    return sigma, Estimate(of=name, setting=setting, value=cv, file=file, samples=size, how=how)


def _beyond_rows(batches: Sequence[MicroBatch], service_time: float) -> list[float]:
    """Of batches between which executors neither came nor went."""
    steady = [after for before, after in pairwise(batches) if before.replicas == after.replicas]
    return [beyond_rows(batch, service_time) for batch in steady]
