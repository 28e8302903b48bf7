"""The games as policies of a running pipeline.

At every step the model is brought up to date with what was measured, the game is played anew, and
the degrees that the agents agree on are asked for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph
from penstock.core.settings import near, seconds
from penstock.core.signals import Configuration, Decision, ModuleReading, Observation
from penstock.core.units import format_duration
from penstock.model import FlowModel
from penstock.model.flow_graph import check_priced
from penstock.policy.common.degrees import in_force
from penstock.policy.common.estimates import known
from penstock.policy.common.sentences import change, listed
from penstock.policy.game.agents import AGENTS_UP_TO
from penstock.policy.game.estimate import ROUTINGS, Estimates
from penstock.policy.game.exchange import Aggregation
from penstock.policy.game.incentive import INCREMENT, MAX_ROUNDS, check_rounds, incentive
from penstock.policy.game.nash import nash
from penstock.policy.game.plan import Plan, check_rounding
from penstock.policy.game.social import social

# A plan in one sentence that a tired operator can read.


def why(plan: Plan, inter_arrival: float, source: str, changes: Sequence[str]) -> str:
    """Why these degrees, and what changes.

    >>> plan = Plan(
    ...     policy="nash", replicas={"scan": 0.5, "match": 10.0}, rounded={"scan": 1, "match": 10},
    ...     inter_departure={"scan": 0.2, "match": 0.2}, bottleneck=("match",),
    ...     costs={"scan": 0.1, "match": 0.2}, messages=2, rounds=1, iterations=1,
    ... )
    >>> why(plan, 0.1, "scan", ["match 8 -> 10"])
    'rows every 100 ms; match is the bottleneck at 200 ms: match 8 -> 10'
    """
    return f"{_cause(plan, inter_arrival, source)}: {listed(changes) or 'nothing changes'}"


def _step(name: str, before: int | None, after: int) -> str:
    return f"{name} -> {after}" if before is None else f"{name} {change(before, after)}"


def _cause(plan: Plan, inter_arrival: float, source: str) -> str:
    rows = f"rows every {format_duration(inter_arrival)}"
    pace = plan.inter_departure[source]
    if inter_arrival >= pace * (1.0 - 1e-9):
        return f"{rows} set the pace"
    if len(plan.bottleneck) == len(plan.replicas) > 1:
        return f"{rows}; all modules are set to take one every {format_duration(pace)}"
    slowest = plan.bottleneck[0]
    verb = "is" if len(plan.bottleneck) == 1 else "are"
    taking = format_duration(plan.inter_departure[slowest])
    return f"{rows}; {listed(plan.bottleneck)} {verb} the bottleneck at {taking}"


Planner = Callable[[FlowModel], Plan]


@dataclass
class Game:
    """What all games have in common: the graph, and how it is kept up to date."""

    name: ClassVar[str] = "game"

    needs_prices: ClassVar[bool] = True
    """Modules without a price and a cost of delay have nothing to weigh."""
    graph: FlowGraph
    smoothing: float = 0.5
    """Weight of the newest reading in the averages of arrivals and running times."""
    routing: str = "declared"
    """Whether rows are taken to go as the graph declares, or as they were measured to."""
    catch_up: float | None = seconds(None)
    """Seconds in which rows that wait are to be worked off; None leaves them to themselves."""
    rounding: str = "nearest"
    """Of real-valued degrees: to the nearest whole number, or up."""
    agents_up_to: int = AGENTS_UP_TO
    """Modules up to which agents exchange real messages."""
    _estimates: Estimates = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse what no game can be played with."""
        check_priced(self.graph, self.name)
        check_rounding(self.rounding)
        if self.routing not in ROUTINGS:
            raise SettingError(
                f"there is no routing {self.routing!r}{near(self.routing, ROUTINGS)}"
            )
        if not 0 < self.smoothing <= 1:
            raise SettingError(
                f"smoothing of policy {self.name} must be in (0, 1], got {self.smoothing:g}"
            )
        if self.agents_up_to < 0:
            raise SettingError(
                f"agents_up_to of policy {self.name} must be 0 or more, got {self.agents_up_to}"
            )
        if self.catch_up is not None and not self.catch_up > 0:
            raise SettingError(
                f"catch_up of policy {self.name} must be above 0s, got {self.catch_up:g}s"
            )
        self._estimates = Estimates(self.graph, self.smoothing, self.routing, self.catch_up)

    def __call__(self, seen: Observation, /) -> Decision:
        """Play the game of this step."""
        return decide(self._estimates, seen, self.plan)

    def plan(self, model: FlowModel) -> Plan:
        """What the agents agree on."""
        raise NotImplementedError

    def _common(self) -> dict[str, Any]:
        return {
            "topology": self._estimates.topology,
            "rounding": self.rounding,
            "agents_up_to": self.agents_up_to,
        }


