"""The agent of one module: it knows itself, and what its neighbours tell it.

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
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.model.flow_graph import ModuleModel
from penstock.policy.game.mailbox import Mailbox, Message
from penstock.policy.game.stake import SAME, fastest, fit, most, wish


@dataclass(slots=True, kw_only=True)
class Agent:
    """Chooses the degree of one module."""

    model: ModuleModel
    ratios: Mapping[str, float]
    """Rows that each neighbour sees for each one of its own: P(j) / P(i) of game, Expr. 3."""
    mailbox: Mailbox = field(default_factory=Mailbox)
    incentive: float = 0.0
    """What is paid to it for each replica: gamma of game, Expr. 18."""
    wished: float = 0.0
    """The degree that it would choose alone: game, Def. 4.5."""
    own_pace: float = 0.0
    """Seconds between its results with that degree."""
    pace: float = 0.0
    """Seconds between its results, as far as it has heard: T_D of game, Section 4.3."""
    before: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """The last three as the game before left them."""

    @property
    def replicas(self) -> float:
        """Its best response: the degree it wishes for, or what fits the slowest; game, Expr. 14."""
        return min(self.wished, fit(self.model, self.pace))

    @property
    def is_bottleneck(self) -> bool:
        """Whether nobody that it has heard of is slower."""
        return self.own_pace >= self.pace * (1.0 - SAME)

    @property
    def cost(self) -> float:
        """What it pays for a step; the reward of its incentive does not count."""
        return self.model.cost(self.replicas, self.pace)

    def start(self) -> None:
        """Begin a game with the degree that it wishes for: Function 1, rows 1 and 2."""
        self.before = (self.wished, self.own_pace, self.pace)
        self.wished = wish(self.model, self.incentive)
        self.own_pace = self.pace = self.model.service_time(self.wished)

    def retreat(self) -> None:
        """Return to what the game before led to."""
        self.wished, self.own_pace, self.pace = self.before

    def follow(self, source_pace: float) -> None:
        """Go as fast as it is told, or as fast as it can: so many seconds per row of the source."""
        self.wished = most(self.model)
        self.own_pace = fastest(self.model)
        self.pace = max(source_pace / self.model.reach, self.own_pace)

    def advertise(self) -> tuple[Message, ...]:
        """Tell every neighbour its pace: row 4."""
        told = (self.pace,)
        return tuple(
            Message(sender=self.model.name, receiver=name, content=told) for name in self.ratios
        )

    def respond(self) -> None:
        """Hear the neighbours, and adapt to the slowest: rows 5 to 7."""
        for message in self.mailbox.take():
            self.pace = max(self.pace, message.content[0] * self.ratios[message.sender])

    def encourage(self, increment: float) -> None:
        """Take an incentive for more replicas if it is the bottleneck: Alg. 2, rows 8 and 9."""
        if self.is_bottleneck:
            self.incentive += increment * self.model.price
