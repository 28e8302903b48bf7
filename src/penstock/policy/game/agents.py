"""The agent of one module: it knows its own module and the messages of its neighbours.

An agent never sees the graph. It could live in another process: all that goes in and out are
messages of a few numbers.

>>> from penstock.model import Ideal
>>> from penstock.model.flow_graph import ModuleModel
>>> agent = Agent(
...     model=ModuleModel(
...         name="edges", reach=1.0, running_time=8.0, price=0.02, delay_cost=0.5,
...         max_replicas=32.0, scalability=Ideal(),
...     ),
...     ratios={"recognizer": 1.0},
... )
>>> agent.start()
>>> round(agent.replicas, 2), agent.is_bottleneck
(14.14, True)
>>> agent.mailbox.post(Message(sender="recognizer", receiver="edges", content=(0.8,)))
>>> agent.respond()
>>> round(agent.replicas, 2), agent.is_bottleneck
(10.0, False)

Agents find the Pareto-optimal Nash equilibrium by messages to neighbours (game, Function 1). Each
agent begins with the degree that it would choose alone. In every iteration it learns how fast its
neighbours go and gives up what it cannot use beside the slowest. After as many iterations as the
graph's diameter, the slowest module of all has been heard of everywhere.

Each agent is an object with a mailbox, and messages go between neighbours only.

>>> from penstock.core.graph import FlowGraph, Module, Stream
>>> from penstock.model import FlowModel
>>> graph = FlowGraph(
...     source="scan",
...     modules=(
...         Module(name="scan", service_time=0.1, price=0.01, delay_cost=0.5),
...         Module(name="match", service_time=2.0, price=0.01, delay_cost=0.5),
...     ),
...     streams=(Stream(origin="scan", target="match"),),
... )
>>> exchange = MessageExchange(FlowModel.of(graph))
>>> exchange.find_pne()
>>> exchange.replicas(), exchange.bottleneck(), exchange.messages
({'scan': 0.5, 'match': 10.0}, ('match',), 2)
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Final

import numpy as np

from penstock.core.errors import SettingError
from penstock.model import FlowModel
from penstock.model.flow_graph import ModuleModel
from penstock.policy.game.aggregate import (
    Branch,
    Gossiper,
    Mailbox,
    Message,
    Network,
    Numbers,
    Tally,
    broadcast,
    gather,
    gossip,
)
from penstock.policy.game.bulk import BulkExchange
from penstock.policy.game.costs import (
    SAME_PACE,
    CostTerms,
    fit,
    is_nonlinear,
    most,
    preferred_replicas,
    shortest_interval,
)
from penstock.policy.game.exchange import Aggregation, Exchange, Floats, Votes
from penstock.policy.game.topology import Topology


@dataclass(slots=True, kw_only=True)
class Agent:
    """Chooses the degree of one module."""

    model: ModuleModel
    ratios: Mapping[str, float]
    """Rows that each neighbour sees for each one of its own: P(j) / P(i) of game, Expr. 3."""
    mailbox: Mailbox = field(default_factory=Mailbox)
    incentive: float = 0.0
    """What is paid to it for each replica: gamma of game, Expr. 18."""
    preferred: float = 0.0
    """The degree that it would choose alone: game, Def. 4.5."""
    own_interval: float = 0.0
    """Seconds between its results with that degree."""
    pace: float = 0.0
    """Seconds between its results, as far as it has heard: T_D of game, Section 4.3."""
    before: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """The last three as the game before left them."""

    @property
    def replicas(self) -> float:
        """Its best response: the degree it wishes for, or what fits the slowest; game, Expr. 14."""
        return min(self.preferred, fit(self.model, self.pace))

    @property
    def is_bottleneck(self) -> bool:
        """Whether it knows of no slower module."""
        return self.own_interval >= self.pace * (1.0 - SAME_PACE)

    @property
    def cost(self) -> float:
        """What it pays for a step; the reward of its incentive does not count."""
        return self.model.cost(self.replicas, self.pace)

    def start(self) -> None:
        """Begin a game with the degree that it wishes for: Function 1, rows 1 and 2."""
        self.before = (self.preferred, self.own_interval, self.pace)
        self.preferred = preferred_replicas(self.model, self.incentive)
        self.own_interval = self.pace = self.model.service_time(self.preferred)

    def undo(self) -> None:
        """Return to what the game before led to."""
        self.preferred, self.own_interval, self.pace = self.before

    def follow(self, source_pace: float) -> None:
        """Take the given pace, in seconds per row of the source, or the fastest that it can."""
        self.preferred = most(self.model)
        self.own_interval = shortest_interval(self.model)
        self.pace = max(source_pace / self.model.reach, self.own_interval)

    def advertise(self) -> tuple[Message, ...]:
        """Send its pace to every neighbour: row 4."""
        answer = (self.pace,)
        return tuple(
            Message(sender=self.model.name, receiver=name, content=answer) for name in self.ratios
        )

    def respond(self) -> None:
        """Read the messages of the neighbours, and adapt to the slowest: rows 5 to 7."""
        for message in self.mailbox.take():
            self.pace = max(self.pace, message.content[0] * self.ratios[message.sender])

    def raise_incentive(self, increment: float) -> None:
        """Take an incentive for more replicas if it is the bottleneck: Alg. 2, rows 8 and 9."""
        if self.is_bottleneck:
            self.incentive += increment * self.model.price


def find_pne(agents: Sequence[Agent], network: Network, iterations: int) -> None:
    """Play one game; afterwards every agent's `replicas` is its part of the equilibrium."""
    for agent in agents:
        agent.start()
    adapt(agents, network, iterations)


