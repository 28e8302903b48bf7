"""Every measure of one run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.core.graph import FlowGraph
from penstock.core.signals import Tick
from penstock.experiment.compare.cost import Prices, core_seconds, idle_share, joules, money
from penstock.experiment.compare.elasticity import elasticity
from penstock.experiment.compare.measures import MEASURES
from penstock.experiment.compare.saso import saso
from penstock.experiment.compare.track import Track, aligned, follow, sampled
from penstock.experiment.compare.violations import violations
from penstock.record.acts import acts
from penstock.record.latency import pooled
from penstock.record.measures import Column, column, reporting, steps, total
from penstock.record.totals import highest, mean

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
    found = {**_service(ticks, by), **_cost(ticks, track, by), **_control(ticks, track, by)}
    return {name: found[name] for name in MEASURES}


def processed(ticks: Sequence[Tick], graph: FlowGraph) -> Column:
    """Rows that the source took in and finished in each step."""
    return _rows(ticks, graph, "processed_rate")


def _rows(ticks: Sequence[Tick], graph: FlowGraph, rate: str) -> Column:
    found: Column = column(ticks, graph.source, rate) * steps(ticks)
    return found


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
    found = saso(ticks, track, aligned(by.ideal, track.at), by.graph)
    spec = elasticity(track, by.demand_at(track.at))
    return {
        "rescales_per_hour": found.rescales,
        "reversals_per_hour": found.reversals,
        "accuracy": found.accuracy,
        "settling_time": found.settling,
        "overshoot": found.overshoot,
        "theta_u": spec.theta_u,
        "theta_o": spec.theta_o,
        "tau_u": spec.tau_u,
        "tau_o": spec.tau_o,
    }
