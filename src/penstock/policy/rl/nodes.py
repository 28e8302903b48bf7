"""Learn how many nodes each region needs: e2df, Section 6.2."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from penstock.core.regions import Infrastructure
from penstock.core.schema import BelowOne, Count, NotNegative, Share, checked
from penstock.core.signals import Decision, Observation
from penstock.core.words import count_of, percent
from penstock.policy.common.estimates import known
from penstock.policy.common.nodes import RegionState, decide, unavailable
from penstock.policy.common.verdict import Verdict
from penstock.policy.rl.agent import (
    SWEEPS,
    Agent,
    Choice,
    ModelBased,
    State,
    check_quantum,
    check_size,
    check_weights,
    known_costs,
    utilisation_level,
    utilisation_levels,
)
from penstock.policy.rl.operators import Learner


@dataclass
@checked("{self.label}")
class LearnedNodes(Learner):
    """Model-based reinforcement learning for each region.

    A region's state is how many nodes it has, how busy its replicas are and whether a node is idle.
    Nodes cost something, and so does a replica that finds no room. Only an idle node is given up.

    >>> from penstock.core.regions import Region
    >>> from penstock.core.signals import RegionReading
    >>> policy = LearnedNodes(Infrastructure(regions=(Region(name="dc1", max_nodes=8),)))
    >>> full = RegionReading(nodes=1, idle=0, free=0, replicas=2, utilisation=0.8, unmet=1)
    >>> for at in range(4):
    ...     decided = policy(Observation(at=at, step=1, modules={}, regions={"dc1": full}))
    >>> decided.why
    'dc1 1 -> 2 nodes: 80 % busy, none idle, 1 replica found no room, \
expected cost 0.049 instead of 0.05'
    """

    label: ClassVar[str] = "policy rl of infrastructure"
    level: ClassVar[str] = "infrastructure"
    managed: ClassVar[str] = "regions"

    infrastructure: Infrastructure
    demand_weight: NotNegative = 0.7
    """Of a step in which a replica found no room (e2df, Expr. 1)."""
    resource_weight: NotNegative | None = None
    """Of having as many nodes as there may be; the rest to one unless given."""
    discount: BelowOne = 0.99
    """What a cost counts one step later."""
    learning_rate: Share = 0.1
    """Weight of the newest penalty beside those before."""
    quantum: Share = 0.1
    """Width of one level of utilisation."""
    sweeps: Count = SWEEPS
    """How often every state is valued again at each step; once in the paper."""
    assume_idle: bool = True
    """Whether a new node is taken for idle until one was seen, so that it seems worth a try; the
    paper assumes nothing."""
    load: str | None = None
    """File with what was learned before."""
    _remembered: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        weights = {"demand_weight": self.demand_weight, "resource_weight": self._resource()}
        check_weights(weights, of=self.label)
        check_quantum(self.quantum, of=self.label)
        for region in self.infrastructure.regions:
            states = 2 * utilisation_levels(self.quantum) * (region.max_nodes + 1)
            check_size(states, table=region.name, remedy="raise quantum or lower max_nodes")
        if self.load is not None:
            self.begin_with(self.load, self.infrastructure.names())

    def __call__(self, seen: Observation, /) -> Decision:
        """Learn, value every state again, and choose for each region."""
        for name, manager in self._managers.items():
            if unavailable(name, seen.regions.get(name), None):
                manager.last = None  # what happens meanwhile is not the last action's doing
        return decide(self.infrastructure, seen, self._remembered, self._judge)

    def _judge(self, region: RegionState) -> Verdict:
        manager = self.manager(region.region.name)
        state = self._state(region)
        if isinstance(state, str):
            manager.last = None
            return region.hold(state)
        penalty = self.demand_weight * ((region.reading.unmet or 0) > 0)
        return _verdict(region, manager.step(state, penalty))

    def _state(self, region: RegionState) -> State | str:
        """Where a region is, or what is not known of it."""
        reading, busy = region.reading, known(region.reading.utilisation, infinite=True)
        if reading.idle is None:
            return "idle nodes unknown"
        if reading.unmet is None:
            return "unmet requests unknown"
        if busy is None and reading.replicas != 0:
            return "utilisation unknown"
        here = min(region.nodes, region.nodes - region.coming, region.region.max_nodes)
        level = utilisation_level(busy or 0.0, self.quantum)
        return State(number=here, level=level, flag=int(reading.idle > 0))

    def new_agent(self, name: str) -> Agent:
        """One that knows nothing of a region yet."""
        region = self.infrastructure[name]
        return ModelBased(
            known_costs(region.min_nodes, region.max_nodes, each=self._resource(), change=0.0),
            levels=utilisation_levels(self.quantum),
            flags=2,
            discount=self.discount,
            learning_rate=self.learning_rate,
            sweeps=self.sweeps,
            assume_idle=self.assume_idle,
        )

    def _resource(self) -> float:
        return 1 - self.demand_weight if self.resource_weight is None else self.resource_weight

    def meaning(self, name: str) -> dict[str, Any]:
        """What a table can only be read with."""
        return {
            "demand_weight": self.demand_weight,
            "resource_weight": self._resource(),
            "quantum": self.quantum,
            "min_nodes": self.infrastructure[name].min_nodes,
        }


def _verdict(region: RegionState, choice: Choice) -> Verdict:
    reading, after = region.reading, region.nodes + choice.action
    if region.coming > 0 and choice.action >= 0:
        return region.hold(f"{region.coming} of them still to come")
    idle, missed = reading.idle or "none", reading.unmet or 0
    unmet = f", {count_of(missed, 'replica')} found no room" if missed else ""
    why = f"{percent(reading.utilisation or 0.0)} busy, {idle} idle{unmet}, {choice.why}"
    if choice.action == 0 or not region.region.min_nodes <= after <= region.region.max_nodes:
        return region.hold(why)
    return region.move(after, why)
