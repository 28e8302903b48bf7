"""Every measure of one run.

**SASO**: stability, accuracy, settling time and overshoot, against what the clairvoyant had
running. The clairvoyant is *steady* in steps in which it has had the same executors for a while; a
stretch between two of its changes is what a policy can settle in.

**Elasticity** as SPEC's research group measures it (Herbst et al.): supply against demand. Demand
is what the twin says the load needs, so it is known and not estimated.

>>> from penstock.experiment.compare.track import Track
>>> import numpy as np
>>> two = Track(at=np.array([1.0, 2.0]), seconds=np.ones(2),
...             running={"m": np.array([1.0, 3.0])}, paid={"m": np.array([1.0, 3.0])})
>>> elasticity(two, {"m": np.array([2.0, 2.0])})
Elasticity(theta_u=25.0, theta_o=25.0, tau_u=50.0, tau_o=50.0)

**Violations**: how often the promise was broken, in time and in rows. A step keeps or breaks the
promise by its 95th percentile. A step that measured no latency although rows waited, or may have,
is judged by those rows: it broke the promise if the latency measured next does, or if nothing was
heard for longer than was promised. A step in which nothing waited says nothing and is left out, as
is one at the end that cannot be judged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.graph import FlowGraph
from penstock.core.signals import Latency, Tick
from penstock.experiment.compare.track import (
    MEASURES,
    Prices,
    Track,
    aligned,
    core_seconds,
    follow,
    idle_share,
    joules,
    money,
    sampled,
)
from penstock.record.acts import acts
from penstock.record.measures import (
    Column,
    column,
    highest,
    latencies,
    mean,
    reporting,
    steps,
    total,
)
from penstock.record.summary import pooled

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
    starts: Flags = np.concatenate([[True], moved])
    return starts


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


@dataclass(frozen=True, slots=True)
class Elasticity:
    """All in percent; 0 is best."""

    theta_u: float
    """Executors that lacked, as a share of the demand, on average over time."""
    theta_o: float
    """Executors too many, as a share of the demand, on average over time."""
    tau_u: float
    """Share of the time in which some module lacked some."""
    tau_o: float
    """Share of the time in which some module had too many."""


def elasticity(track: Track, demand: Mapping[str, Column]) -> Elasticity:
    """Running executors against the demand of each module, so that no two mistakes cancel out."""
    gap = np.array([track.running[name] - wanted for name, wanted in demand.items()])
    whole = np.sum(list(demand.values()), axis=0)
    under, over = np.maximum(-gap, 0.0), np.maximum(gap, 0.0)
    weights = 100.0 * track.seconds / track.duration
    return Elasticity(
        theta_u=float((under.sum(axis=0) / whole) @ weights),
        theta_o=float((over.sum(axis=0) / whole) @ weights),
        tau_u=float((under > 0).any(axis=0) @ weights),
        tau_o=float((over > 0).any(axis=0) @ weights),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Violations:
    """Shares of what was measured. None where nothing was."""

    time: float | None
    """Share of the time."""
    rows: float | None
    """Share of the rows that were later than promised, computed from the quantiles of each step:
    those above the 99th percentile of a step are not seen. Rows that came in a silence that broke
    the promise and lasted to the end never came out, and are late."""


def violations(
    ticks: Sequence[Tick], promised: float, rows: Column, arrived: Column | None = None
) -> Violations:
    """What was broken; `rows` are those that each step processed, `arrived` those that came."""
    broken = judged(ticks, promised)
    seconds, known = steps(ticks), ~np.isnan(broken)
    measured = float(seconds[known].sum())
    lost = 0.0 if arrived is None else float(np.nansum(arrived[_lost(ticks, broken) :]))
    return Violations(
        time=float((broken * seconds)[known].sum()) / measured if measured else None,
        rows=_late(ticks, promised, rows, lost),
    )


def _lost(ticks: Sequence[Tick], broken: Column) -> int:
    """The first step of a silence that broke the promise and lasted to the end."""
    first = len(ticks)
    while first and ticks[first - 1].seen.latency is None and broken[first - 1] == 1:
        first -= 1
    return first


def judged(ticks: Sequence[Tick], promised: float) -> Column:
    """1 for each step that broke the promise, 0 for one that kept it, NaN where it is unknown."""
    p95 = latencies(ticks, "p95")
    verdict = np.where(np.isnan(p95), np.nan, p95 > promised)
    waited = total(reporting(ticks, "backlog"), len(ticks)) != 0  # unknown may be waiting
    silent = np.isnan(p95) & waited
    for first, last in _stretches(silent):
        verdict[first:last] = _silence(ticks, promised, first, last, verdict)
    return verdict


def _silence(
    ticks: Sequence[Tick], promised: float, first: int, last: int, verdict: Column
) -> float:
    """What to think of steps from which nothing was heard, `last` being the first after them."""
    seconds = sum(tick.seen.step for tick in ticks[first:last])
    if seconds > promised:
        return 1.0
    return float(verdict[last]) if last < len(ticks) else np.nan


def _stretches(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _late(ticks: Sequence[Tick], promised: float, rows: Column, lost: float) -> float | None:
    known = [
        (late(tick.seen.latency, promised), float(count))
        for tick, count in zip(ticks, rows, strict=True)
        if tick.seen.latency is not None and count > 0
    ]
    known.append((1.0, lost))
    all_rows = sum(count for _, count in known)
    return sum(share * count for share, count in known) / all_rows if all_rows else None


def late(latency: Latency, promised: float) -> float:
    """Share of a step's rows that took longer, spaced as in an exponential between quantiles.

    >>> late(Latency(p50=1, p95=2, p99=3), 2.0), late(Latency(p50=1, p95=2, p99=3), 3.0)
    (0.05, 0.0)
    """
    if promised >= latency.p99:
        return 0.0
    knots = np.maximum.accumulate([0.0, latency.p50, latency.p95, latency.p99])
    depth = np.interp(promised, knots, [0.0, log(2), log(20), log(100)])
    return round(exp(-float(depth)), 9)


Scores = Mapping[str, float | None]
"""By measure; None where it could not be measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Yardstick:
    """What runs of the same load are measured by."""

    graph: FlowGraph
    promised: float
    """Seconds of latency that 95 % of the rows were promised to keep."""
    prices: Prices
    demand: Mapping[str, Column]
    """Executors that each module needs in each step of the load."""
    step: float
    """Seconds of a step."""
    ideal: Track
    """What the clairvoyant did."""

    def demand_at(self, at: Column) -> dict[str, Column]:
        """The demand for steps that end at these moments."""
        ends = self.step * np.arange(1.0, 1.0 + len(next(iter(self.demand.values()))))
        return {name: sampled(needed, ends, at) for name, needed in self.demand.items()}


