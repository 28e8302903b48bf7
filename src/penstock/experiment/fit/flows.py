"""Rows that go from module to module: selectivities and probabilities.

The rows that came to a module are those that the modules before it sent. Where several feed one,
nobody told whose rows they were: their shares stay as the file has them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite

import numpy as np

from penstock.core.graph import FlowGraph, Stream
from penstock.core.signals import Tick
from penstock.experiment.fit.batches import MicroBatch
from penstock.experiment.fit.estimate import Estimate, kept
from penstock.record.measures import column, steps

Batches = Mapping[str, Sequence[MicroBatch]]


def flows(ticks: Sequence[Tick], graph: FlowGraph, batches: Batches) -> list[Estimate]:
    """The selectivity of every stream, and its probability where a module feeds several."""
    factors = {target: _factor(ticks, graph, target, batches) for target in _targets(graph)}
    found: list[Estimate] = []
    for name in graph.order():
        found += _of_origin(graph.outputs(name), factors)
    return found


def applied(streams: Sequence[Stream], estimates: Sequence[Estimate]) -> tuple[Stream, ...]:
    """The streams with what was estimated of them."""
    values = {(told.of, told.setting): told.value for told in estimates}
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
        why = "rows of both ends were never told together"
        return [kept(title(s), "selectivity", s.selectivity, why) for s in streams]
    sent = [s.selectivity * s.probability * factors[s.target][0] for s in streams]
    found: list[Estimate] = []
    for stream, rows in zip(streams, sent, strict=True):
        of, samples = title(stream), factors[stream.target][1]
        how = "rows that came by rows finished before"
        found.append(
            Estimate(
                of=of,
                setting="selectivity",
                value=sum(sent),
                file=stream.selectivity,
                samples=samples,
                how=how,
            )
        )
        if len(streams) > 1:
            share = rows / sum(sent)
            how = "part of the rows sent on"
            found.append(
                Estimate(
                    of=of,
                    setting="probability",
                    value=share,
                    file=stream.probability,
                    samples=samples,
                    how=how,
                )
            )
    return found


def _factor(
    ticks: Sequence[Tick], graph: FlowGraph, target: str, batches: Batches
) -> tuple[float, int]:
    """By how much the file's flows into a module must grow, and how many samples say so."""
    into = [stream for stream in graph.streams if stream.target == target]
    weights = {s.origin: s.selectivity * s.probability for s in into}
    if all(_counted(batches[name]) for name in (*weights, target)):
        came, sent, samples = _of_batches(ticks, weights, target, batches)
    else:
        came, sent, samples = _of_steps(ticks, weights, target)
    ratio = came / sent if sent > 0 else 0.0
    return (ratio, samples) if isfinite(ratio) and ratio > 0 else (1.0, 0)


def _counted(batches: Sequence[MicroBatch]) -> bool:
    """Whether every batch is told, and none stands for others."""
    return bool(batches) and all(batch.count == 1 for batch in batches)


def _of_steps(
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
