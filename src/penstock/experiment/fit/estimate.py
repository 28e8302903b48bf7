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
from statistics import fmean, median
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.signals import ModuleReading, Tick, current
from penstock.experiment.fit.batches import MicroBatch
from penstock.record.measures import column, steps

FAR: Final = 4.0
"""Samples further from the median than so many median deviations are left out of a mean."""
_LEAST: Final = 0.01
"""Share of a batch below which task overhead is an artefact of batches across two steps."""
_MOST_SIGMA: Final = 1.5
"""Beyond it a few stalls would rule the mean."""


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


def kept(of: Module | Stream, setting: str, why: str) -> Estimate:
    """A setting of which the recording says nothing."""
    return estimated(of, setting, getattr(of, setting), 0, why)


def estimated(of: Module | Stream, setting: str, value: float, samples: int, how: str) -> Estimate:
    """A setting of which the recording has samples."""
    name, file = of.name if isinstance(of, Module) else title(of), getattr(of, setting)
    return Estimate(of=name, setting=setting, value=value, file=file, samples=samples, how=how)


def steady_mean(values: ArrayLike, weights: ArrayLike) -> float:
    """The weighted mean of what lies near the median: a mean that one mishap does not move.

    >>> steady_mean([1.0, 1.1, 0.9, 40.0], [1, 1, 1, 1])
    1.0
    """
    value, weight = np.asarray(values, float), np.asarray(weights, float)
    off = np.abs(value - np.median(value))
    near = off <= FAR * max(float(np.median(off)), 1e-3 * abs(float(np.median(value))))
    return float(np.average(value[near], weights=weight[near]))


class ModuleRecord(NamedTuple):
    """What a recording has of one module."""

    ticks: Sequence[Tick]
    module: Module
    batches: Sequence[MicroBatch]

    @property
    def single(self) -> bool:
        """Whether no batch stands for others."""
        return all(batch.count == 1 for batch in self.batches)

    def readings(self) -> list[tuple[Tick, ModuleReading]]:
        """The steps that read the module."""
        name = self.module.name
        return [(t, t.seen.modules[name]) for t in self.ticks if name in t.seen.modules]

    def arrivals(self) -> list[list[MicroBatch]]:
        """For each step in which executors came, the batches about it."""
        arrivals = []
        for before, after in pairwise(self.ticks):
            was, now = (tick.seen.modules.get(self.module.name) for tick in (before, after))
            if not was or not now or was.running is None or (now.running or 0) <= was.running:
                continue
            begin, end = before.seen.at, after.seen.at
            about = [b for b in self.batches if b.at >= begin and b.at - b.duration <= end]
            later = [b for b in self.batches if b.at - b.duration > end][:1]
            if about or later:
                arrivals.append([*about, *later])
        return arrivals


def service(record: ModuleRecord) -> list[Estimate]:
    """Of one module: `service_time`, `service_cv`, and the overheads of its micro-batches."""
    rows = _service_time(record)
    return [rows, _service_cv(record), *_overheads(record, rows.value)]


def _service_time(record: ModuleRecord) -> Estimate:
    """By the rows of micro-batches, else of steps, else by how busy executors were."""
    read = [(tick.seen.step, seen) for tick, seen in record.readings() if seen.processed_rate]
    ways = {
        "mean over the rows of micro-batches": [
            (b.service, b.rows) for b in record.batches if b.service is not None
        ],
        "mean over the rows of steps": [
            (seen.service_time, (seen.processed_rate or 0.0) * step)
            for step, seen in read
            if seen.service_time is not None
        ],
        "busy executors by rows finished": [
            (
                seen.utilisation * seen.running / (seen.processed_rate or 1.0),
                (seen.processed_rate or 0.0) * step,
            )
            for step, seen in read
            if seen.utilisation and seen.running
        ],
    }
    for how, samples in ways.items():
        if samples:
            value = steady_mean(*zip(*samples, strict=True))
            return estimated(record.module, "service_time", value, len(samples), how)
    why = "no step records rows finished and how busy executors were"
    return kept(record.module, "service_time", why)


def _service_cv(record: ModuleRecord) -> Estimate:
    moments = [(b.service, b.squared, b.rows) for b in record.batches if b.service and b.squared]
    samples = [(sqrt(max(sq / mean**2 - 1, 0.0)), rows) for mean, sq, rows in moments] or [
        (seen.service_cv, (seen.processed_rate or 0.0) * tick.seen.step)
        for tick, seen in record.readings()
        if seen.service_cv is not None
    ]
    if not sum(rows for _, rows in samples):
        return kept(record.module, "service_cv", "not measured")
    value = steady_mean(*zip(*samples, strict=True))
    value = 0.0 if value < 1e-4 else value
    return estimated(record.module, "service_cv", value, len(samples), "mean over the rows")


def _overheads(record: ModuleRecord, service_time: float) -> list[Estimate]:
    """Of one module: `task_overhead`, `overhead`, `overhead_cv` and `warm_up`."""
    module, arrivals = record.module, record.arrivals()
    first = {batch for about in arrivals for batch in about} if record.single else set()
    settled = [batch for batch in record.batches if batch not in first]
    tasks = _task_overhead(record)
    beyond = _steady_beyond_rows(settled, service_time)
    rest = kept(module, "overhead", "no micro-batch was recorded")
    if beyond:
        how = "time beyond rows and tasks, median over micro-batches"
        value = max(median(beyond) - tasks.value, 0.0)
        rest = estimated(module, "overhead", value, len(beyond), how)
    sigma, scatter = _scatter(settled, module, service_time)
    raised = [
        each if each.kept else replace(each, value=each.value * exp(sigma**2 / 2))
        for each in (tasks, rest)
    ]
    usual = raised[0].value + raised[1].value
    slowest = [max(beyond_rows(b, service_time) for b in about) - usual for about in arrivals]
    if not record.single:
        warm_up = kept(module, "warm_up", "single micro-batches were not recorded")
    elif not slowest:
        warm_up = kept(module, "warm_up", "no executor was asked for and came")
    else:
        how, value = "slowest batch as executors came, beyond the usual", max(fmean(slowest), 0.0)
        warm_up = estimated(module, "warm_up", value, len(slowest), how)
    return [*raised, scatter, warm_up]