def scores(ticks: Sequence[Tick], by: Yardstick) -> dict[str, float | None]:
    """All measures of a run, in the order of `MEASURES`."""
    track = follow(ticks)
    measures = {**_service(ticks, by), **_cost(ticks, track, by), **_control(ticks, track, by)}
    return {name: measures[name] for name in MEASURES}


def processed(ticks: Sequence[Tick], graph: FlowGraph) -> Column:
    """Rows that the source took in and finished in each step."""
    return _rows(ticks, graph, "processed_rate")


def _rows(ticks: Sequence[Tick], graph: FlowGraph, rate: str) -> Column:
    rows: Column = column(ticks, graph.source, rate) * steps(ticks)
    return rows


def _service(ticks: Sequence[Tick], by: Yardstick) -> dict[str, float | None]:
    rows = processed(ticks, by.graph)
    broken = violations(ticks, by.promised, rows, _rows(ticks, by.graph, "arrival_rate"))
    latency = pooled([tick.seen.latency for tick in ticks], rows.tolist())
    backlog = total(reporting(ticks, "backlog"), len(ticks))
    return {
        "violations": broken.time,
        "late_rows": broken.rows,
        "latency_p50": latency.p50 if latency else None,
        "latency_p95": latency.p95 if latency else None,
        "latency_p99": latency.p99 if latency else None,
        "backlog_mean": mean(backlog, steps(ticks)),
        "backlog_max": highest(backlog),
    }


def _cost(ticks: Sequence[Tick], track: Track, by: Yardstick) -> dict[str, float | None]:
    return {
        "core_seconds": core_seconds(track),
        "money": money(track, by.prices),
        "energy": joules(ticks, track),
        "idle_share": idle_share(ticks, track),
        "reconfigurations": float(sum(act.reconfigures for act in acts(ticks, by.graph))),
    }


def _control(ticks: Sequence[Tick], track: Track, by: Yardstick) -> dict[str, Any]:
    marks = saso(ticks, track, aligned(by.ideal, track.at), by.graph)
    spec = elasticity(track, by.demand_at(track.at))
    return {
        "rescales_per_hour": marks.rescales,
        "reversals_per_hour": marks.reversals,
        "accuracy": marks.accuracy,
        "settling_time": marks.settling,
        "overshoot": marks.overshoot,
        "theta_u": spec.theta_u,
        "theta_o": spec.theta_o,
        "tau_u": spec.tau_u,
        "tau_o": spec.tau_o,
    }
