"""The settings of a twin, estimated from a recording.

**Rows.** The service time is the one that the module measured of its rows; where it measured none,
it is what executors were busy for each row.

**Micro-batches.** A batch lasts `overhead + task_overhead + rows * service_time / executors`. What
executors were busy with beyond their rows is `task_overhead`, what is left of the batch `overhead`.
Both are medians, so that a stall does not count, raised to the mean of the log-normal law about
them where their scatter is known.

**New executors** load code and state in their first micro-batch. A step sees that an executor has
come, so that its first batch is one of those under way in that step or the one after: the slowest
of them.

**Selectivities and probabilities.** The rows that came to a module are those that the modules
before it sent. Where several feed one, whose rows they were is unknown: their shares stay as the
file has them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import exp, expm1, isfinite, sqrt
from statistics import fmean
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.signals import Tick, current
from penstock.experiment.fit.batches import MicroBatch
from penstock.record.measures import column, steps

FAR: Final = 4.0
"""Samples further from the median than so many median deviations are left out of a mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a recording says of a setting, and how many samples that rests on.

    >>> estimate = Estimate(of="counter", setting="overhead", value=0.4, file=0.35, samples=80,
    ...                     how="median over micro-batches")
    >>> estimate.kept, estimate.value
    (False, 0.4)
    """

    of: str
    """The module, or the stream as `splitter -> counter`."""
    setting: str
    """As pipeline files call it."""
    value: float
    """What the twin gets; the file's own value where there is no sample. Seconds, or a ratio."""
    file: float
    """What the pipeline file of the recording says."""
    samples: int
    how: str
    """In a few words, how it was estimated, or why it was not."""

    @property
    def kept(self) -> bool:
        """Whether it could not be estimated, so that the file's value stays."""
        return self.samples == 0


def kept(of: str, setting: str, file: float, why: str) -> Estimate:
    """A setting of which the recording says nothing."""
    return Estimate(of=of, setting=setting, value=file, file=file, samples=0, how=why)


def estimated(of: str, setting: str, file: float, value: float, samples: int, how: str) -> Estimate:
    """A setting of which the recording has samples."""
    return Estimate(of=of, setting=setting, value=value, file=file, samples=samples, how=how)


def middle(samples: Sequence[float]) -> float:
    """The median."""
    return float(np.median(samples))


def steady_mean(values: ArrayLike, weights: ArrayLike) -> float:
    """The weighted mean of what lies near the median: a mean that one mishap does not move.

    >>> steady_mean([1.0, 1.1, 0.9, 40.0], [1, 1, 1, 1])
    1.0
    """
    value, weight = np.asarray(values, float), np.asarray(weights, float)
    off = np.abs(value - np.median(value))
    near = off <= FAR * max(float(np.median(off)), 1e-3 * abs(float(np.median(value))))
    return float(np.average(value[near], weights=weight[near]))


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
        return kept(name, setting, file, "single micro-batches were not recorded")
    slowest = [
        max(beyond_rows(batch, service_time) for batch in about) - usual
        for about in _arrivals(ticks, batches, name)
    ]
    if not slowest:
        return kept(name, setting, file, "no executor was asked for and came")
    value = max(fmean(slowest), 0.0)
    how = "slowest batch as executors came, beyond the usual"
    return estimated(name, setting, file, value, len(slowest), how)


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
    arrivals = []
    for before, after in pairwise(ticks):
        was, now = _running(before, name), _running(after, name)
        if was is None or now is None or now <= was:
            continue
        begin, end = before.seen.at, after.seen.at
        about = [b for b in batches if b.at >= begin and b.at - b.duration <= end]
        later = [b for b in batches if b.at - b.duration > end][:1]
        if about or later:
            arrivals.append([*about, *later])
    return arrivals


def _running(tick: Tick, name: str) -> int | None:
    seen = tick.seen.modules.get(name)
    return seen.running if seen else None


_LEAST: Final = 0.01
"""Share of a batch below which task overhead is an artefact of batches across two steps."""
_MOST_SIGMA: Final = 1.5
"""Beyond it a few stalls would rule the mean."""


def overheads(
    ticks: Sequence[Tick], batches: Sequence[MicroBatch], module: Module, service_time: float
) -> list[Estimate]:
    """Of one module: `task_overhead`, `overhead`, `overhead_cv` and `warm_up`."""
    first = fresh(ticks, batches, module.name)
    settled = [batch for batch in batches if batch not in first]
    tasks = _task_overhead(ticks, batches, module)
    rest = _overhead(settled, module, service_time, tasks.value)
    sigma, scatter = _scatter(settled, module, service_time)
    raised = [
        each if each.kept else replace(each, value=each.value * exp(sigma**2 / 2))
        for each in (tasks, rest)
    ]
    usual = raised[0].value + raised[1].value
    return [*raised, scatter, warm_up(ticks, batches, module, service_time, usual)]


