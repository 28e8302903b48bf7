"""The games as policies of a running pipeline.

At every step the model is brought up to date with what was measured, the game is played again, and
the degrees that the agents agree on are asked for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import signature
from typing import Annotated, ClassVar, Final

from penstock.core.graph import FlowGraph
from penstock.core.schema import Count, Natural, OneOf, PositiveSeconds, Share, checked
from penstock.core.signals import Configuration, Decision, ModuleReading, Observation
from penstock.core.units import format_duration
from penstock.core.words import listed
from penstock.model import FlowModel
from penstock.model.flow_graph import check_priced
from penstock.policy.common.degrees import in_force
from penstock.policy.common.estimates import Averages, known, service_time
from penstock.policy.common.sentences import change
from penstock.policy.game.aggregate import AGGREGATIONS
from penstock.policy.game.equilibrium import INCREMENT, MAX_ROUNDS, incentive, nash
from penstock.policy.game.plan import AGENTS_UP_TO, ROUNDINGS, Plan
from penstock.policy.game.social import social
from penstock.policy.game.topology import Topology

ROUTINGS: Final = ("declared", "measured")

_FEWEST: Final = 1e-9
"""Rows a second under which arrivals are as good as none."""


@dataclass
class Estimates:
    """Moving averages of arrivals, running times and routing (game, Section 6.2); as declared
    until they are measured.

    >>> from penstock.testing import chain, seen
    >>> known = Estimates(chain(scan={}))
    >>> known.observe(seen(scan={"arrival_rate": 4.0, "service_time": 0.02}))
    >>> scan = known.model().modules["scan"]
    >>> scan.inter_arrival, scan.running_time
    (0.25, 0.02)
    """

    graph: FlowGraph
    smoothing: float = 0.5
    """Weight of the newest reading."""
    routing: str = "declared"
    """Whether rows are taken to go as the graph declares, or as they were measured to."""
    catch_up: float | None = None
    """Seconds in which the backlog is to be processed: its rows count as arrivals of that time."""
    _waiting: float = field(default=0.0, init=False, repr=False)
    """Rows of the source that the fullest module has before it."""
    _arrivals: Averages = field(init=False, repr=False)
    """Rows a second at the source."""
    _times: Averages = field(init=False, repr=False)
    """Seconds that one replica takes for a row."""
    _reach: Averages = field(init=False, repr=False)
    """Rows that a module sees for each one that the source finished: the mean of the ratios of each
    step, as in the paper, and not the ratio of sums of `VisitRatios`."""

    def __post_init__(self) -> None:
        self._arrivals = Averages(self.smoothing)
        self._times, self._reach = Averages(self.smoothing), Averages(self.smoothing)

    def observe(self, seen: Observation) -> None:
        """Learn from a reading; unknown values are ignored."""
        ours = self._declared.modules
        modules = {name: module for name, module in seen.modules.items() if name in ours}
        source = modules.get(self.graph.source, ModuleReading())
        self._arrivals.update(self.graph.source, source.arrival_rate)
        for name, module in modules.items():
            self._times.update(name, service_time(module, ours[name].scalability))
        waiting = ((known(m.backlog) or 0.0) / ours[n].reach for n, m in modules.items())
        self._waiting = max(waiting, default=0.0)
        if self.routing == "measured":
            self._learn_routing(modules, source.processed_rate)

    @property
    def inter_arrival(self) -> float:
        """Seconds between two rows to be taken in; 0 before any was measured."""
        rate = self._arrivals.of(self.graph.source)
        if rate is None:
            return 0.0
        behind = self._waiting / self.catch_up if self.catch_up else 0.0
        return 1.0 / max(rate + behind, _FEWEST)

    @cached_property
    def topology(self) -> Topology:
        """Of the graph."""
        return Topology.of(self._declared.neighbours)

    def model(self) -> FlowModel:
        """The graph as it is now."""
        modules = dict(self._declared.modules)
        for name, time in self._times.all().items():
            modules[name] = replace(modules[name], running_time=time)
        for name, reach in self._reach.all().items():
            modules[name] = replace(modules[name], reach=reach)
        return replace(self._declared, modules=modules).arriving_every(self.inter_arrival)

    @cached_property
    def _declared(self) -> FlowModel:
        return FlowModel.of(self.graph)

    def _learn_routing(self, modules: Mapping[str, ModuleReading], finished: float | None) -> None:
        if not (rate := known(finished)):
            return
        for name, module in modules.items():
            came = known(module.arrival_rate)
            if name != self.graph.source and came:
                self._reach.update(name, came / rate)


def why(plan: Plan, inter_arrival: float, source: str, changes: Sequence[str]) -> str:
    """Why these degrees, and what changes."""
    rows = f"rows every {format_duration(inter_arrival)}"
    pace = plan.inter_departure[source]
    if inter_arrival >= pace * (1.0 - 1e-9):
        cause = f"{rows} set the pace"
    elif len(plan.bottleneck) == len(plan.replicas) > 1:
        cause = f"{rows}; all modules take a row every {format_duration(pace)}"
    else:
        verb = "is" if len(plan.bottleneck) == 1 else "are"
        taking = format_duration(plan.inter_departure[plan.bottleneck[0]])
        cause = f"{rows}; {listed(plan.bottleneck)} {verb} the bottleneck at {taking}"
    return f"{cause}: {listed(changes) or 'nothing changes'}"


@dataclass
@checked("policy {self.name}")
class Game:
    """What all games have in common: the graph, and how it is kept up to date."""

    name: ClassVar[str] = "game"
    planner: ClassVar[Callable[..., Plan]]

    needs_prices: ClassVar[bool] = True
    """Modules without a price and a cost of delay have nothing to weigh."""
    graph: FlowGraph
    smoothing: Share = 0.5
    """Weight of the newest reading in the averages of arrivals and running times."""
    routing: Annotated[str, OneOf(ROUTINGS)] = "declared"
    """Whether rows are taken to go as the graph declares, or as they were measured to."""
    catch_up: PositiveSeconds | None = None
    """Seconds in which the backlog is to be processed; None plans for arrivals only."""
    rounding: Annotated[str, OneOf(ROUNDINGS)] = "nearest"
    """Of real-valued degrees: to the nearest whole number, or up."""
    agents_up_to: Natural = AGENTS_UP_TO
    """Modules up to which agents exchange real messages."""
    _estimates: Estimates = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_priced(self.graph, self.name)
        self._estimates = Estimates(self.graph, self.smoothing, self.routing, self.catch_up)

    def __call__(self, seen: Observation, /) -> Decision:
        """Play the game of this step, and report what changes; hold while arrivals are unknown."""
        self._estimates.observe(seen)
        graph, kept = self.graph, in_force(seen)
        if known(seen.modules.get(graph.source, ModuleReading()).arrival_rate) is None:
            held = f"all held, the arrival rate of {graph.source} is unknown"
            return Decision(configuration=Configuration(degrees=kept), why=held)
        model = self._estimates.model()
        plan = self.plan(model)
        chosen = {name: plan.rounded[name] for name in graph.names() if name in seen.modules}
        changes = [
            f"{name} {change(kept[name], degree)}" if name in kept else f"{name} -> {degree}"
            for name, degree in chosen.items()
            if kept.get(name) != degree
        ]
        expected = model.pace({**plan.rounded, **chosen}).inter_departure
        return Decision(
            configuration=Configuration(degrees={**kept, **chosen}),
            why=why(plan, self._estimates.inter_arrival, graph.source, changes),
            expects={f"inter_departure:{n}": expected[n] for n in graph.sinks() if n in chosen},
        )

    def plan(self, model: FlowModel) -> Plan:
        """What the agents agree on, with those settings that a single plan has a use for."""
        keys = [key for key in signature(self.planner).parameters if hasattr(self, key)]
        settings = {key: getattr(self, key) for key in keys}
        return self.planner(model, topology=self._estimates.topology, **settings)


@dataclass
class Nash(Game):
    """Each module takes what is best for itself: the Pareto-optimal Nash equilibrium.

    >>> from penstock.testing import chain, seen
    >>> costs = {"price": 0.01, "delay_cost": 0.5}
    >>> graph = chain(scan={"service_time": 0.1, **costs}, match={"service_time": 2.0, **costs})
    >>> policy = Nash(graph)
    >>> policy(seen(scan={"arrival_rate": 10.0, "running": 1}, match={"running": 8})).why
    'rows every 100 ms; match is the bottleneck at 200 ms: match 8 -> 10'
    """

    name: ClassVar[str] = "nash"
    planner = staticmethod(nash)


@dataclass
class Incentive(Game):
    """Each module for itself, with incentives for the bottleneck while that lowers the sum.

    >>> from penstock.testing.policies import EXAMPLE_GRAPH
    >>> Incentive(EXAMPLE_GRAPH, increment=0.0)
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: increment of policy incentive must be in (0, 1], got 0
    """

    name: ClassVar[str] = "incentive"
    planner = staticmethod(incentive)

    increment: Share = INCREMENT
    """Share of its price by which the bottleneck's incentive grows in a round."""
    max_rounds: Count = MAX_ROUNDS
    """Rounds of incentives at the most."""
    aggregation: Annotated[str, OneOf(AGGREGATIONS)] = "tree"
    """How agents add up their costs: by tree or by gossip."""
    iterations: Count = 15
    """Of gossip."""


@dataclass
class Social(Game):
    """What costs all modules together the least.

    >>> from penstock.testing.policies import EXAMPLE_GRAPH
    >>> Social(EXAMPLE_GRAPH, aggregation="gossip").iterations
    15
    """

    name: ClassVar[str] = "social"
    planner = staticmethod(social)

    aggregation: Annotated[str, OneOf(AGGREGATIONS)] = "tree"
    """How agents add up what they know: by tree or by gossip."""
    iterations: Count = 15
    """Of gossip."""
