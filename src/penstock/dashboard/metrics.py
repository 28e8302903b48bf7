"""The figures of a run as metrics: fed with ticks, read as families of samples.

They are written in Prometheus' text format, version 0.0.4:
https://prometheus.io/docs/instrumenting/exposition_formats

>>> shown = family("backlog_rows", "gauge", "Rows", {(("module", 'a"b'),): 7.5, (): None})
>>> print(text([shown]), end="")
# HELP penstock_backlog_rows Rows
# TYPE penstock_backlog_rows gauge
penstock_backlog_rows{module="a\\"b"} 7.5
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A metric, and its value for each set of labels."""

    name: str
    kind: str
    """`gauge` or `counter`."""
    meaning: str
    samples: Mapping[Labels, float]


def family(name: str, kind: str, meaning: str, samples: Mapping[Labels, float | None]) -> Family:
    """A family under our prefix, without what is unknown."""
    known = {k: v for k, v in samples.items() if v is not None and not isnan(v)}
    return Family(name=PREFIX + name, kind=kind, meaning=meaning, samples=known)


def one(value: float | None) -> dict[Labels, float | None]:
    """The samples of a metric without labels."""
    return {(): value}


def render(state: "MetricsState") -> str:
    """What `/metrics` answers."""
    return text(state.families())


def text(families: Iterable[Family]) -> str:
    """Families in the text format; one without samples is not there."""
    return "".join(line for metric in families if metric.samples for line in _lines(metric))


def _lines(metric: Family) -> Iterator[str]:
    yield f"# HELP {metric.name} {_escaped(metric.meaning)}\n"
    yield f"# TYPE {metric.name} {metric.kind}\n"
    for labels, value in metric.samples.items():
        shown = ",".join(f'{name}="{_quoted(word)}"' for name, word in labels)
        yield f"{metric.name}{'{' + shown + '}' if shown else ''} {_number(value)}\n"


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


MODULE_GAUGES: Final = (
    ("arrival_rate_rows_per_second", "arrival_rate", "Rows that came in a second"),
    ("processed_rate_rows_per_second", "processed_rate", "Rows that were finished in a second"),
    ("backlog_rows", "backlog", "Rows that arrived and are not finished"),
    ("utilisation_ratio", "utilisation", "Busy share of the executors, 0 to 1"),
    ("load_ratio", "load", "Work that came by what the executors could have done"),
    ("batch_duration_seconds", "batch_duration", "Mean time of a micro-batch"),
    ("service_time_seconds", "service_time", "Time of one executor that a row takes"),
)
"""Name, field of a reading and meaning of the gauges of each module."""

QUERY_GAUGES: Final = (
    ("lag_records", "backlog", "Records that a query has not finished yet"),
    ("query_arrival_rate_rows_per_second", "arrival_rate", "Rows that came to a query in a second"),
    ("query_processed_rate_rows_per_second", "processed_rate", "Rows that a query finished"),
    ("query_batch_duration_seconds", "batch_duration", "Mean time of a query's micro-batch"),
)
"""The same of each query of an application that was attached to."""