def adapt(agents: Sequence[Agent], network: Network, iterations: int) -> None:
    """Let every agent adapt to the slowest within so many hops."""
    for _ in range(iterations):
        network.deliver(message for agent in agents for message in agent.advertise())
        for agent in agents:
            agent.respond()


Role = Callable[[ModuleModel], bool]
"""Which modules receive a message down the tree, or send a report up the tree."""


class MessageExchange:
    """An exchange between real agents."""

    def __init__(
        self,
        model: FlowModel,
        topology: Topology | None = None,
        aggregation: Aggregation | None = None,
    ) -> None:
        self.topology = topology or Topology.of(model.neighbours)
        self.aggregation = aggregation or Aggregation()
        self.agents = agents_of(model)
        self.network = Network({agent.model.name: agent.mailbox for agent in self.agents})
        self._named = {agent.model.name: agent for agent in self.agents}
        self._trees: dict[Role, list[Branch]] = {}

    @property
    def messages(self) -> int:
        """Sent."""
        return self.network.messages

    @property
    def iterations(self) -> int:
        """Passed."""
        return self.network.iterations

    def find_pne(self) -> None:
        """As many iterations as the diameter."""
        find_pne(self.agents, self.network, self.topology.diameter)

    def raise_incentive(self, increment: float) -> None:
        """Each agent finds out for itself whether it is meant."""
        for agent in self.agents:
            agent.raise_incentive(increment)

    def undo(self) -> None:
        """All do, as all know that there is nothing to win."""
        for agent in self.agents:
            agent.undo()

    def total_cost(self) -> Floats:
        """Up the tree and down again, or by gossip."""
        views = self._total(lambda agent: Tally((agent.cost,)))
        if not self.aggregation.by_gossip:
            broadcast(self.tree(_anyone), views[0].sums, self.network)
        return np.array([view.sums[0] for view in views])

    def any_objection(self, votes: Votes) -> bool:
        """One bit that floods the graph, where agents may disagree."""
        if not self.aggregation.by_gossip:
            return bool(votes[0])
        objections = {
            agent.model.name: Tally((), (float(vote),))
            for agent, vote in zip(self.agents, votes, strict=True)
        }
        heard = gossip(self.gossipers(), objections, self.network, self.topology.diameter)
        return any(view.maxima[0] > 0.0 for view in heard)

    def cost_terms(self) -> tuple[CostTerms, ...]:
        """Seven numbers of each agent."""
        views = self._total(lambda agent: Tally(*CostTerms.of(agent.model).numbers()))
        return tuple(CostTerms.from_numbers(view.sums, view.maxima) for view in views)

    def prices_at(self, paces: Floats) -> Floats:
        """Only those are asked whose answer is not known from the survey."""
        offered = tuple(paces.tolist())
        if self.aggregation.by_gossip:
            views = self._total(lambda agent: Tally(_prices(agent, offered)))
            return np.array([view.sums for view in views])
        answer = broadcast(self.tree(is_nonlinear), offered, self.network)
        own = {name: Tally(_prices(self._named[name], paces)) for name, paces in answer.items()}
        return np.array([gather(self.tree(is_nonlinear), own, self.network).sums])

    def settle(self, paces: Floats) -> None:
        """Down the tree to those who can choose; after gossip, the slowest opinion floods."""
        if self.aggregation.by_gossip:
            for agent, pace in zip(self.agents, paces.tolist(), strict=True):
                agent.follow(pace)
            adapt(self.agents, self.network, self.topology.diameter)
            return
        answer = broadcast(self.tree(_has_a_choice), (float(paces[0]),), self.network)
        for agent in self.agents:
            agent.follow(*answer.get(agent.model.name, (0.0,)))

    def replicas(self) -> dict[str, float]:
        """What each agent has chosen."""
        return {agent.model.name: agent.replicas for agent in self.agents}

    def bottleneck(self) -> tuple[str, ...]:
        """As seen from outside: an agent that was not sent the pace does not know it."""
        slowest = max(agent.pace * agent.model.reach for agent in self.agents)
        own = {agent.model.name: agent.own_interval * agent.model.reach for agent in self.agents}
        return tuple(name for name, pace in own.items() if pace >= slowest * (1.0 - SAME_PACE))

    def _total(self, ask: Callable[[Agent], Tally]) -> list[Tally]:
        own = {agent.model.name: ask(agent) for agent in self.agents}
        if not self.aggregation.by_gossip:
            return [gather(self.tree(_anyone), own, self.network)]
        flooded = bool(next(iter(own.values())).maxima)  # a maximum takes as long as the diameter
        least = self.topology.diameter if flooded else 0
        turns = max(self.aggregation.iterations, least)
        return gossip(self.gossipers(), own, self.network, turns)

    def tree(self, role: Role) -> list[Branch]:
        """The part of the tree that leads to the agents of a role."""
        if role not in self._trees:
            self._trees[role] = self.branches({a.model.name for a in self.agents if role(a.model)})
        return self._trees[role]

    def branches(self, members: Collection[str]) -> list[Branch]:
        """The part of the tree that leads to these agents."""
        shape = self.topology
        leading = shape.leading_to(np.array([name in members for name in shape.names]))
        children: dict[int, list[str]] = {i: [] for i in range(shape.size)}
        for i in np.flatnonzero(leading & (shape.parent >= 0)).tolist():
            children[int(shape.parent[i])].append(shape.names[i])
        return [
            Branch(
                name=shape.names[i],
                parent=shape.names[shape.parent[i]] if i != shape.root else None,
                children=tuple(children[i]),
                mailbox=self.network.mailboxes[shape.names[i]],
            )
            for i in np.flatnonzero(leading).tolist()
        ]

    def gossipers(self) -> list[Gossiper]:
        """Every agent's part in the gossip."""
        return [
            Gossiper(name=a.model.name, neighbours=tuple(a.ratios), mailbox=a.mailbox)
            for a in self.agents
        ]


