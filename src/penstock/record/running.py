"""The figures of a summary that grow with a run, one tick at a time.

The live page and the metrics read them after each tick, and `summarise` takes them at the end: each
is computed here and nowhere else. What needs hindsight, such as quantiles, is in `summary`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Final

from penstock.core.graph import FlowGraph, Module
from penstock.core.signals import ModuleReading, Tick
from penstock.record.acts import Act, ActReader


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    """Energy, power and clock of a run. None is unknown."""

    joules: float | None
    """Watts times seconds, over the steps that know their watts."""
    seconds: float
    """Of the steps that know their watts."""
    watts_mean: float | None
    """Over those seconds."""
    frequency_mean: float | None
    """GHz, weighted by time, over the steps that know it."""
    modelled_share: float | None
    """Share of those seconds whose watts come from the model: 1 is all of them, 0 none."""
    joules_per_row: float | None = None
    """Over the steps that know both their watts and their rows."""

    @property
    def origin(self) -> str:
        """Where the watts come from: `modelled`, `partly modelled`, `measured`, or nowhere."""
        if self.modelled_share is None:
            return ""
        return {0.0: "measured", 1.0: "modelled"}.get(self.modelled_share, "partly modelled")


@dataclass(slots=True)
class HeldSum:
    """A sum over steps in which a gap keeps the value before it, or takes the first one after.

    >>> running = HeldSum()
    >>> for value in (None, 2.0, None, 3.0):
    ...     running.add(value, weight=10.0)
    >>> running.total, HeldSum().total
    (90.0, None)
    """

    waiting: float = 0.0
    """Weight of the steps before the first value."""
    last: float | None = None
    _sum: float = 0.0

    def add(self, value: float | None, weight: float) -> None:
        """One more step."""
        self.last = self.last if value is None else value
        if self.last is None:
            self.waiting += weight
        else:
            self._sum += self.last * (weight + self.waiting)
            self.waiting = 0.0

    @property
    def total(self) -> float | None:
        """The sum; None while no value is known."""
        return None if self.last is None else self._sum


@dataclass(slots=True)
class Mean:
    """A mean over the steps that know a value, weighted by their length.

    >>> rate = Mean()
    >>> for value in (2.0, None, 4.0):
    ...     rate.add(value, weight=3.0)
    >>> rate.mean, rate.high, rate.sum, rate.weight
    (3.0, 4.0, 18.0, 6.0)
    """

    sum: float = 0.0
    """Of values times weights."""
    weight: float = 0.0
    high: float | None = None

    def add(self, value: float | None, weight: float) -> None:
        """One more step; unknown and non-finite values are ignored."""
        if value is None or not isfinite(value):
            return
        self.sum += value * weight
        self.weight += weight
        self.high = value if self.high is None else max(self.high, value)

    @property
    def mean(self) -> float | None:
        """None where no step knows it."""
        return self.sum / self.weight if self.weight > 0 else None

    @property
    def total(self) -> float | None:
        """The sum; None where no step knows it."""
        return None if self.high is None else self.sum


MEANS: Final = ("processed_rate", "load", "splitting", "results_rate")
"""Measures of modules whose means a summary has."""


@dataclass(slots=True)
class RunningSummary:
    """What a run has done and what it cost, tick by tick.

    >>> from penstock.core.signals import Configuration, Decision, ModuleReading, Observation
    >>> seen = Observation(at=5.0, step=5.0, modules={"match": ModuleReading(running=2)})
    >>> held = Decision(configuration=Configuration(degrees={"match": 2}), why="as it was")
    >>> running = RunningSummary(slo_latency_p95=1.0)
    >>> act = running.add(Tick(seen=seen, decided=held, asked=None))
    >>> bool(act), running.executor_seconds, running.cost, running.unknown
    (False, 10.0, None, 1)
    """

    graph: FlowGraph | None = None
    slo_latency_p95: float | None = None
    source: str | None = None
    """Where rows arrive: that of the graph where not given, else the first module that is seen."""
    steps: int = 0
    seconds: float = 0.0
    met: int = 0
    violated: int = 0
    unknown: int = 0
    reconfigurations: int = 0
    scale_outs: int = 0
    scale_ins: int = 0
    clock_changes: int = 0
    reroutings: int = 0
    arrivals: Mean = field(default_factory=Mean)
    """Rows a second at the sources; its sum is rows."""
    processed: Mean = field(default_factory=Mean)
    means: dict[str, dict[str, Mean]] = field(default_factory=lambda: {name: {} for name in MEANS})
    """By measure and module."""
    power: Mean = field(default_factory=Mean)
    modelled: Mean = field(default_factory=Mean)
    """Of the watts those that are modelled."""
    clock: Mean = field(default_factory=Mean)
    energy_by_row: tuple[float, float] = (0.0, 0.0)
    """Joules, and rows, of the steps that know both."""
    failed_tasks: dict[str, int] = field(default_factory=dict)
    """By module that says."""
    by_module: dict[str, HeldSum] = field(default_factory=dict)
    """Executor-seconds."""
    _pool: HeldSum = field(default_factory=HeldSum)
    _replicas: dict[str, HeldSum] = field(default_factory=dict)
    _between: dict[str, HeldSum] = field(default_factory=dict)
    _act: ActReader | None = None

    def add(self, tick: Tick) -> Act:
        """One more tick; returns what it asked to change."""
        self._add_executors(tick)
        self._add_costs(tick)
        self._add_energy(tick, self._add_rows(tick))
        self._add_readings(tick)
        self._add_slo(tick)
        self.steps += 1
        self.seconds += tick.seen.step
        return self._add_act(tick)

    @property
    def executor_seconds(self) -> float | None:
        """In all; None where those of a module are unknown."""
        if self._pool.total is not None:
            return self._pool.total
        return _all_of({name: held.total for name, held in self.by_module.items()})

    @property
    def cost(self) -> float | None:
        """Of all modules together; None where one is unknown, as in the summary."""
        return _all_of(self.costs)

    @property
    def costs(self) -> dict[str, float | None]:
        """By module, in the money of `price` and `delay_cost`; None where it has neither."""
        modules = self.graph.modules if self.graph else ()
        return {module.name: self._cost(module) for module in modules}

    @property
    def joules(self) -> float | None:
        """Watts times seconds, over the steps that know their watts."""
        return self.power.sum if self.power.weight > 0 else None

    @property
    def energy(self) -> Energy | None:
        """None where no step knows its watts or its clock."""
        if self.power.high is None and self.clock.high is None:
            return None
        joules, rows = self.energy_by_row
        known = self.power.weight
        return Energy(
            joules=self.joules,
            seconds=known,
            watts_mean=self.power.mean,
            frequency_mean=self.clock.mean,
            modelled_share=self.modelled.weight / known if known else None,
            joules_per_row=joules / rows if rows > 0 else None,
        )

    def _cost(self, module: Module) -> float | None:
        if not (module.price or module.delay_cost) or module.name not in self._replicas:
            return None
        replicas, between = self._replicas[module.name].total, self._between[module.name].total
        if replicas is None or between is None:
            return None
        return module.delay_cost * between + module.price * replicas

    def _add_executors(self, tick: Tick) -> None:
        self._pool.add(tick.seen.pool, tick.seen.step)
        for name in tick.seen.modules:
            self.by_module.setdefault(name, HeldSum(waiting=self.seconds))
        for name, held in self.by_module.items():
            reading = tick.seen.modules.get(name)
            held.add(None if reading is None else reading.running, tick.seen.step)

    def _add_costs(self, tick: Tick) -> None:
        """Replicas and seconds between two results (game, Expr. 5 and 6), summed over steps."""
        for module in self.graph.modules if self.graph else ():
            reading = tick.seen.modules.get(module.name)
            rate = None if reading is None else reading.processed_rate
            running = None if reading is None else reading.running
            self._replicas.setdefault(module.name, HeldSum()).add(running, 1.0)
            between = self._between.setdefault(module.name, HeldSum())
            between.add(1.0 / rate if rate else None, 1.0)

    def _add_rows(self, tick: Tick) -> float | None:
        """Returns the rows that were processed at the sources, where that is known."""
        seen = tick.seen
        if self.source is None:
            self.source = self.graph.source if self.graph else next(iter(seen.modules), None)
        sources = (self.source, *(self.graph.also if self.graph else ()))
        readings = [seen.modules.get(name or "", ModuleReading()) for name in sources]
        self.arrivals.add(_sum(reading.arrival_rate for reading in readings), seen.step)
        rate = _sum(reading.processed_rate for reading in readings)
        self.processed.add(rate, seen.step)
        return None if rate is None else rate * seen.step

    def _add_energy(self, tick: Tick, rows: float | None) -> None:
        seen = tick.seen
        self.clock.add(seen.frequency, seen.step)
        if seen.power is None or not isfinite(seen.power.watts):
            return
        self.power.add(seen.power.watts, seen.step)
        self.modelled.add(seen.power.watts if seen.power.modelled else None, seen.step)
        if rows is not None:
            joules, before = self.energy_by_row
            self.energy_by_row = (joules + seen.power.watts * seen.step, before + rows)

    def _add_readings(self, tick: Tick) -> None:
        for name, reading in tick.seen.modules.items():
            if reading.failed_tasks is not None:
                self.failed_tasks[name] = self.failed_tasks.get(name, 0) + reading.failed_tasks
            for measure, means in self.means.items():
                means.setdefault(name, Mean()).add(getattr(reading, measure), tick.seen.step)

    def _add_slo(self, tick: Tick) -> None:
        if self.slo_latency_p95 is None:
            return
        if tick.seen.latency is None:
            self.unknown += 1
        elif tick.seen.latency.p95 > self.slo_latency_p95:
            self.violated += 1
        else:
            self.met += 1

    def _add_act(self, tick: Tick) -> Act:
        self._act = self._act or ActReader(self.graph)
        act = self._act(tick)
        if act.reconfigures:
            self.reconfigurations += 1
            self.scale_outs += act.grows
            self.scale_ins += act.shrinks
            self.clock_changes += act.clock is not None
            self.reroutings += bool(act.rerouted)
        return act


def _sum(values: Iterable[float | None]) -> float | None:
    """None where one is unknown."""
    listed = list(values)
    return None if None in listed else sum(value for value in listed if value is not None)


def _all_of(totals: Mapping[str, float | None]) -> float | None:
    known = [value for value in totals.values() if value is not None]
    return sum(known) if known and len(known) == len(totals) else None
