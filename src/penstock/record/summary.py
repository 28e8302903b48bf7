"""A run in a handful of numbers.

What each module brought and cost is in the terms of the game paper. A module's cost in a control
step is `delay_cost` for each second between two results, and `price` for each executor (game, Expr.
5 and 6). Its efficiency is how much of what is paid for is used: the seconds between two results
that its executors could reach, by those that they did.

`pooled` is the latency of a whole run, from the quantiles of its steps. The mean of many 95th
percentiles is not the 95th percentile. Each step is taken as a hundred equal parts along the
quantiles that it recorded, and the parts of all steps are sorted together, weighted by rows.
Between two quantiles parts are spaced as in an exponential distribution, which the tail of a queue
resembles. Below p50 nothing is recorded: a step is taken to reach as far down as it reaches up, but
not below 0. The slowest hundredth lies at p99.

Error bound: a row lies between the recorded quantiles around it (0 below p50, the step's maximum
above p99). A quantile of the run, and `pooled`, therefore lie between the same quantile with every
row at its lower bound and with every row at its upper one. Where all steps are alike the result is
exact.

>>> calm, storm = Latency(p50=1, p95=1, p99=1), Latency(p50=9, p95=9, p99=9)
>>> pooled([calm, storm], rows=[990, 10]).p95
1.0
>>> pooled([calm, storm], rows=[500, 500]).p95
9.0
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.graph import FlowGraph
from penstock.core.signals import Latency, Tick
from penstock.record.codec import plain, reader
from penstock.record.energy import Energy
from penstock.record.measures import (
    Column,
    column,
    held,
    highest,
    last,
    latencies,
    lowest,
    mean,
    modules,
    pools,
    reporting,
    steps,
    total,
    whole,
)
from penstock.record.regions import RegionUse, RequestCount, node_totals, requests, uses
from penstock.record.running import Mean, RunningSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleEconomy:
    """One module over a run. None is unknown."""

    throughput: float | None
    """Rows a second that it finished."""
    efficiency: float | None
    """Mean over the steps, 0 to 1."""
    cost: float | None
    """Of all steps together, in the money of price and delay_cost; None where it has neither."""


def economy(ticks: Sequence[Tick], graph: FlowGraph) -> dict[str, ModuleEconomy]:
    """Throughput, efficiency and cost of each module of a graph.

    >>> from penstock.core.graph import Module
    >>> from penstock.core.signals import Configuration, Decision, ModuleReading, Observation
    >>> reading = ModuleReading(processed_rate=4.0, service_time=0.4, running=2)
    >>> seen = Observation(at=5.0, step=5.0, modules={"match": reading})
    >>> held = Decision(configuration=Configuration(degrees={"match": 2}), why="as it was")
    >>> module = Module(name="match", price=0.01, delay_cost=0.5)
    >>> graph = FlowGraph(source="match", modules=(module,))
    >>> found = economy([Tick(seen=seen, decided=held, asked=None)], graph)["match"]
    >>> found.throughput, found.efficiency, round(found.cost, 3)
    (4.0, 0.8, 0.145)
    """
    return _economy(ticks, _running(ticks, None, None, graph))


def _economy(ticks: Sequence[Tick], running: RunningSummary) -> dict[str, ModuleEconomy]:
    return {
        name: ModuleEconomy(
            throughput=running.throughputs.get(name, Mean()).mean,
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


Array = NDArray[np.float64]

_PARTS: Final = 100
KNOTS: Final = np.array([0.01, 0.05, 0.5, 0.95, 0.99])
"""Shares of the rows of a step at which its latency is taken as known."""
_LEVELS: Final = np.minimum(np.arange(1, _PARTS + 1) / _PARTS, KNOTS[-1])
_RISE: Final = np.array(
    [np.interp(-np.log1p(-_LEVELS), -np.log1p(-KNOTS), unit) for unit in np.eye(5)]
)
"""Weight of p1, p5, p50, p95 and p99 in each part."""


def pooled(steps: Sequence[Latency | None], rows: Sequence[float]) -> Latency | None:
    """The latency of the rows of all steps together, or None where no step knows its own.

    A step whose rows are unknown (NaN) counts as much as the others do on average.
    """
    known = [(step, weight) for step, weight in zip(steps, rows, strict=True) if step is not None]
    if not known:
        return None
    corners = quantiles_at_knots([step for step, _ in known])
    weights = _shares(np.array([weight for _, weight in known]))
    p50, p95, p99 = _quantiles(np.minimum(corners @ _RISE, corners[:, -1:]), weights)
    return Latency(p50=p50, p95=p95, p99=p99)


def quantiles_at_knots(steps: Sequence[Latency]) -> Array:
    """The latency of each step at the `KNOTS`: below p50 as far down as above it up, from 0.

    >>> quantiles_at_knots([Latency(p50=3.0, p95=4.0, p99=7.0)]).tolist()
    [[0.0, 2.0, 3.0, 4.0, 7.0]]
    """
    upper = np.array([[step.p50, step.p95, step.p99] for step in steps])
    upper = np.maximum.accumulate(upper, axis=1)  # estimates from few rows may cross
    lower = np.maximum(2 * upper[:, :1] - upper[:, :0:-1], 0.0)
    return np.hstack([lower, upper])


def _shares(rows: Array) -> Array:
    known = rows[~np.isnan(rows)]
    filled = np.where(np.isnan(rows), known.mean() if known.size else 1.0, rows)
    filled = filled if filled.sum() > 0 else np.ones_like(rows)
    return np.asarray(filled / filled.sum())


def _quantiles(parts: Array, weights: Array) -> list[float]:
    """The smallest parts that, with all below them, make up each share of the rows."""
    order = np.argsort(parts, axis=None, kind="stable")
    done = np.cumsum(np.repeat(weights / _PARTS, _PARTS)[order])
    place = np.searchsorted(done, KNOTS[2:] - 1e-9)  # a sum of many may fall a hair short
    quantiles: list[float] = parts.ravel()[order][np.minimum(place, len(done) - 1)].tolist()
    return quantiles


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

    >>> summarise([], slo_latency_p95=2.0).slo
    SloCheck(latency_p95=2.0, met=0, violated=0, unknown=0, violated_share=None, idle=0)
    """
    ticks = tuple(ticks)
    running = _running(ticks, slo_latency_p95, source, graph)
    backlog = total(reporting(ticks, "backlog"), len(ticks))
    rows = _sum(ticks, _sources(running), "processed_rate") * steps(ticks)
    return Summary(
        steps=running.steps,
        duration=_duration(ticks),
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
        **_executors(ticks),
        reconfigurations=running.reconfigurations,
        scale_outs=running.scale_outs,
        scale_ins=running.scale_ins,
        clock_changes=running.clock_changes,
        reroutings=running.reroutings,
        failed_tasks=sum(running.failed_tasks.values()) if running.failed_tasks else None,
        steps_with_gaps=int(_gaps(ticks).sum()),
        modules={} if graph is None else _economy(ticks, running),
        cost=running.cost,
        energy=running.energy,
        load_mean=_means(running, "load"),
        splitting_mean=_means(running, "splitting"),
        results_rate_mean=_means(running, "results_rate"),
        regions=uses(ticks),
        **node_totals(ticks),
        requests=requests(ticks),
    )