_STATES: Final = ("wanted", "requested", "running")


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

    def families(self) -> Iterator[Family]:
        """Every family of samples; what is unknown is left out."""
        yield from self._about()
        if self.last is not None:
            yield from self._modules(self.last)
            yield from self._application(self.last)
            yield from self._others(self.last)
        yield from self._sums()

    def _about(self) -> Iterator[Family]:
        words = {
            "pipeline": self.pipeline,
            "policy": self.policy or "",
            "plant": self.plant,
            "version": __version__,
        }
        yield family("info", "gauge", "What runs", {tuple(words.items()): 1})
        yield family("up", "gauge", "Whether the run is still going on", one(int(self.up)))
        at = None
        if self.started is not None and self.last is not None:
            at = self.started.timestamp() + self.last.seen.at
        yield family(
            "last_tick_timestamp_seconds",
            "gauge",
            "When the newest step ended, in seconds since 1970; on the twin in its own time",
            one(at),
        )
        promised = one(self.slo_latency_p95)
        yield family("slo_latency_seconds", "gauge", "Promised 95th percentile", promised)

    def _modules(self, tick: Tick) -> Iterator[Family]:
        seen, decided = tick.seen, tick.decided
        yield family(
            "executors",
            "gauge",
            "Executors wanted by the last decision, requested of the cluster, and running",
            {
                (("module", name), ("state", state)): getattr(reading, state)
                for name, reading in seen.modules.items()
                for state in _STATES
            },
        )
        degrees = (decided.proposed or decided.configuration).degrees
        yield family(
            "recommended_executors",
            "gauge",
            "Executors that the policy would have, before guards; in a dry run after all guards",
            _by("module", degrees),
        )
        for name, metric, meaning in MODULE_GAUGES:
            values = {module: getattr(r, metric) for module, r in seen.modules.items()}
            yield family(name, "gauge", meaning, _by("module", values))
        foreseen = {name: forecast(tick, name) for name in seen.modules}
        meaning = "Rows a second foreseen for the next steps"
        yield family("forecast_rate_rows_per_second", "gauge", meaning, _by("module", foreseen))

    def _application(self, tick: Tick) -> Iterator[Family]:
        seen, latency = tick.seen, tick.seen.latency
        quantiles = {"0.5": "p50", "0.95": "p95", "0.99": "p99"}
        values = {q: getattr(latency, field) for q, field in quantiles.items()} if latency else {}
        meaning = "From a row's creation to its result, in the last step"
        yield family("latency_seconds", "gauge", meaning, _by("quantile", values))
        yield family("pool_executors", "gauge", "Executors that modules share", one(seen.pool))
        watts = seen.power.watts if seen.power else None
        yield family("power_watts", "gauge", "Power of the processors", one(watts))
        hertz = None if seen.frequency is None else 1e9 * seen.frequency
        yield family("frequency_hertz", "gauge", "Clock of the processors", one(hertz))

    def _others(self, tick: Tick) -> Iterator[Family]:
        for name, metric, meaning in QUERY_GAUGES:
            values = {query: getattr(r, metric) for query, r in tick.seen.queries.items()}
            yield family(name, "gauge", meaning, _by("query", values))
        nodes: dict[Labels, float | None] = {
            (("region", name), ("state", state)): getattr(region, field)
            for name, region in tick.seen.regions.items()
            for state, field in zip(_STATES, ("wanted", "requested", "nodes"), strict=True)
        }
        yield family("nodes", "gauge", "Nodes of each region", nodes)

    def _sums(self) -> Iterator[Family]:
        running = self.running
        yield family("ticks_total", "counter", "Control steps", one(running.steps))
        yield family(
            "decisions_total",
            "counter",
            "Decisions by module and what they did: out, in, set or hold",
            {(("module", m), ("action", a)): n for (m, a), n in sorted(self.decisions.items())},
        )
        changes = one(running.reconfigurations)
        yield family("reconfigurations_total", "counter", "Steps that changed something", changes)
        if self.slo_latency_p95 is not None:
            meaning = "Steps whose 95th percentile was above the promise"
            yield family("slo_violations_total", "counter", meaning, one(running.violated))
            measured = one(running.met + running.violated)
            yield family("slo_steps_total", "counter", "Steps that measured a latency", measured)
        failed = _by("module", running.failed_tasks)
        yield family("failed_tasks_total", "counter", "Tasks that failed", failed)
        seconds = {name: held.total for name, held in running.by_module.items()}
        meaning = "Running executors times seconds"
        yield family(
            "module_executor_seconds_total",
            "counter",
            f"{meaning}, by module",
            _by("module", seconds),
        )
        total = one(running.executor_seconds)
        yield family("executor_seconds_total", "counter", f"{meaning}, in all", total)
        meaning = "In the money of price and delay_cost"
        yield family("cost_total", "counter", meaning, one(running.cost))
        yield family("energy_joules_total", "counter", "Watts times seconds", one(running.joules))


def forecast(tick: Tick, module: str) -> float | None:
    """Rows a second that the decision of a tick foresees for a module."""
    expects = tick.decided.expects
    return expects.get(f"arrival_rate:{module}", expects.get(f"rate:{module}"))


def _by(label: str, values: Mapping[str, float | None]) -> dict[Labels, float | None]:
    return {((label, name),): value for name, value in values.items()}
