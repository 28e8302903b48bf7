"""A run in a handful of numbers.

What each module brought and cost is in the terms of the game paper. A module's cost in a control
step is `delay_cost` for each second between two results, and `price` for each executor (game, Expr.
5 and 6). Its efficiency is how much of what is paid for is used: the seconds between two results
that its executors could reach, by those that they did.

>>> from penstock.core.graph import Module
>>> from penstock.core.signals import Configuration, Decision, ModuleReading, Observation
>>> reading = ModuleReading(processed_rate=4.0, service_time=0.4, running=2)
>>> seen = Observation(at=5.0, step=5.0, modules={"match": reading})
>>> held_on = Decision(configuration=Configuration(degrees={"match": 2}), why="as it was")
>>> match = Module(name="match", price=0.01, delay_cost=0.5)
>>> ticks = [Tick(seen=seen, decided=held_on, asked=None)]
>>> run = summarise(ticks, 2.0, graph=FlowGraph(source="match", modules=(match,)))
>>> run.modules["match"].throughput, run.modules["match"].efficiency, round(run.cost, 3)
(4.0, 0.8, 0.145)
>>> run.slo
SloCheck(latency_p95=2.0, met=0, violated=0, unknown=1, violated_share=None, idle=0)
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from penstock.core.graph import FlowGraph
from penstock.core.signals import Latency, Tick
from penstock.record.acts import acts
from penstock.record.codec import plain, reader
from penstock.record.latency import pooled
from penstock.record.measures import (
    Column,
    added,
    column,
    held,
    highest,
    integral,
    last,
    lowest,
    mean,
    modules,
    observed,
    regions,
    reporting,
    steps,
    total,
    whole,
)
from penstock.record.running import Energy, Mean, RunningSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleEconomy:
    """One module over a run. None is unknown."""

    throughput: float | None
    """Rows a second that it finished."""
    efficiency: float | None
    """Mean over the steps, 0 to 1."""
    cost: float | None
    """Of all steps together, in the money of price and delay_cost; None where it has neither."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionUse:
    """One region over a run. None is unknown."""

    node_seconds: float | None
    """Nodes integrated over time; a step in which it did not answer keeps the number before."""
    acquired: int
    """Nodes that were asked for beyond those that there were."""
    released: int
    """Nodes that were asked to go."""
    unmet: int | None
    """Replicas that found no node with room, over all steps that measured it."""
    unmet_steps: int
    """Steps in which some did."""
    silent_steps: int
    """Steps in which it did not say how many nodes it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCount:
    """Requests of one level by their answer.

    >>> RequestCount(granted=13, refused=1).made
    14
    """

    granted: int
    refused: int

    @property
    def made(self) -> int:
        """Both together."""
        return self.granted + self.refused


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
        """Rows that waited at the end, by module; None where that is not recorded."""
        left = self.results.get("rows_waiting")
        return left if isinstance(left, Mapping) else None

    @property
    def refused(self) -> Mapping[str, Mapping[str, int]] | None:
        """Rows that were not taken in, by module and reason; None where that is not recorded."""
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
    return reader(Summary)(data)


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
    """
    ticks = tuple(ticks)
    first = source or next(iter(modules(ticks)), "")
    running = RunningSummary(graph=graph, slo_latency_p95=slo_latency_p95, source=first)
    for tick in ticks:
        running.add(tick)
    backlog = total(reporting(ticks, "backlog"), len(ticks))
    sources = (first, *(graph.also if graph else ()))
    rates = {name: column(ticks, name, "processed_rate") for name in sources}
    rows = total(rates, len(ticks)) * steps(ticks)
    return Summary(
        steps=running.steps,
        duration=ticks[-1].seen.at - ticks[0].seen.at + ticks[0].seen.step if ticks else 0.0,
        rows_arrived=running.arrivals.total,
        rows_processed=running.processed.total,
        arrival_rate_mean=running.arrivals.mean,
        arrival_rate_max=running.arrivals.high,
        backlog_final=last(backlog),
        backlog_max=highest(backlog),
        latency=pooled([tick.seen.latency for tick in ticks], rows.tolist()),
        slo=_check(ticks, running, backlog),
        executor_seconds={name: sums.total for name, sums in running.by_module.items()},
        executor_seconds_total=running.executor_seconds,
        **_least_mean_most("executors", _executors(ticks), steps(ticks)),
        reconfigurations=running.reconfigurations,
        scale_outs=running.scale_outs,
        scale_ins=running.scale_ins,
        clock_changes=running.clock_changes,
        reroutings=running.reroutings,
        failed_tasks=sum(running.failed_tasks.values()) if running.failed_tasks else None,
        steps_with_gaps=_gaps(ticks),
        modules=_economy(ticks, running),
        cost=running.cost,
        energy=running.energy,
        load_mean=_known_means(running.means["load"]),
        splitting_mean=_known_means(running.means["splitting"]),
        results_rate_mean=_known_means(running.means["results_rate"]),
        regions=_uses(ticks),
        node_seconds_total=integral(_nodes(ticks), steps(ticks)),
        **_least_mean_most("nodes", _nodes(ticks), steps(ticks)),
        requests=_requests(ticks),
    )