@dataclass
class Nash(Game):
    """Each module takes what is best for itself: the Pareto-optimal Nash equilibrium.

    >>> from penstock.core.graph import Module, Stream
    >>> from penstock.testing import seen
    >>> graph = FlowGraph(
    ...     source="scan",
    ...     modules=(
    ...         Module(name="scan", service_time=0.1, price=0.01, delay_cost=0.5),
    ...         Module(name="match", service_time=2.0, price=0.01, delay_cost=0.5),
    ...     ),
    ...     streams=(Stream(origin="scan", target="match"),),
    ... )
    >>> policy = Nash(graph)
    >>> policy(seen(scan={"arrival_rate": 10.0, "running": 1}, match={"running": 8})).why
    'rows every 100 ms; match is the bottleneck at 200 ms: match 8 -> 10'
    """

    name: ClassVar[str] = "nash"

    def plan(self, model: FlowModel) -> Plan:
        """Play once."""
        return nash(model, **self._common())


@dataclass
class Incentive(Game):
    """Each module for itself, with incentives for the bottleneck while that lowers the sum.

    >>> from penstock.core.graph import Module
    >>> only = Module(name="scan", service_time=0.1, price=0.01, delay_cost=0.5)
    >>> Incentive(FlowGraph(source="scan", modules=(only,)), increment=0.0)
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: increment of policy incentive must be in (0, 1], got 0
    """

    name: ClassVar[str] = "incentive"

    increment: float = INCREMENT
    """Share of its price by which the bottleneck's incentive grows in a round."""
    max_rounds: int = MAX_ROUNDS
    aggregation: str = "tree"
    """How agents add up their costs: by tree or by gossip."""
    iterations: int = 15
    """Of gossip."""

    def __post_init__(self) -> None:
        """Refuse what no game can be played with."""
        super().__post_init__()
        Aggregation(self.aggregation, self.iterations)
        check_rounds(self.increment, self.max_rounds)

    def plan(self, model: FlowModel) -> Plan:
        """Play until incentives bring no more."""
        return incentive(
            model,
            increment=self.increment,
            max_rounds=self.max_rounds,
            aggregation=self.aggregation,
            iterations=self.iterations,
            **self._common(),
        )


@dataclass
class Social(Game):
    """What costs all modules together the least.

    >>> from penstock.core.graph import Module
    >>> only = Module(name="scan", service_time=0.1, price=0.01, delay_cost=0.5)
    >>> Social(FlowGraph(source="scan", modules=(only,)), aggregation="gossip").iterations
    15
    """

    name: ClassVar[str] = "social"

    aggregation: str = "tree"
    """How agents add up what they know: by tree or by gossip."""
    iterations: int = 15
    """Of gossip."""

    def __post_init__(self) -> None:
        """Refuse what cannot be added up."""
        super().__post_init__()
        Aggregation(self.aggregation, self.iterations)

    def plan(self, model: FlowModel) -> Plan:
        """Ask all, and tell all."""
        return social(
            model, aggregation=self.aggregation, iterations=self.iterations, **self._common()
        )


def decide(estimates: Estimates, seen: Observation, plan: Planner) -> Decision:
    """Learn, play, and tell what changes; without arrivals to go by, hold."""
    estimates.take_in(seen)
    graph, kept = estimates.graph, in_force(seen)
    if known(seen.modules.get(graph.source, ModuleReading()).arrival_rate) is None:
        held = f"all held, the arrival rate of {graph.source} is unknown"
        return Decision(configuration=Configuration(degrees=kept), why=held)
    model = estimates.model()
    made = plan(model)
    chosen = {name: made.rounded[name] for name in graph.names() if name in seen.modules}
    moved = {name: degree for name, degree in chosen.items() if kept.get(name) != degree}
    expected = model.pace({**made.rounded, **chosen}).inter_departure
    return Decision(
        configuration=Configuration(degrees={**kept, **chosen}),
        why=why(
            made,
            estimates.inter_arrival,
            graph.source,
            [_step(name, kept.get(name), degree) for name, degree in moved.items()],
        ),
        expects={f"inter_departure:{n}": expected[n] for n in graph.sinks() if n in chosen},
    )
