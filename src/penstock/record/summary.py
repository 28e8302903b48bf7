"""A run in a handful of numbers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from typing import Any, Final

import numpy as np

from penstock.core.graph import FlowGraph
from penstock.core.signals import Latency, Tick
from penstock.record.acts import acts
from penstock.record.codec import plain
from penstock.record.economy import ModuleEconomy, economy
from penstock.record.energy import Energy, energy
from penstock.record.latency import pooled
from penstock.record.measures import (
    Column,
    column,
    held,
    latencies,
    modules,
    pools,
    reporting,
    steps,
    total,
)
from penstock.record.reader import reader
from penstock.record.regions import RegionUse, RequestCount, node_totals, requests, uses
from penstock.record.totals import added, highest, integral, known, last, lowest, mean, whole

_NEEDED: Final = ("arrival_rate", "processed_rate", "backlog", "utilisation", "running")
"""What policies live on; a step without one that other steps have is a step with a gap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SloCheck:
    """In how many steps the 95th percentile of the latency was kept."""

    latency_p95: float
    """Seconds that were promised."""
    met: int
    violated: int
    unknown: int
    """Steps that measured no latency; they count neither as kept nor as broken."""
    violated_share: float | None
    """Of the steps that measured one; None where none did."""
    idle: int = 0
    """Those of the unknown steps that had nothing to measure, because no row was waiting."""

    @property
    def measured(self) -> int:
        """Steps that measured a latency."""
        return self.met + self.violated

    @property
    def stalled(self) -> int:
        """Steps that measured no latency although rows were, or may have been, waiting."""
        return self.unknown - self.idle


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a run did and what it cost. None is unknown."""

    steps: int
    duration: float
    """Seconds from the beginning of the first step to the end of the last."""
    rows_arrived: float | None
    """At the source, in the steps that measured it."""
    rows_processed: float | None
    """By the source module, in the steps that measured it."""
    arrival_rate_mean: float | None
    arrival_rate_max: float | None
    backlog_final: float | None
    """Rows waiting at the last step, over all modules that have a backlog."""
    backlog_max: float | None
    latency: Latency | None
    """Of all rows of the run together, each step weighted by the rows it processed."""
    slo: SloCheck | None
    """None where nothing was promised."""
    executor_seconds: Mapping[str, float | None]
    """Running executors integrated over time, by module; a gap keeps the value before it."""
    executor_seconds_total: float | None
    executors_min: int | None
    executors_mean: float | None
    """Weighted by time."""
    executors_max: int | None
    reconfigurations: int
    """Steps that asked to change the application: degrees, the clock, or owners of keys. Nodes are
    counted apart, because acquiring one disturbs nothing that runs."""
    scale_outs: int
    """Steps that gave some module more executors."""
    scale_ins: int
    """Steps that took executors from some module; a step may do both."""
    failed_tasks: int | None
    steps_with_gaps: int
    """Steps that lack a rate, backlog, utilisation or executor count which other steps have."""
    results: Mapping[str, object] = field(default_factory=dict)
    """What the application itself came to, such as the most frequent words."""
    modules: Mapping[str, ModuleEconomy] = field(default_factory=dict)
    """What each module brought and what it cost."""
    cost: float | None = None
    """Of all modules together; None where one of them is unknown."""
    clock_changes: int = 0
    """Steps that asked for another frequency; they may change degrees too."""
    reroutings: int = 0
    """Steps that asked for nothing but other owners of keys."""
    energy: Energy | None = None
    """None where no step knew its power or its clock."""
    load_mean: Mapping[str, float] = field(default_factory=dict)
    """By module that measured it: work that came by what executors could have done."""
    splitting_mean: Mapping[str, float] = field(default_factory=dict)
    """By module that measured it: parts that a pane was split into."""
    results_rate_mean: Mapping[str, float] = field(default_factory=dict)
    """By module that counted them: results a second, such as windows."""
    regions: Mapping[str, RegionUse] = field(default_factory=dict)
    """What each region brought and what it lacked; empty where nodes are not decided about."""
    node_seconds_total: float | None = None
    """Nodes integrated over time, over all regions; a gap keeps the value before it."""
    nodes_min: int | None = None
    """Over all regions together."""
    nodes_mean: float | None = None
    """Weighted by time."""
    nodes_max: int | None = None
    requests: Mapping[str, RequestCount] = field(default_factory=dict)
    """By level (`application`, `infrastructure`), what managers asked for and were answered."""

    @property
    def left(self) -> Mapping[str, int] | None:
        """Rows that had not been through when all was over, by module; None where nobody says."""
        left = self.results.get("rows_waiting")
        return left if isinstance(left, Mapping) else None

    @property
    def refused(self) -> Mapping[str, Mapping[str, int]] | None:
        """Rows that were not taken in, by module and reason; None where nobody says."""
        refused = self.results.get("rows_refused")
        if not isinstance(refused, Mapping):
            return None
        return refused if all(_are_counts(reasons) for reasons in refused.values()) else None

    def to_json(self) -> dict[str, Any]:
        """As `summary.json` has it."""
        written: dict[str, Any] = plain(self)
        return written


def summary_from_json(data: Mapping[str, Any]) -> Summary:
    """The summary that `to_json` wrote; raises ValueError with the field that is wrong."""
    summary: Summary = reader(Summary)(data)
    return summary


def summarise(
    ticks: Iterable[Tick],
    slo_latency_p95: float | None,
    *,
    source: str | None = None,
    graph: FlowGraph | None = None,
) -> Summary:
    """The summary of a run; `source` is where rows arrive, the first module where not given.

    The graph says at what prices; without it there is nothing to say of single modules. Where it
    holds several pipelines, rows arrive at the source of each.

    >>> summarise([], slo_latency_p95=2.0).slo
    SloCheck(latency_p95=2.0, met=0, violated=0, unknown=0, violated_share=None, idle=0)
    """
    ticks = tuple(ticks)
    sources = (source or next(iter(modules(ticks)), ""), *(graph.also if graph else ()))
    seconds = steps(ticks)
    rates = _sum(ticks, sources, "arrival_rate")
    processed = _sum(ticks, sources, "processed_rate") * seconds
    backlog = total(reporting(ticks, "backlog"), len(ticks))
    found = {} if graph is None else economy(ticks, graph)
    return Summary(
        steps=len(ticks),
        duration=_duration(ticks),
        rows_arrived=added(rates * seconds),
        rows_processed=added(processed),
        arrival_rate_mean=mean(rates, seconds),
        arrival_rate_max=highest(rates),
        backlog_final=last(backlog),
        backlog_max=highest(backlog),
        latency=pooled([tick.seen.latency for tick in ticks], processed.tolist()),
        slo=None if slo_latency_p95 is None else _check(ticks, slo_latency_p95, backlog),
        **_executors(ticks, seconds),
        **_actions(ticks, graph),
        failed_tasks=whole(added(_stacked(reporting(ticks, "failed_tasks")))),
        steps_with_gaps=int(_gaps(ticks).sum()),
        modules=found,
        cost=_all_of([module.cost for module in found.values()]),
        energy=energy(ticks, processed),
        load_mean=_means(ticks, "load"),
        splitting_mean=_means(ticks, "splitting"),
        results_rate_mean=_means(ticks, "results_rate"),
        regions=uses(ticks),
        **node_totals(ticks),
        requests=requests(ticks),
    )


def _are_counts(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(n, int) for n in value.values())


def _all_of(costs: Sequence[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known and len(known) == len(costs) else None


def _duration(ticks: Sequence[Tick]) -> float:
    if not ticks:
        return 0.0
    first, last = ticks[0].seen, ticks[-1].seen
    return last.at - first.at + first.step


def _check(ticks: Sequence[Tick], promised: float, backlog: Column) -> SloCheck:
    p95 = latencies(ticks, "p95")
    measured = known(p95)
    violated = int((measured > promised).sum())
    return SloCheck(
        latency_p95=promised,
        met=len(measured) - violated,
        violated=violated,
        unknown=len(ticks) - len(measured),
        violated_share=violated / len(measured) if measured.size else None,
        idle=int((np.isnan(p95) & (backlog == 0)).sum()),
    )


def _sum(ticks: Sequence[Tick], names: Iterable[str], metric: str) -> Column:
    return total({name: column(ticks, name, metric) for name in names}, len(ticks))


def _executors(ticks: Sequence[Tick], seconds: Column) -> dict[str, Any]:
    running = {name: held(column(ticks, name, "running")) for name in modules(ticks)}
    shared = held(pools(ticks))
    everywhere = total(running, len(ticks)) if np.isnan(shared).all() else shared
    return {
        "executor_seconds": {name: integral(n, seconds) for name, n in running.items()},
        "executor_seconds_total": integral(everywhere, seconds),
        "executors_min": whole(lowest(everywhere)),
        "executors_mean": mean(everywhere, seconds),
        "executors_max": whole(highest(everywhere)),
    }


def _actions(ticks: Sequence[Tick], graph: FlowGraph | None) -> dict[str, Any]:
    made = [act for act in acts(ticks, graph) if act.reconfigures]
    return {
        "reconfigurations": len(made),
        "scale_outs": sum(act.grows for act in made),
        "scale_ins": sum(act.shrinks for act in made),
        "clock_changes": sum(act.clock is not None for act in made),
        "reroutings": sum(bool(act.rerouted) for act in made),
    }


def _gaps(ticks: Sequence[Tick]) -> Column:
    gaps = np.zeros(len(ticks), dtype=bool)
    for metric in _NEEDED:
        for values in reporting(ticks, metric).values():
            gaps |= np.isnan(values)
    return gaps.astype(np.float64)


def _stacked(columns: Mapping[str, Column]) -> Column:
    return np.concatenate(list(columns.values())) if columns else np.empty(0)


def _means(ticks: Sequence[Tick], metric: str) -> dict[str, float]:
    """By module that ever measured it, weighted by time."""
    finite = {n: np.where(np.isfinite(c), c, nan) for n, c in reporting(ticks, metric).items()}
    means = {name: mean(values, steps(ticks)) for name, values in finite.items()}
    return {name: found for name, found in means.items() if found is not None}
