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
>>> agent.mailbox.append(Message(sender="recognizer", receiver="edges", content=(0.8,)))
>>> agent.respond()
>>> round(agent.replicas, 2), agent.is_bottleneck
(10.0, False)

Agents find the Pareto-optimal Nash equilibrium by messages to neighbours (game, Function 1). Each
agent begins with the degree that it would choose alone. In every iteration it learns how fast its
neighbours go and gives up what it cannot use beside the slowest. After as many iterations as the
graph's diameter, every agent knows the pace of the slowest module.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from penstock.model import FlowModel
from penstock.model.flow_graph import SAME_PACE, ModuleModel
from penstock.policy.game.aggregate import (
    Aggregation,
    Branch,
    Floats,
    Mailbox,
    Message,
    Network,
    Numbers,
    Tally,
    Votes,
    broadcast,
    gather,
    gossip,
)
from penstock.policy.game.costs import (
    CostTerms,
    fit,
    is_nonlinear,
    most,
    preferred_replicas,
    shortest_interval,
)
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
    """Seconds between its results, as far as it knows: T_D of game, Section 4.3."""
    before: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """The last three as the game before left them."""

    @property
    def replicas(self) -> float:
        """Its best response: the degree it prefers, or what fits the slowest; game, Expr. 14."""
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
        """Begin a game with the degree that it prefers: Function 1, rows 1 and 2."""
        self.before = (self.preferred, self.own_interval, self.pace)
        self.preferred = preferred_replicas(self.model, self.incentive)
        self.own_interval = self.pace = self.model.service_time(self.preferred)

    def undo(self) -> None:
        """Return to what the game before led to."""
        self.preferred, self.own_interval, self.pace = self.before

    def follow(self, source_pace: float) -> None:
        """Take the given pace, in seconds per row of the source, or the fastest that it can."""
        self.preferred, self.own_interval = most(self.model), shortest_interval(self.model)
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
    """Agents that play, add up and agree by messages.

    What is added up has one *view* by the tree, the root's, and one for each agent by gossip.
    """

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
        self.neighbours = {agent.model.name: tuple(agent.ratios) for agent in self.agents}
        self._named = {agent.model.name: agent for agent in self.agents}
        self._trees: dict[Role, list[Branch]] = {}

    @property
    def messages(self) -> int:
        """Sent."""
        return self.network.messages

    @property
    def iterations(self) -> int:
        """Synchronous steps, in each of which a message goes one hop."""
        return self.network.iterations

    def find_pne(self) -> None:
        """Play one game, of as many iterations as the diameter: Function 1."""
        find_pne(self.agents, self.network, self.topology.diameter)

    def raise_incentive(self, increment: float) -> None:
        """Let the bottleneck take a further incentive, of this share of its price."""
        for agent in self.agents:
            agent.raise_incentive(increment)

    def undo(self) -> None:
        """Return to what the game before led to: all know that there is nothing to gain."""
        for agent in self.agents:
            agent.undo()

    def total_cost(self) -> Floats:
        """What all pay for a step, in each view: up the tree and down again, or by gossip."""
        views = self._total(lambda agent: Tally((agent.cost,)))
        if not self.aggregation.by_gossip:
            broadcast(self.tree(_anyone), views[0].sums, self.network)
        return np.array([view.sums[0] for view in views])

    def any_objection(self, votes: Votes) -> bool:
        """Whether any view objects: one bit floods the graph, where agents may disagree."""
        if not self.aggregation.by_gossip:
            return bool(votes[0])
        objections = {
            agent.model.name: Tally((), (float(vote),))
            for agent, vote in zip(self.agents, votes, strict=True)
        }
        views = gossip(self.neighbours, objections, self.network, self.topology.diameter)
        return any(view.maxima[0] > 0.0 for view in views)

    def cost_terms(self) -> tuple[CostTerms, ...]:
        """What the best common pace depends on, in each view: seven numbers of each agent."""
        views = self._total(lambda agent: _terms(agent.model))
        return tuple(CostTerms(*view.sums, *view.maxima) for view in views)

    def prices_at(self, paces: Floats) -> Floats:
        """The price of the curved modules' replicas at each of these paces, a row per view."""
        offered = tuple(paces.tolist())
        if self.aggregation.by_gossip:
            views = self._total(lambda agent: Tally(_prices(agent, offered)))
            return np.array([view.sums for view in views])
        answer = broadcast(self.tree(is_nonlinear), offered, self.network)
        own = {name: Tally(_prices(self._named[name], paces)) for name, paces in answer.items()}
        return np.array([gather(self.tree(is_nonlinear), own, self.network).sums])

    def settle(self, paces: Floats) -> None:
        """Let all follow the pace of each view; after gossip, the slowest of them floods."""
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
        return gossip(self.neighbours, own, self.network, turns)

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
            )
            for i in np.flatnonzero(leading).tolist()
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


def _terms(module: ModuleModel) -> Tally:
    terms = CostTerms.of(module)
    return Tally(terms[:4], terms[4:])


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