def _task_overhead(
    ticks: Sequence[Tick], batches: Sequence[MicroBatch], module: Module
) -> Estimate:
    name, setting, file = module.name, "task_overhead", module.task_overhead
    if not batches:
        return kept(name, setting, file, "no micro-batch was recorded")
    if not any(batch.service is not None for batch in batches):
        return kept(name, setting, file, "the times of rows and tasks cannot be separated")
    samples = _busy_beyond_rows(ticks, batches, module.name)
    if not samples:
        return kept(name, setting, file, "no step records how busy executors were")
    value = middle(samples)
    value = value if value > _LEAST * middle([b.duration for b in batches]) else 0.0
    how = "busy time beyond the rows, median over steps"
    return estimated(name, setting, file, value, len(samples), how)


def _busy_beyond_rows(
    ticks: Sequence[Tick], batches: Sequence[MicroBatch], name: str
) -> list[float]:
    """Seconds that each task kept its executor busy beyond the rows, by step.

    Utilisation covers the time since the module last reported it. At full utilisation the share
    of the rows is unknown.
    """
    samples, since = [], 0.0
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
        samples.append((busy - work) / (sum(b.count for b in inside) * seen.running))
    return samples


def _overhead(
    batches: Sequence[MicroBatch], module: Module, service_time: float, task_overhead: float
) -> Estimate:
    name, setting, file = module.name, "overhead", module.overhead
    beyond = _beyond_rows(batches, service_time)
    if not beyond:
        return kept(name, setting, file, "no micro-batch was recorded")
    how = "time beyond rows and tasks, median over micro-batches"
    value = max(middle(beyond) - task_overhead, 0.0)
    return estimated(name, setting, file, value, len(beyond), how)


def _scatter(
    batches: Sequence[MicroBatch], module: Module, service_time: float
) -> tuple[float, Estimate]:
    """Standard deviation of the logarithm of the time beyond the rows, and what it amounts to."""
    name, setting, file = module.name, "overhead_cv", module.overhead_cv
    single = [batch for batch in batches if batch.count == 1]
    beyond = np.array([value for value in _beyond_rows(single, service_time) if value > 0])
    if len(single) < len(batches) or beyond.size < 2:
        return 0.0, kept(name, setting, file, "single micro-batches were not recorded")
    sigma = min(float(np.log(beyond).std()), _MOST_SIGMA)
    how = "scatter of the time beyond the rows"
    cv, size = sqrt(expm1(sigma**2)), int(beyond.size)
    return sigma, estimated(name, setting, file, cv, size, how)


def _beyond_rows(batches: Sequence[MicroBatch], service_time: float) -> list[float]:
    """Of batches between which executors neither came nor went."""
    steady = [after for before, after in pairwise(batches) if before.replicas == after.replicas]
    return [beyond_rows(batch, service_time) for batch in steady]


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
        return kept(
            name, setting, file, "no step records rows finished and how busy executors were"
        )
    value = steady_mean(*zip(*samples, strict=True))
    return estimated(name, setting, file, value, len(samples), how)


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
        measured = [(s, step) for s, step in known if s and s.service_cv is not None]
        spreads = [s.service_cv or 0.0 for s, _ in measured]
        weights = [(s.processed_rate or 0.0) * step for s, step in measured]
    if not spreads or not sum(weights):
        return kept(name, setting, file, "not measured")
    value = steady_mean(spreads, weights)
    how = "mean over the rows"
    value = 0.0 if value < 1e-4 else value
    return estimated(name, setting, file, value, len(spreads), how)


# How long executors take from being asked for until they take tasks.
#
# A step sees that an executor has come, not when: in the middle of the step, on average.


def start_up(ticks: Sequence[Tick], module: Module) -> Estimate:
    """Of one module, the median over the executors that came while the run lasted."""
    name, setting, file = module.name, "start_up", module.start_up
    delays = waits(ticks, name)
    if not delays:
        return kept(name, setting, file, "no executor was asked for and came")
    how = "from request to running, median over executors"
    value = middle(delays)
    return estimated(name, setting, file, value, len(delays), how)


def waits(ticks: Sequence[Tick], name: str) -> list[float]:
    """Seconds that each executor took; one that was given up before it came is left out.

    Those that were asked for first come first, and those asked for last are given up first.
    """
    waiting: list[float] = []
    delays: list[float] = []
    asked: int | None = None
    running: int | None = None
    for tick in ticks:
        seen = tick.seen.modules.get(name)
        now = seen.running if seen else None
        if now is not None:
            came = max(now - running, 0) if running is not None else 0
            moment = tick.seen.at - tick.seen.step / 2
            delays += [max(moment - at, 0.0) for at in waiting[:came]]
            del waiting[:came]
            running = now
        before = asked if asked is not None else current(tick.seen).degrees.get(name)
        asked = tick.asked.degrees.get(name, before) if tick.asked else before
        if asked is not None and before is not None:
            waiting += [tick.seen.at] * max(asked - before, 0)
            del waiting[max(len(waiting) - max(before - asked, 0), 0) :]
    return delays


