"""What is measured of every run of a tournament, and how.

`MEASURES` declares each measure; functions below return measures by these names.

**SASO**: stability, accuracy, settling time and overshoot, against what the clairvoyant had
running. The clairvoyant is *steady* in steps in which it has had the same executors for a while; a
stretch between two of its changes is what a policy can settle in.

**Elasticity** as SPEC's research group measures it (Herbst et al.): supply against demand. Demand
is what the twin says the load needs, so it is known and not estimated.

**Violations**: how often the promise was broken, in time and in rows. A step keeps or breaks the
promise by its 95th percentile. A step that measured no latency although rows waited, or may have,
is judged by those rows: it broke the promise if the latency measured next does, or if nothing was
heard for longer than was promised. A step in which nothing waited says nothing and is left out, as
is one at the end that cannot be judged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.graph import FlowGraph
from penstock.core.signals import Latency, Tick
from penstock.experiment.compare.track import (
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
from penstock.record.latency import KNOTS, pooled, quantiles_at_knots
from penstock.record.measures import (
    Column,
    column,
    highest,
    mean,
    observed,
    reporting,
    steps,
    total,
)

Flags = NDArray[np.bool_]
Scores = Mapping[str, float | None]
"""By measure; None where it could not be measured."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One column of the tournament; less of it is better."""

    title: str
    unit: str
    """`share` of one, `%`, `s`, `J`, or what is counted."""
    means: str


_SERVICE: Final = {
    "violations": Measure(
        "violations", "share", "share of the measured time in which p95 was over the promise"
    ),
    "late_rows": Measure(
        "late rows", "share", "share of the rows that came later than promised, or never"
    ),
    "latency_p50": Measure("p50", "s", "latency that half of the rows that came out kept"),
    "latency_p95": Measure("p95", "s", "the same of 95 % of them"),
    "latency_p99": Measure("p99", "s", "the same of 99 % of them"),
    "backlog_mean": Measure("backlog", "rows", "rows that waited, on average over time"),
    "backlog_max": Measure("most waiting", "rows", "rows that waited, at most"),
}
_COST: Final = {
    "core_seconds": Measure(
        "core-seconds", "core-s", "executors of one core, requested or running, over time"
    ),
    "money": Measure("money", "", "executors from request to leave, in billing periods"),
    "energy": Measure("energy", "J", "of the executors that ran; modelled"),
    "idle_share": Measure("idle", "share", "share of the core-seconds in which no row was served"),
    "reconfigurations": Measure("changes", "", "steps that changed some module"),
}
_CONTROL: Final = {
    "rescales_per_hour": Measure("changes/h", "1/h", "the same, an hour"),
    "reversals_per_hour": Measure(
        "reversals/h", "1/h", "changes of a module against its change before, an hour"
    ),
    "accuracy": Measure(
        "off by", "executors", "away from the clairvoyant's while that is steady, on average"
    ),
    "settling_time": Measure("settling", "s", "until within 1 of the clairvoyant's, to stay"),
    "overshoot": Measure("overshoot", "executors", "above the clairvoyant's, at most"),
    "theta_u": Measure("theta_U", "%", "executors that lacked, by the demand (SPEC, Herbst)"),
    "theta_o": Measure("theta_O", "%", "executors too many, by the demand"),
    "tau_u": Measure("tau_U", "%", "time in which some module lacked some"),
    "tau_o": Measure("tau_O", "%", "time in which some module had too many"),
}
MEASURES: Final[Mapping[str, Measure]] = {**_SERVICE, **_COST, **_CONTROL}
TABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "Cost": ("violations", *_COST),
    "Service": tuple(_SERVICE),
    "Control (SASO and elasticity)": tuple(_CONTROL),
}


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
    track, rows = follow(ticks), rows_of(ticks, by.graph, "processed_rate")
    latency = pooled([tick.seen.latency for tick in ticks], rows.tolist())
    backlog = total(reporting(ticks, "backlog"), len(ticks))
    quantiles = ("p50", "p95", "p99")
    values = {
        **violations(ticks, by.promised, rows, rows_of(ticks, by.graph, "arrival_rate")),
        **{f"latency_{q}": getattr(latency, q) if latency else None for q in quantiles},
        "backlog_mean": mean(backlog, steps(ticks)),
        "backlog_max": highest(backlog),
        "core_seconds": core_seconds(track),
        "money": money(track, by.prices),
        "energy": joules(ticks, track),
        "idle_share": idle_share(ticks, track),
        "reconfigurations": float(sum(act.reconfigures for act in acts(ticks, by.graph))),
        **saso(ticks, track, aligned(by.ideal, track.at), by.graph),
        **elasticity(track, by.demand_at(track.at)),
    }
    return {name: values[name] for name in MEASURES}


def rows_of(ticks: Sequence[Tick], graph: FlowGraph, rate: str) -> Column:
    """Rows of each step by a rate of the source, such as `processed_rate`."""
    rows: Column = column(ticks, graph.source, rate) * steps(ticks)
    return rows


def saso(ticks: Sequence[Tick], track: Track, ideal: Track, graph: FlowGraph) -> Scores:
    """Stability, accuracy, settling time and overshoot beside the clairvoyant's run."""
    hours = track.duration / 3600.0
    gap = np.array([running - ideal.running[name] for name, running in track.running.items()])
    return {
        "rescales_per_hour": sum(act.reconfigures for act in acts(ticks, graph)) / hours,
        "reversals_per_hour": reversals(ticks) / hours,
        "accuracy": _accuracy(gap, track.seconds, _steady(ideal, graph)),
        "settling_time": settling(gap, track.seconds, changes(ideal.running)),
        "overshoot": float(np.maximum(gap.sum(axis=0), 0.0).max(initial=0.0)),
    }