def agents_of(model: FlowModel) -> tuple[Agent, ...]:
    """An agent for each module, who knows its neighbours' share of the rows beside its own."""
    return tuple(
        Agent(
            model=module,
            ratios={n: model.modules[n].reach / module.reach for n in model.neighbours[name]},
        )
        for name, module in model.modules.items()
    )


def _prices(agent: Agent, paces: Numbers) -> Numbers:
    """Cost of its replicas at each pace of the source, where only the agent itself knows it."""
    module = agent.model
    if not is_nonlinear(module):
        return (0.0,) * len(paces)
    return tuple(module.price * fit(module, pace / module.reach) for pace in paces)


def _anyone(_: ModuleModel) -> bool:
    return True


def _has_a_choice(module: ModuleModel) -> bool:
    return not module.fixed


# Which exchange a game is played in.


AGENTS_UP_TO: Final = 32
"""Modules up to which real agents play. In larger graphs a game takes so many messages that their
sum is computed instead; the result is the same."""


def exchange_for(
    model: FlowModel,
    topology: Topology | None = None,
    aggregation: Aggregation | None = None,
    *,
    agents_up_to: int = AGENTS_UP_TO,
) -> Exchange:
    """Agents for small graphs, and arithmetic in their place for large ones."""
    for module in model.modules.values():
        check_costs(module)
    kind = MessageExchange if len(model.modules) <= agents_up_to else BulkExchange
    return kind(model, topology, aggregation)


def check_costs(module: ModuleModel) -> None:
    """Reject a module without a time or a price: a game needs something to win."""
    stakes = {
        "running time": module.running_time,
        "price": module.price,
        "delay_cost": module.delay_cost,
    }
    for what, value in stakes.items():
        if not 0.0 < value < inf:
            raise SettingError(
                f"{what} of module {module.name} must be above 0 and finite, got {value:g}"
            )
