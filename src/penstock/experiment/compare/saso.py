"""Stability, accuracy, settling time and overshoot, against what the clairvoyant had running.

The clairvoyant is *steady* in steps in which it has had the same executors for a while; a stretch
between two of its changes is what a policy can settle in.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.core.graph import FlowGraph
from penstock.core.signals import Tick
from penstock.experiment.compare.track import Track
from penstock.record.acts import acts
from penstock.record.measures import Column

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Saso:
    """Less is better in all of them."""

    reversals: float
    """Changes an hour that go against the one before, over all modules."""
    rescales: float
    """Changes an hour, of whatever kind."""
    accuracy: float | None
    """Executors away from the clairvoyant's, over all modules, on average while it is steady; None
    where it never is."""
    settling: float | None
    """Seconds from a change of the clairvoyant's until every module is within one of it and stays,
    on average; a stretch in which that never comes counts with its length."""
    overshoot: float
    """Executors above the clairvoyant's, at most, over all modules."""


def saso(ticks: Sequence[Tick], track: Track, ideal: Track, graph: FlowGraph) -> Saso:
    """The four properties of a run beside the clairvoyant's run of the same load."""
    hours = track.duration / 3600.0
    names = list(track.running)
    gap = np.array([track.running[name] - ideal.running[name] for name in names])
    return Saso(
        reversals=reversals(ticks) / hours,
        rescales=sum(act.reconfigures for act in acts(ticks, graph)) / hours,
        accuracy=_accuracy(gap, track.seconds, _steady(ideal, graph)),
        settling=settling(gap, track.seconds, changes(ideal.running)),
        overshoot=float(np.maximum(gap.sum(axis=0), 0.0).max(initial=0.0)),
    )


def reversals(ticks: Sequence[Tick]) -> int:
    """Changes of a module's degree that go against its change before."""
    before: dict[str, bool] = {}
    count = 0
    for act in acts(ticks):
        for name, change in act.degrees.items():
            if not (change.grows or change.shrinks):
                continue
            count += before.get(name, change.grows) != change.grows
            before[name] = change.grows
    return count


def changes(running: Mapping[str, Column]) -> Flags:
    """Whether something differs from the step before; the first step begins a stretch too."""
    stacked = np.array(list(running.values()))
    moved = (np.diff(stacked, axis=1) != 0).any(axis=0)
    found: Flags = np.concatenate([[True], moved])
    return found


def settling(gap: Column, seconds: Column, begins: Flags) -> float | None:
    """Mean seconds until all gaps are within one for the rest of a stretch.

    >>> gap, seconds = np.array([[0, 3, 2, 1, 0, 0]]), np.full(6, 2.0)
    >>> settling(gap, seconds, np.array([True, True, False, False, False, False]))
    2.0
    """
    near: Flags = np.all(np.abs(gap) <= 1, axis=0)
    starts = np.flatnonzero(begins)
    if not starts.size:
        return None
    ends = [*starts[1:], len(seconds)]
    waits = [_unsettled(near[a:b], seconds[a:b]) for a, b in zip(starts, ends, strict=True)]
    return float(np.mean(waits))


def _unsettled(near: Flags, seconds: Column) -> float:
    away = np.flatnonzero(~near)
    return float(seconds[: away[-1] + 1].sum()) if away.size else 0.0


def _steady(ideal: Track, graph: FlowGraph) -> Flags:
    """Steps in which nothing changed for as long as an executor takes to come, and two steps."""
    started = np.maximum.accumulate(np.where(changes(ideal.running), ideal.at - ideal.seconds, 0.0))
    slowest = max((module.start_up for module in graph.modules), default=0.0)
    calm: Flags = ideal.at - started > slowest + 2 * ideal.seconds
    return calm


def _accuracy(gap: Column, seconds: Column, steady: Flags) -> float | None:
    if not steady.any():
        return None
    return float(np.average(np.abs(gap).sum(axis=0)[steady], weights=seconds[steady]))
