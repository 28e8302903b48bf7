"""The figures of a summary while a run goes on, one tick at a time.

What `summarise` finds of all ticks together, `SoFar` has after each; at the end they are the same.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite

from penstock.core.graph import FlowGraph, Module
from penstock.core.signals import Tick
from penstock.record.acts import Act, acts


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
class SoFar:
    """What a run has come to, tick by tick.

    >>> from penstock.core.signals import Configuration, Decision, ModuleReading, Observation
    >>> seen = Observation(at=5.0, step=5.0, modules={"match": ModuleReading(running=2)})
    >>> held = Decision(configuration=Configuration(degrees={"match": 2}), why="as it was")
    >>> so_far = SoFar(slo_latency_p95=1.0)
    >>> act = so_far.add(Tick(seen=seen, decided=held, asked=None))
    >>> bool(act), so_far.executor_seconds, so_far.cost, so_far.unknown
    (False, 10.0, None, 1)
    """

    graph: FlowGraph | None = None
    slo_latency_p95: float | None = None
    steps: int = 0
    seconds: float = 0.0
    met: int = 0
    violated: int = 0
    unknown: int = 0
    reconfigurations: int = 0
    joules: float | None = None
    modelled: set[bool] = field(default_factory=set)
    """Whether watts were modelled, whether they were measured; both may be."""
    failed_tasks: dict[str, int] = field(default_factory=dict)
    """By module that says."""
    by_module: dict[str, HeldSum] = field(default_factory=dict)
    """Executor-seconds."""
    _pool: HeldSum = field(default_factory=HeldSum)
    _replicas: dict[str, HeldSum] = field(default_factory=dict)
    _between: dict[str, HeldSum] = field(default_factory=dict)
    _inbox: list[Tick] = field(default_factory=list)
    _acts: Iterator[Act] | None = None

    def add(self, tick: Tick) -> Act:
        """One more tick; returns what it asked to change."""
        self._add_executors(tick)
        self._add_costs(tick)
        self._add_energy(tick)
        self._add_failures(tick)
        self._add_slo(tick)
        self.steps += 1
        self.seconds += tick.seen.step
        act = self._act(tick)
        self.reconfigurations += act.reconfigures
        return act

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
    def origin(self) -> str:
        """Where the watts come from: `modelled`, `partly modelled`, `measured`, or nowhere."""
        if len(self.modelled) > 1:
            return "partly modelled"
        return "".join("modelled" if modelled else "measured" for modelled in self.modelled)

    def _cost(self, module: Module) -> float | None:
        if not (module.price or module.delay_cost) or module.name not in self._replicas:
            return None
        replicas, between = self._replicas[module.name].total, self._between[module.name].total
        if replicas is None or between is None:
            return None
        return module.delay_cost * between + module.price * replicas

    def _add_executors(self, tick: Tick) -> None:
        self._pool.add(tick.seen.pool, tick.seen.step)
        for name in tick.seen.modules.keys() - self.by_module.keys():
            self.by_module[name] = HeldSum(waiting=self.seconds)
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

    def _add_energy(self, tick: Tick) -> None:
        power = tick.seen.power
        if power is not None and isfinite(power.watts):
            self.joules = (self.joules or 0.0) + power.watts * tick.seen.step
            self.modelled.add(power.modelled)

    def _add_failures(self, tick: Tick) -> None:
        for name, reading in tick.seen.modules.items():
            if reading.failed_tasks is not None:
                self.failed_tasks[name] = self.failed_tasks.get(name, 0) + reading.failed_tasks

    def _add_slo(self, tick: Tick) -> None:
        if self.slo_latency_p95 is None:
            return
        if tick.seen.latency is None:
            self.unknown += 1
        elif tick.seen.latency.p95 > self.slo_latency_p95:
            self.violated += 1
        else:
            self.met += 1

    def _act(self, tick: Tick) -> Act:
        if self._acts is None:
            self._acts = acts(self._come(), self.graph)
        self._inbox.append(tick)
        return next(self._acts)

    def _come(self) -> Iterator[Tick]:
        while True:
            yield self._inbox.pop()


def _all_of(found: Mapping[str, float | None]) -> float | None:
    known = [value for value in found.values() if value is not None]
    return sum(known) if known and len(known) == len(found) else None