def _task_overhead(record: ModuleRecord) -> Estimate:
    module, setting = record.module, "task_overhead"
    if not record.batches:
        return kept(module, setting, "no micro-batch was recorded")
    if not any(batch.service is not None for batch in record.batches):
        return kept(module, setting, "the times of rows and tasks cannot be separated")
    samples = _busy_beyond_rows(record)
    if not samples:
        return kept(module, setting, "no step records how busy executors were")
    value = median(samples)
    value = value if value > _LEAST * median(b.duration for b in record.batches) else 0.0
    how = "busy time beyond the rows, median over steps"
    return estimated(module, setting, value, len(samples), how)


def _busy_beyond_rows(record: ModuleRecord) -> list[float]:
    """Seconds that each task kept its executor busy beyond the rows, by step.

    Utilisation covers the time since the module last reported it. At full utilisation the share
    of the rows is unknown.
    """
    samples, since = [], 0.0
    for tick, seen in record.readings():
        if seen.utilisation is None:
            continue
        begin, since = since, tick.seen.at
        inside = [batch for batch in record.batches if begin < batch.at <= tick.seen.at]
        if not inside or not seen.running or seen.utilisation >= 1:
            continue
        busy = seen.utilisation * seen.running * (tick.seen.at - begin)
        work = sum((b.service or 0.0) * b.rows * b.count for b in inside)
        samples.append((busy - work) / (sum(b.count for b in inside) * seen.running))
    return samples


def _scatter(
    batches: Sequence[MicroBatch], module: Module, service_time: float
) -> tuple[float, Estimate]:
    """Standard deviation of the logarithm of the time beyond the rows, and what it amounts to."""
    single = [batch for batch in batches if batch.count == 1]
    beyond = np.array([time for time in _steady_beyond_rows(single, service_time) if time > 0])
    if len(single) < len(batches) or beyond.size < 2:
        return 0.0, kept(module, "overhead_cv", "single micro-batches were not recorded")
    sigma = min(float(np.log(beyond).std()), _MOST_SIGMA)
    cv, how = sqrt(expm1(sigma**2)), "scatter of the time beyond the rows"
    return sigma, estimated(module, "overhead_cv", cv, int(beyond.size), how)


def _steady_beyond_rows(batches: Sequence[MicroBatch], service_time: float) -> list[float]:
    """Of batches between which executors neither came nor went."""
    steady = [after for before, after in pairwise(batches) if before.replicas == after.replicas]
    return [beyond_rows(batch, service_time) for batch in steady]


def beyond_rows(batch: MicroBatch, service_time: float) -> float:
    """Seconds that a batch took beyond the work on its rows.

    >>> batch = MicroBatch(at=9.0, duration=1.0, rows=60, replicas=3, service=0.01)
    >>> round(beyond_rows(batch, 0.0), 3)
    0.8
    """
    return batch.duration - batch.share * (batch.service or service_time)


# How long executors take from being asked for until they take tasks.
#
# A step sees that an executor has come, not when: in the middle of the step, on average.


def start_up(ticks: Sequence[Tick], module: Module) -> Estimate:
    """Of one module, the median over the executors that came while the run lasted."""
    delays = waits(ticks, module.name)
    if not delays:
        return kept(module, "start_up", "no executor was asked for and came")
    how = "from request to running, median over executors"
    return estimated(module, "start_up", median(delays), len(delays), how)


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
    targets = dict.fromkeys(stream.target for stream in graph.streams)
    factors = {target: _factor(ticks, graph, target, batches) for target in targets}
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


def _of_origin(
    streams: Sequence[Stream], factors: Mapping[str, tuple[float, int]]
) -> list[Estimate]:
    """What a module sends on: its selectivity is all of it, probabilities are each stream's part.

    Where one stream is unknown, none is known: their probabilities must sum to one.
    """
    if any(factors[stream.target][1] == 0 for stream in streams):
        why = "rows of both ends were never recorded in the same step"
        return [kept(stream, "selectivity", why) for stream in streams]
    sent = [s.selectivity * s.probability * factors[s.target][0] for s in streams]
    estimates: list[Estimate] = []
    for stream, rows in zip(streams, sent, strict=True):
        samples, how = factors[stream.target][1], "rows that came by rows finished before"
        estimates.append(estimated(stream, "selectivity", sum(sent), samples, how))
        if len(streams) > 1:
            how, part = "part of the rows sent on", rows / sum(sent)
            estimates.append(estimated(stream, "probability", part, samples, how))
    return estimates


def _factor(
    ticks: Sequence[Tick], graph: FlowGraph, target: str, batches: Batches
) -> tuple[float, int]:
    """By how much the file's flows into a module must grow, and how many samples say so."""
    into = [stream for stream in graph.streams if stream.target == target]
    weights = {s.origin: s.selectivity * s.probability for s in into}
    # whether every batch is recorded, and none stands for others
    names = (*weights, target)
    if all(batches[name] and all(b.count == 1 for b in batches[name]) for name in names):
        came, sent, samples = _of_batches(ticks, weights, target, batches)
    else:
        came, sent, samples = _flows_of_steps(ticks, weights, target)
    ratio = came / sent if sent > 0 else 0.0
    return (ratio, samples) if isfinite(ratio) and ratio > 0 else (1.0, 0)


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