def reversals(ticks: Sequence[Tick]) -> int:
    """Changes of a module's degree that go against its change before."""
    before: dict[str, bool] = {}
    count = 0
    for act in acts(ticks):
        for name, change in act.degrees.items():
            if change.grows or change.shrinks:
                count += before.get(name, change.grows) != change.grows
                before[name] = change.grows
    return count


def changes(running: Mapping[str, Column]) -> Flags:
    """Whether something differs from the step before; the first step begins a stretch too."""
    moved = (np.diff(np.array(list(running.values())), axis=1) != 0).any(axis=0)
    return np.concatenate([[True], moved])


def settling(gap: Column, seconds: Column, begins: Flags) -> float | None:
    """Mean seconds until all gaps are within one for the rest of a stretch.

    A stretch in which that never comes counts with its length.

    >>> gap, seconds = np.array([[0, 3, 2, 1, 0, 0]]), np.full(6, 2.0)
    >>> settling(gap, seconds, np.array([True, True, False, False, False, False]))
    2.0
    """
    starts = np.flatnonzero(begins)
    if not starts.size:
        return None
    far: Flags = np.any(np.abs(gap) > 1, axis=0)
    stretches = pairwise([*starts, len(seconds)])
    return float(np.mean([_until_last(far[a:b], seconds[a:b]) for a, b in stretches]))


def _until_last(flags: Flags, seconds: Column) -> float:
    places = np.flatnonzero(flags)
    return float(seconds[: places[-1] + 1].sum()) if places.size else 0.0


def _steady(ideal: Track, graph: FlowGraph) -> Flags:
    """Steps in which nothing changed for as long as an executor takes to come, and two steps."""
    started = np.maximum.accumulate(np.where(changes(ideal.running), ideal.at - ideal.seconds, 0.0))
    slowest = max((module.start_up for module in graph.modules), default=0.0)
    calm: Flags = ideal.at - started > slowest + 2 * ideal.seconds
    return calm


def _accuracy(gap: Column, seconds: Column, steady: Flags) -> float | None:
    """Executors away from the clairvoyant's while it is steady; None where it never is."""
    if not steady.any():
        return None
    return float(np.average(np.abs(gap).sum(axis=0)[steady], weights=seconds[steady]))


def elasticity(track: Track, demand: Mapping[str, Column]) -> dict[str, float]:
    """Running executors against the demand of each module, so that no two mistakes cancel out.

    >>> two = Track(at=np.array([1.0, 2.0]), seconds=np.ones(2),
    ...             running={"m": np.array([1.0, 3.0])}, paid={"m": np.array([1.0, 3.0])})
    >>> elasticity(two, {"m": np.array([2.0, 2.0])})
    {'theta_u': 25.0, 'theta_o': 25.0, 'tau_u': 50.0, 'tau_o': 50.0}
    """
    gap = np.array([track.running[name] - wanted for name, wanted in demand.items()])
    whole = np.sum(list(demand.values()), axis=0)
    under, over = np.maximum(-gap, 0.0), np.maximum(gap, 0.0)
    weights = 100.0 * track.seconds / track.duration
    return {
        "theta_u": float((under.sum(axis=0) / whole) @ weights),
        "theta_o": float((over.sum(axis=0) / whole) @ weights),
        "tau_u": float((under > 0).any(axis=0) @ weights),
        "tau_o": float((over > 0).any(axis=0) @ weights),
    }


def violations(
    ticks: Sequence[Tick], promised: float, rows: Column, arrived: Column | None = None
) -> Scores:
    """What was broken; `rows` are those that each step processed, `arrived` those that came.

    Late rows follow from the quantiles of each step: those above its 99th percentile are not seen.
    Rows that came in a silence that broke the promise and lasted to the end never came out, and are
    late.
    """
    broken = judged(ticks, promised)
    seconds, known = steps(ticks), ~np.isnan(broken)
    measured = float(seconds[known].sum())
    lost = 0.0 if arrived is None else float(np.nansum(arrived[_lost(ticks, broken) :]))
    return {
        "violations": float((broken * seconds)[known].sum()) / measured if measured else None,
        "late_rows": _late(ticks, promised, rows, lost),
    }


def _lost(ticks: Sequence[Tick], broken: Column) -> int:
    """The first step of a silence that broke the promise and lasted to the end."""
    first = len(ticks)
    while first and ticks[first - 1].seen.latency is None and broken[first - 1] == 1:
        first -= 1
    return first


def judged(ticks: Sequence[Tick], promised: float) -> Column:
    """1 for each step that broke the promise, 0 for one that kept it, NaN where it is unknown."""
    p95, seconds = observed(ticks, "latency", "p95"), steps(ticks)
    verdict = np.where(np.isnan(p95), np.nan, p95 > promised)
    waited = total(reporting(ticks, "backlog"), len(ticks)) != 0  # unknown may be waiting
    silent = np.isnan(p95) & waited
    edges = np.flatnonzero(np.diff(silent.astype(int), prepend=0, append=0))
    for first, after in edges.reshape(-1, 2):
        heard = verdict[after] if after < len(ticks) else np.nan
        verdict[first:after] = 1.0 if seconds[first:after].sum() > promised else heard
    return verdict


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
    [values] = quantiles_at_knots([latency])
    if not values[0] < promised < values[-1]:
        return float(promised <= values[0] and promised < values[-1])
    depth = np.interp(promised, values, -np.log1p(-KNOTS))
    return round(exp(-float(depth)), 9)
