"""The figures of a run as metrics: fed with ticks, read as samples by labels.

They are written in Prometheus' text format, version 0.0.4:
https://prometheus.io/docs/instrumenting/exposition_formats

>>> print(text({"backlog_rows": {(("module", 'a"b'),): 7.5, (): None}}), end="")
# HELP penstock_backlog_rows Rows that arrived and are not finished
# TYPE penstock_backlog_rows gauge
penstock_backlog_rows{module="a\\"b"} 7.5
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from math import isnan
from typing import Final

from penstock import __version__
from penstock.core.graph import FlowGraph
from penstock.core.signals import Tick
from penstock.record.acts import Act
from penstock.record.running import RunningSummary
from penstock.record.settings import RunSettings

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
PREFIX: Final = "penstock_"

Labels = tuple[tuple[str, str], ...]
Samples = Mapping[Labels, float | None]


def render(state: "MetricsState") -> str:
    """What `/metrics` answers."""
    return text(state.samples())


def one(value: float | None) -> Samples:
    """The samples of a metric without labels."""
    return {(): value}


def text(metrics: Mapping[str, Samples]) -> str:
    """Metrics in the text format, without values that are unknown."""
    return "".join(line for name, samples in metrics.items() for line in _lines(name, samples))


def _lines(metric: str, samples: Samples) -> Iterator[str]:
    known = {k: v for k, v in samples.items() if v is not None and not isnan(v)}
    if not known:
        return
    name = PREFIX + metric
    yield f"# HELP {name} {_escaped(MEANINGS[metric])}\n"
    yield f"# TYPE {name} {'counter' if metric.endswith('_total') else 'gauge'}\n"
    for labels, value in known.items():
        shown = ",".join(f'{label}="{_quoted(word)}"' for label, word in labels)
        yield f"{name}{'{' + shown + '}' if shown else ''} {_number(value)}\n"


def _number(value: float) -> str:
    """A float as Go reads it.

    >>> _number(3), _number(0.25), _number(float("inf")), _number(1763406196.852)
    ('3', '0.25', '+Inf', '1763406196.852')
    """
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))


def _escaped(words: str) -> str:
    return words.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(words: str) -> str:
    return _escaped(words).replace('"', '\\"')


_STATES: Final = ("wanted", "requested", "running")
_QUANTILES: Final = {"0.5": "p50", "0.95": "p95", "0.99": "p99"}


def forecast(tick: Tick, module: str) -> float | None:
    """Rows a second that the decision of a tick foresees for a module."""
    expects = tick.decided.expects
    return expects.get(f"arrival_rate:{module}", expects.get(f"rate:{module}"))


def _by(label: str, values: Mapping[str, float | None]) -> Samples:
    return {((label, name),): value for name, value in values.items()}


def _field(label: str, readings: Mapping[str, object], field: str) -> Samples:
    return _by(label, {name: getattr(reading, field) for name, reading in readings.items()})


def _states(label: str, readings: Mapping[str, object], fields: tuple[str, ...]) -> Samples:
    return {
        ((label, name), ("state", state)): getattr(reading, field)
        for name, reading in readings.items()
        for state, field in zip(_STATES, fields, strict=True)
    }


MEANINGS: Final = {
    "info": "What runs",
    "up": "Whether the run is still going on",
    "last_tick_timestamp_seconds": "When the newest step ended, in seconds since 1970; on the twin "
    "in its own time",
    "slo_latency_seconds": "Promised 95th percentile",
    "executors": "Executors wanted by the last decision, requested of the cluster, and running",
    "recommended_executors": "Executors that the policy would have, before guards; in a dry run "
    "after all guards",
    "arrival_rate_rows_per_second": "Rows that came in a second",
    "processed_rate_rows_per_second": "Rows that were finished in a second",
    "backlog_rows": "Rows that arrived and are not finished",
    "utilisation_ratio": "Busy share of the executors, 0 to 1",
    "load_ratio": "Work that came by what the executors could have done",
    "batch_duration_seconds": "Mean time of a micro-batch",
    "service_time_seconds": "Time of one executor that a row takes",
    "forecast_rate_rows_per_second": "Rows a second foreseen for the next steps",
    "latency_seconds": "From a row's creation to its result, in the last step",
    "pool_executors": "Executors that modules share",
    "power_watts": "Power of the processors",
    "frequency_hertz": "Clock of the processors",
    "lag_records": "Records that a query has not finished yet",
    "query_arrival_rate_rows_per_second": "Rows that came to a query in a second",
    "query_processed_rate_rows_per_second": "Rows that a query finished",
    "query_batch_duration_seconds": "Mean time of a query's micro-batch",
    "nodes": "Nodes of each region",
    "ticks_total": "Control steps",
    "decisions_total": "Decisions by module and what they did: out, in, set or hold",
    "reconfigurations_total": "Steps that changed something",
    "slo_violations_total": "Steps whose 95th percentile was above the promise",
    "slo_steps_total": "Steps that measured a latency",
    "failed_tasks_total": "Tasks that failed",
    "module_executor_seconds_total": "Running executors times seconds, by module",
    "executor_seconds_total": "Running executors times seconds, in all",
    "cost_total": "In the money of price and delay_cost",
    "energy_joules_total": "Watts times seconds",
}
"""Every metric, without the prefix; `_total` marks a counter, all others are gauges."""

_MODULE_GAUGES: Final = {
    "arrival_rate_rows_per_second": "arrival_rate",
    "processed_rate_rows_per_second": "processed_rate",
    "backlog_rows": "backlog",
    "utilisation_ratio": "utilisation",
    "load_ratio": "load",
    "batch_duration_seconds": "batch_duration",
    "service_time_seconds": "service_time",
}
"""Metrics of each module by the field of a reading that they show."""
_QUERY_GAUGES: Final = {
    "lag_records": "backlog",
    "query_arrival_rate_rows_per_second": "arrival_rate",
    "query_processed_rate_rows_per_second": "processed_rate",
    "query_batch_duration_seconds": "batch_duration",
}
"""The same of each query of an application that was attached to."""


def _measured(tick: Tick) -> dict[str, Samples]:
    """What the newest step measured."""
    seen, decided, latency = tick.seen, tick.decided, tick.seen.latency
    recommended = (decided.proposed or decided.configuration).degrees
    hertz = None if seen.frequency is None else 1e9 * seen.frequency
    return {
        "executors": _states("module", seen.modules, _STATES),
        "recommended_executors": _by("module", recommended),
        **{name: _field("module", seen.modules, of) for name, of in _MODULE_GAUGES.items()},
        "forecast_rate_rows_per_second": _by(
            "module", {name: forecast(tick, name) for name in seen.modules}
        ),
        "latency_seconds": _by(
            "quantile", {q: getattr(latency, field, None) for q, field in _QUANTILES.items()}
        ),
        "pool_executors": one(seen.pool),
        "power_watts": one(seen.power.watts if seen.power else None),
        "frequency_hertz": one(hertz),
        **{name: _field("query", seen.queries, of) for name, of in _QUERY_GAUGES.items()},
        "nodes": _states("region", seen.regions, ("wanted", "requested", "nodes")),
    }


@dataclass(slots=True, kw_only=True)
class MetricsState:
    """The figures of a run, tick by tick; no folder is needed.

    >>> from penstock.dashboard.metrics import render
    >>> from penstock.testing import seen
    >>> from penstock.core.signals import Configuration, Decision
    >>> state = MetricsState(pipeline="wordcount", policy="threshold")
    >>> held = Decision(configuration=Configuration(degrees={"counter": 2}), why="as it was")
    >>> _ = state.add(Tick(seen=seen(counter={"running": 2}), decided=held, asked=None))
    >>> [line for line in render(state).splitlines() if line.startswith("penstock_executors")]
    ['penstock_executors{module="counter",state="running"} 2']
    """

    pipeline: str
    policy: str | None = None
    plant: str = "spark"
    started: datetime | None = None
    slo_latency_p95: float | None = None
    graph: FlowGraph | None = None
    up: bool = True
    """Whether ticks are still to come."""
    last: Tick | None = None
    running: RunningSummary = field(init=False)
    decisions: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By module and action: `out`, `in`, `set` where the value before is unknown, or `hold`."""

    def __post_init__(self) -> None:
        """Begin at nothing."""
        self.running = RunningSummary(graph=self.graph, slo_latency_p95=self.slo_latency_p95)

    @classmethod
    def of(cls, settings: RunSettings) -> "MetricsState":
        """For a run with these settings."""
        return cls(
            pipeline=settings.pipeline,
            policy=settings.policy,
            plant=settings.plant,
            started=settings.started,
            slo_latency_p95=settings.slo_latency_p95,
            graph=settings.graph,
        )

    def add(self, tick: Tick) -> Act:
        """One more tick; returns what it asked to change."""
        act = self.running.add(tick)
        self.last = tick
        for name in tick.seen.modules.keys() | act.degrees.keys():
            self.decisions[
                name, act.degrees[name].direction if name in act.degrees else "hold"
            ] += 1
        return act

    def samples(self) -> dict[str, Samples]:
        """Every metric by its name, as in `MEANINGS`."""
        running, promised = self.running, self.slo_latency_p95
        about = {"pipeline": self.pipeline, "policy": self.policy or "", "plant": self.plant}
        at = None
        if self.started is not None and self.last is not None:
            at = self.started.timestamp() + self.last.seen.at
        seconds = {name: held.total for name, held in running.by_module.items()}
        return {
            "info": {(*about.items(), ("version", __version__)): 1},
            "up": one(int(self.up)),
            "last_tick_timestamp_seconds": one(at),
            "slo_latency_seconds": one(promised),
            **({} if self.last is None else _measured(self.last)),
            "ticks_total": one(running.steps),
            "decisions_total": {
                (("module", m), ("action", a)): n for (m, a), n in sorted(self.decisions.items())
            },
            "reconfigurations_total": one(running.reconfigurations),
            "slo_violations_total": one(None if promised is None else running.violated),
            "slo_steps_total": one(None if promised is None else running.met + running.violated),
            "failed_tasks_total": _by("module", running.failed_tasks),
            "module_executor_seconds_total": _by("module", seconds),
            "executor_seconds_total": one(running.executor_seconds),
            "cost_total": one(running.cost),
            "energy_joules_total": one(running.joules),
        }