def _are_counts(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(n, int) for n in value.values())


def _check(ticks: Sequence[Tick], running: RunningSummary, backlog: Column) -> SloCheck | None:
    if running.slo_latency_p95 is None:
        return None
    measured = running.met + running.violated
    return SloCheck(
        latency_p95=running.slo_latency_p95,
        met=running.met,
        violated=running.violated,
        unknown=running.unknown,
        violated_share=running.violated / measured if measured else None,
        idle=int((np.isnan(observed(ticks, "latency", "p95")) & (backlog == 0)).sum()),
    )


def _least_mean_most(what: str, counts: Column, seconds: Column) -> dict[str, Any]:
    return {
        f"{what}_min": whole(lowest(counts)),
        f"{what}_mean": mean(counts, seconds),
        f"{what}_max": whole(highest(counts)),
    }


def _executors(ticks: Sequence[Tick]) -> Column:
    """Executors that ran at once: those that all modules share, or the sum of theirs."""
    shared = held(observed(ticks, "pool"))
    if not np.isnan(shared).all():
        return shared
    by_module = {name: held(column(ticks, name, "running")) for name in modules(ticks)}
    return total(by_module, len(ticks))


def _gaps(ticks: Sequence[Tick]) -> int:
    gaps = np.zeros(len(ticks), dtype=bool)
    for metric in _NEEDED:
        for values in reporting(ticks, metric).values():
            gaps |= np.isnan(values)
    return int(gaps.sum())


def _known_means(means: Mapping[str, Mean]) -> dict[str, float]:
    """By module that ever measured it, weighted by time."""
    return {name: mean.mean for name, mean in means.items() if mean.mean is not None}


def _economy(ticks: Sequence[Tick], running: RunningSummary) -> dict[str, ModuleEconomy]:
    return {
        name: ModuleEconomy(
            throughput=running.means["processed_rate"].get(name, Mean()).mean,
            efficiency=_efficiency(ticks, name),
            cost=cost,
        )
        for name, cost in running.costs.items()
    }


def _efficiency(ticks: Sequence[Tick], name: str) -> float | None:
    rate = column(ticks, name, "processed_rate")
    running = held(column(ticks, name, "running"))
    service = held(column(ticks, name, "service_time"))
    return mean(np.minimum(rate * service / running, 1.0), steps(ticks))


def _nodes(ticks: Sequence[Tick]) -> Column:
    """Nodes of all regions together, a value a step; a gap keeps the value before it."""
    nodes = {name: held(observed(ticks, "regions", name, "nodes")) for name in regions(ticks)}
    return total(nodes, len(ticks))


def _uses(ticks: Sequence[Tick]) -> dict[str, RegionUse]:
    changes = [act.nodes for act in acts(ticks)]
    uses = {}
    for name in regions(ticks):
        nodes, unmet = (observed(ticks, "regions", name, what) for what in ("nodes", "unmet"))
        moves = [
            round(change.after - change.before)
            for change in (changed[name] for changed in changes if name in changed)
            if change.before is not None
        ]
        uses[name] = RegionUse(
            node_seconds=integral(held(nodes), steps(ticks)),
            acquired=sum(move for move in moves if move > 0),
            released=-sum(move for move in moves if move < 0),
            unmet=whole(added(unmet)),
            unmet_steps=int((unmet > 0).sum()),
            silent_steps=int(np.isnan(nodes).sum()),
        )
    return uses


def _requests(ticks: Sequence[Tick]) -> dict[str, RequestCount]:
    made = Counter((r.level, r.granted) for tick in ticks for r in tick.decided.requests)
    return {
        level: RequestCount(granted=made[level, True], refused=made[level, False])
        for level in dict.fromkeys(level for level, _ in made)
    }