def _running(
    ticks: Sequence[Tick], slo: float | None, source: str | None, graph: FlowGraph | None
) -> RunningSummary:
    first = source or next(iter(modules(ticks)), "")
    running = RunningSummary(graph=graph, slo_latency_p95=slo, source=first)
    for tick in ticks:
        running.add(tick)
    return running


def _sources(running: RunningSummary) -> tuple[str, ...]:
    return (running.source or "", *(running.graph.also if running.graph else ()))


def _are_counts(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(n, int) for n in value.values())


def _duration(ticks: Sequence[Tick]) -> float:
    if not ticks:
        return 0.0
    first, last = ticks[0].seen, ticks[-1].seen
    return last.at - first.at + first.step


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
        idle=int((np.isnan(latencies(ticks, "p95")) & (backlog == 0)).sum()),
    )


def _sum(ticks: Sequence[Tick], names: Iterable[str], metric: str) -> Column:
    return total({name: column(ticks, name, metric) for name in names}, len(ticks))


def _executors(ticks: Sequence[Tick]) -> dict[str, Any]:
    """The fewest, the mean and the most executors that ran at once."""
    running = {name: held(column(ticks, name, "running")) for name in modules(ticks)}
    shared = held(pools(ticks))
    everywhere = total(running, len(ticks)) if np.isnan(shared).all() else shared
    return {
        "executors_min": whole(lowest(everywhere)),
        "executors_mean": mean(everywhere, steps(ticks)),
        "executors_max": whole(highest(everywhere)),
    }


def _gaps(ticks: Sequence[Tick]) -> Column:
    gaps = np.zeros(len(ticks), dtype=bool)
    for metric in _NEEDED:
        for values in reporting(ticks, metric).values():
            gaps |= np.isnan(values)
    return gaps.astype(np.float64)


def _means(running: RunningSummary, measure: str) -> dict[str, float]:
    """By module that ever measured it, weighted by time."""
    means = {name: average.mean for name, average in running.means[measure].items()}
    return {name: average for name, average in means.items() if average is not None}
