"""Learning when a module needs more replicas: what `rl`, `q-learning` and `warm-start` share.

A module's state is its replicas and the level of its load; its penalty depends on the response
time, which is derived from what was measured:

>>> response_time(ModuleReading(waiting_time=0.006, service_time=0.003))
0.009000000000000001
>>> response_time(ModuleReading(batch_duration=1.5, backlog=300.0, processed_rate=200.0))
3.0
>>> response_time(ModuleReading(utilisation=1.0)), response_time(ModuleReading(utilisation=0.4))
(inf, None)
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Annotated, Any, ClassVar

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.core.schema import (
    BelowOne,
    Bounds,
    NotNegative,
    PositiveRate,
    PositiveSeconds,
    Seconds,
    Share,
    checked,
)
from penstock.core.signals import Decision, ModuleReading, Observation
from penstock.model import queueing
from penstock.policy.common.degrees import in_force
from penstock.policy.common.estimates import known
from penstock.policy.common.rebalance import Rebalancer
from penstock.policy.common.sentences import change, rows
from penstock.policy.common.verdict import ModuleState, Verdict, conclude, judged
from penstock.policy.rl.agent import (
    MOST_LEVELS,
    Agent,
    Choice,
    State,
    check_size,
    check_weights,
    known_costs,
    level_of,
)
from penstock.policy.rl.saved import as_entry, of_level, restore


@dataclass
@checked("{self.label}")
class OperatorSettings:
    """What a module's response is worth beside its replicas, and how many levels rates have.

    The three weights are those of e2df, Expr. 6, and sum to one.
    """

    label: ClassVar[str] = "policy rl"
    """As messages call it."""

    graph: FlowGraph
    slo: Annotated[Seconds, Bounds(above=0, endless=True)] | None = None
    """Seconds of latency that 95 % of the rows were promised; taken from the file."""
    reconfiguration_weight: NotNegative = 1 / 3
    """Of a change of replicas."""
    performance_weight: NotNegative = 1 / 3
    """Of a response that takes longer than the bound."""
    resource_weight: NotNegative = 1 / 3
    """Of having as many replicas as there may be."""
    discount: BelowOne = 0.99
    """What a cost counts one step later."""
    learning_rate: Share = 0.1
    """Weight of the newest penalty beside those before."""
    levels: Annotated[int, Bounds(least=1, most=MOST_LEVELS)] = 10
    """Into which arrival rates are divided."""
    bound: PositiveSeconds | Mapping[str, PositiveSeconds] | None = None
    """Seconds that a row may take in a module, for all or by module. Unless given, every module's
    equal share of the SLO; without one, only a module that falls behind pays."""
    peak: PositiveRate | None = None
    """Rows a second at the source that the levels span. Unless given, what each module's
    max_replicas can serve."""
    catch_up: PositiveSeconds | None = 30.0
    """Seconds in which the backlog is to be processed: its rows count as arrivals beside those
    that come. None counts only these, as the paper does, where nothing ever waits for long."""
    load: str | None = None
    """File with what was learned before."""
    _spans: dict[str, float] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        weights = ("reconfiguration_weight", "performance_weight", "resource_weight")
        check_weights({name: getattr(self, name) for name in weights}, of=self.label)
        for module in self.graph.modules:
            states = self.levels * (module.max_replicas + 1)
            check_size(states, table=module.name, remedy="lower levels or max_replicas")
        visits = self.graph.visits()  # once: graphs may have thousands of modules
        self._spans = {m.name: self._span(m, visits[m.name]) for m in self.graph.modules}

    def knows(self, name: str) -> bool:
        """Whether a module is in the graph."""
        return name in self._spans

    def bound_of(self, name: str) -> float:
        """Seconds that a row may take in a module; inf where nothing was promised."""
        given = self.bound.get(name) if isinstance(self.bound, Mapping) else self.bound
        if given is not None:
            return given
        return inf if self.slo is None else self.slo / len(self.graph.modules)

    def penalty(self, name: str, response: float) -> float:
        """What a response time costs: e2df, Expr. 6."""
        return self.performance_weight * _late(response, self.bound_of(name))

    def state(self, module: ModuleState) -> State | str:
        """Where a module is, or what is not known of it."""
        name, reading = module.name, module.reading
        arrivals, running = _measured(reading.arrival_rate), reading.running
        if running is None:
            return "running executors unknown"
        if arrivals is None:
            return "arrival rate unknown"
        here = min(running, module.degree, self.graph[name].max_replicas)
        waiting = max(reading.backlog or 0.0, 0.0)
        asked = arrivals + (waiting / self.catch_up if self.catch_up else 0.0)
        return State(number=here, level=level_of(asked, self._spans[name], self.levels))

    def meaning(self, name: str) -> dict[str, Any]:
        """What a table of a module can only be read with, as plain values."""
        bound = self.bound_of(name)
        return {
            "reconfiguration_weight": self.reconfiguration_weight,
            "performance_weight": self.performance_weight,
            "resource_weight": self.resource_weight,
            "bound": bound if bound < inf else None,
            "span": self._spans[name],
            "catch_up": self.catch_up,
            "min_replicas": self.graph[name].min_replicas,
        }

    def _span(self, module: Module, visits: float) -> float:
        """Rows a second of a module that its levels span."""
        if self.peak is not None:
            return self.peak * visits
        if not module.service_time:
            raise SettingError(
                f"{self.label} cannot tell the rates of module {module.name} apart, whose "
                "service_time is not given; give it, or the policy a peak such as 600/s"
            )
        return module.max_replicas / module.service_time


def response_time(reading: ModuleReading) -> float | None:
    """Mean seconds from a row's arrival to its result; inf where rows only pile up.

    The wait and the service where both are known; else, of micro-batches, a batch and as many more
    as the rows that wait will take. Where only its load is known, a module that has more to do than
    it can is known to be late, and of any other nothing is.
    """
    waits, takes = _measured(reading.waiting_time), _measured(reading.service_time)
    if waits is not None and takes is not None:
        return waits + takes
    batch, backlog = _measured(reading.batch_duration), _measured(reading.backlog)
    if batch is not None and backlog is not None:
        rate = _measured(reading.processed_rate)
        if backlog == 0:
            return batch
        if rate is not None:
            return batch + (backlog / rate if rate else inf)
    shares = (reading.load, reading.utilisation)
    return inf if any((_measured(share) or 0.0) >= 1 for share in shares) else None


def late_with(reading: ModuleReading, bound: float) -> int | None:
    """The most replicas, of fewer than now, with which rows would take longer than the bound.

    Each is taken for an M/D/1 queue with the time of a replica that a row takes now; None where
    that is unknown, or no fewer replicas would be late.

    >>> busy = ModuleReading(arrival_rate=900.0, utilisation=0.6, running=4)
    >>> late_with(busy, bound=1.0), late_with(busy, bound=0.005), late_with(busy, bound=0.001)
    (2, 3, 3)
    """
    rate, running = reading.arrival_rate or 0.0, reading.running or 0
    share = _measured(reading.utilisation if reading.load is None else reading.load)
    if not rate or share is None:
        return None
    service = share * running / rate
    fewer = range(running - 1, 0, -1)
    return next((n for n in fewer if _late(queueing.response(rate / n, service), bound)), None)


def _late(response: float, bound: float) -> bool:
    return response > bound or response == inf


_measured = partial(known, infinite=True)
"""A reading, which may be infinite: then rows are late."""


@dataclass
class Manager:
    """What the manager of one module or region remembers."""

    agent: Agent
    last: State | None = None
    """Where it was a step ago; None after a gap."""
    level_at_request: int | None = None
    """The level at which executors were asked for that are still to come."""

    def step(self, now: State, penalty: float) -> Choice:
        """Learn from a step, and choose."""
        self.agent.learn(self.last, now, penalty)
        self.last = now
        return self.agent.choose(now)

    def may_cancel(self, level: int, coming: int) -> bool:
        """Whether it may do without what is still to come: only once there is less to do."""
        if coming <= 0:
            self.level_at_request = None
        elif self.level_at_request is None:
            self.level_at_request = level
        return self.level_at_request is None or level < self.level_at_request


@dataclass
class Learner(ABC):
    """A manager for each module or region, made when it is first asked for."""

    level: ClassVar[str]
    """Of its tables: `application` or `infrastructure`."""
    managed: ClassVar[str]
    """As messages call what it manages: modules or regions."""

    _managers: dict[str, Manager] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @abstractmethod
    def new_agent(self, name: str) -> Agent:
        """One that knows nothing of a module or region yet."""

    @abstractmethod
    def meaning(self, name: str) -> dict[str, Any]:
        """What a table can only be read with, as plain values."""

    def manager(self, name: str) -> Manager:
        """The manager of a module or region."""
        if name not in self._managers:
            self._managers[name] = Manager(self.new_agent(name))
        return self._managers[name]

    def agents(self) -> dict[str, Agent]:
        """What each manager has learned."""
        return {name: manager.agent for name, manager in self._managers.items()}

    def tables(self) -> dict[str, dict[str, Any]]:
        """By level and manager, what can be saved."""
        entries = {n: as_entry(a, settings=self.meaning(n)) for n, a in self.agents().items()}
        return {self.level: entries}

    def begin_with(self, path: str, names: Sequence[str]) -> None:
        """Take over what a file has of those that are managed."""
        tables = of_level(path, self.level)
        ours = [name for name in tables if name in names]
        if not ours:
            raise SettingError(
                f"{path} holds tables of {', '.join(tables)}, and the {self.managed} are "
                f"{', '.join(names)}; load another or leave load out"
            )
        for name in ours:
            what = f"the table of {name} in {path}"
            restore(self.manager(name).agent, tables[name], settings=self.meaning(name), what=what)


@dataclass
class OperatorLearning(OperatorSettings, Learner):
    """Learns from every step, whatever acted in it, and proposes for each module."""

    level: ClassVar[str] = "application"
    managed: ClassVar[str] = "modules"
    agent_kind: ClassVar[type[Agent]]
    agent_settings: ClassVar[tuple[str, ...]]
    """Settings that its agents take beside those of all learners."""

    _rebalancers: dict[str, Rebalancer] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.load is not None:
            self.begin_with(self.load, self.graph.names())

    def __call__(self, seen: Observation, /) -> Decision:
        """Learn, value every state again, and choose for each module."""
        return conclude(seen, self.verdicts(seen), self._rebalancers)

    def verdicts(self, seen: Observation) -> list[Verdict]:
        """Learn from a step, and say what each module's manager would do."""
        for name in self._managers.keys() - in_force(seen).keys():
            self._managers[name].last = None
        return judged(seen, self._judge)

    def new_agent(self, name: str) -> Agent:
        """One that knows nothing of a module yet."""
        module = self.graph[name]
        costs = known_costs(
            module.min_replicas,
            module.max_replicas,
            each=self.resource_weight,
            change=self.reconfiguration_weight,
        )
        shared = ("levels", "discount", "learning_rate", *self.agent_settings)
        return self.agent_kind(costs, name=name, **{key: getattr(self, key) for key in shared})

    def _judge(self, module: ModuleState) -> Verdict:
        if not self.knows(module.name):
            return module.hold("it is not in the graph")
        manager = self.manager(module.name)
        state, response = self.state(module), response_time(module.reading)
        if isinstance(state, str) or response is None:
            manager.last = None
            return module.hold(state if isinstance(state, str) else "response time unknown")
        choice = manager.step(state, self.penalty(module.name, response))
        may_cancel = manager.may_cancel(state.level, module.coming)
        if module.coming > 0 and not (may_cancel and choice.action < 0):
            return module.wait()
        return _verdict(module, state.level, choice)


def _verdict(module: ModuleState, level: int, choice: Choice) -> Verdict:
    reading, degree, after = module.reading, module.degree, module.degree + choice.action
    # a rate without separators, as runs on record have it
    rate = rows(reading.arrival_rate or 0.0, whole_from=1000.0, separator="")
    backlog, busy = reading.backlog or 0.0, reading.utilisation
    waiting = f" and {backlog:,.0f} waiting" if backlog >= 1 else ""
    why = f"{rate} rows/s{waiting} at level {level}, {choice.why}"
    if after == degree or after < 1:
        return module.hold(why)
    return Verdict(
        name=module.name,
        before=degree,
        after=after,
        why=f"{module.name} {change(degree, after)}: {why}",
        expects={} if busy is None else {"utilisation": min(busy * degree / after, 1.0)},
    )
