"""What it costs that an executor is new: its first micro-batch, in which it loads code and state.

A step sees that an executor has come, so that its first batch is one of those under way in that
step or the one after: the slowest of them.
"""

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

from penstock.core.graph import Module
from penstock.core.signals import Tick
from penstock.experiment.fit.batches import MicroBatch
from penstock.experiment.fit.estimate import Estimate, kept


def warm_up(
    ticks: Sequence[Tick],
    batches: Sequence[MicroBatch],
    module: Module,
    service_time: float,
    usual: float,
) -> Estimate:
    """Seconds beyond the usual overheads, mean over the times that executors came."""
    name, setting, file = module.name, "warm_up", module.warm_up
    if not all(batch.count == 1 for batch in batches):
        return kept(name, setting, file, "single micro-batches were not told")
    slowest = [
        max(beyond_rows(batch, service_time) for batch in about) - usual
        for about in _arrivals(ticks, batches, name)
    ]
    if not slowest:
        return kept(name, setting, file, "no executor was asked for and came")
    value = max(fmean(slowest), 0.0)
    how = "slowest batch as executors came, beyond the usual"
    return Estimate(of=name, setting=setting, value=value, file=file, samples=len(slowest), how=how)


def fresh(ticks: Sequence[Tick], batches: Sequence[MicroBatch], name: str) -> frozenset[MicroBatch]:
    """Batches that may have been the first of an executor; none where steps stand for batches."""
    if not all(batch.count == 1 for batch in batches):
        return frozenset()
    return frozenset(batch for about in _arrivals(ticks, batches, name) for batch in about)


def beyond_rows(batch: MicroBatch, service_time: float) -> float:
    """Seconds that a batch took beyond the work on its rows.

    >>> batch = MicroBatch(at=9.0, duration=1.0, rows=60, replicas=3, service=0.01)
    >>> round(beyond_rows(batch, 0.0), 3)
    0.8
    """
    return batch.duration - batch.share * (batch.service or service_time)


def _arrivals(
    ticks: Sequence[Tick], batches: Sequence[MicroBatch], name: str
) -> list[list[MicroBatch]]:
    """For each step in which executors came, the batches about it."""
    found = []
    for before, after in pairwise(ticks):
        was, now = _running(before, name), _running(after, name)
        if was is None or now is None or now <= was:
            continue
        begin, end = before.seen.at, after.seen.at
        about = [b for b in batches if b.at >= begin and b.at - b.duration <= end]
        later = [b for b in batches if b.at - b.duration > end][:1]
        if about or later:
            found.append([*about, *later])
    return found


def _running(tick: Tick, name: str) -> int | None:
    seen = tick.seen.modules.get(name)
    return seen.running if seen else None