Batches = Mapping[str, Sequence[MicroBatch]]


def flows(ticks: Sequence[Tick], graph: FlowGraph, batches: Batches) -> list[Estimate]:
    """The selectivity of every stream, and its probability where a module feeds several."""
    factors = {target: _factor(ticks, graph, target, batches) for target in _targets(graph)}
    outputs = [graph.outputs(name) for name in graph.order()]
    return [estimate for streams in outputs for estimate in _of_origin(streams, factors)]


def applied(streams: Sequence[Stream], estimates: Sequence[Estimate]) -> tuple[Stream, ...]:
    """The streams with what was estimated of them."""
    values = {(each.of, each.setting): each.value for each in estimates}
    return tuple(
        replace(
            stream,
            selectivity=values.get((title(stream), "selectivity"), stream.selectivity),
            probability=values.get((title(stream), "probability"), stream.probability),
        )
        for stream in streams
    )


def title(stream: Stream) -> str:
    """How a stream is called.

    >>> title(Stream(origin="splitter", target="counter"))
    'splitter -> counter'
    """
    return f"{stream.origin} -> {stream.target}"


def _targets(graph: FlowGraph) -> tuple[str, ...]:
    return tuple(dict.fromkeys(stream.target for stream in graph.streams))


def _of_origin(
    streams: Sequence[Stream], factors: Mapping[str, tuple[float, int]]
) -> list[Estimate]:
    """What a module sends on: its selectivity is all of it, probabilities are each stream's part.

    Where one stream is unknown, none is known: their probabilities must sum to one.
    """
    if any(factors[stream.target][1] == 0 for stream in streams):
        why = "rows of both ends were never recorded in the same step"
        return [kept(title(s), "selectivity", s.selectivity, why) for s in streams]
    sent = [s.selectivity * s.probability * factors[s.target][0] for s in streams]
    estimates: list[Estimate] = []
    for stream, rows in zip(streams, sent, strict=True):
        name, samples = title(stream), factors[stream.target][1]
        how, file = "rows that came by rows finished before", stream.selectivity
        estimates.append(estimated(name, "selectivity", file, sum(sent), samples, how))
        if len(streams) > 1:
            how, file = "part of the rows sent on", stream.probability
            estimates.append(estimated(name, "probability", file, rows / sum(sent), samples, how))
    return estimates


def _factor(
    ticks: Sequence[Tick], graph: FlowGraph, target: str, batches: Batches
) -> tuple[float, int]:
    """By how much the file's flows into a module must grow, and how many samples say so."""
    into = [stream for stream in graph.streams if stream.target == target]
    weights = {s.origin: s.selectivity * s.probability for s in into}
    if all(_counted(batches[name]) for name in (*weights, target)):
        came, sent, samples = _of_batches(ticks, weights, target, batches)
    else:
        came, sent, samples = _flows_of_steps(ticks, weights, target)
    ratio = came / sent if sent > 0 else 0.0
    return (ratio, samples) if isfinite(ratio) and ratio > 0 else (1.0, 0)


def _counted(batches: Sequence[MicroBatch]) -> bool:
    """Whether every batch is recorded, and none stands for others."""
    return bool(batches) and all(batch.count == 1 for batch in batches)


def _flows_of_steps(
    ticks: Sequence[Tick], weights: Mapping[str, float], target: str
) -> tuple[float, float, int]:
    came = column(ticks, target, "arrival_rate") * steps(ticks)
    sent = np.zeros(len(ticks))
    for name, weight in weights.items():
        sent = sent + weight * column(ticks, name, "processed_rate") * steps(ticks)
    both = ~np.isnan(came) & ~np.isnan(sent)
    return float(came[both].sum()), float(sent[both].sum()), int(both.sum())


def _of_batches(
    ticks: Sequence[Tick], weights: Mapping[str, float], target: str, batches: Batches
) -> tuple[float, float, int]:
    """Rows that batches took in; those that still wait at the end have come as well."""
    backlog = column(ticks, target, "backlog")
    known = backlog[~np.isnan(backlog)]
    rise = float(known[-1] - known[0]) if known.size else 0.0
    first = ticks[0].seen.at
    came = sum(batch.rows for batch in batches[target] if batch.at > first) + rise
    sent = sum(
        weight * sum(batch.rows for batch in batches[name] if batch.at > first)
        for name, weight in weights.items()
    )
    return came, sent, min(len(batches[name]) for name in (*weights, target))
