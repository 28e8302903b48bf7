"""Sums and maxima over all agents, by messages between neighbours only: game, Section 5.2.

By a tree: partial results flow from the leaves to the root, and the answer flows back. It is exact,
and there are as many messages each way as there are agents but the root.

By gossip (local push-sum): in each iteration every agent gives equal shares of its sum and of its
weight to its neighbours and to itself. Sum by weight comes closer and closer to the mean over all,
at a pace that depends on the graph, and all agents do the same; maxima travel along.

Agents leave messages in each other's mailboxes, and share nothing else.

>>> box = Mailbox()
>>> box.append(Message(sender="denoiser", receiver="recognizer", content=(0.62,)))
>>> [message.content for message in box.take()], box.take()
([(0.62,)], ())
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.schema import Count, OneOf, checked

Numbers = tuple[float, ...]
Floats = NDArray[np.float64]
Votes = NDArray[np.bool_]

AGGREGATIONS: Final = ("tree", "gossip")


@dataclass(frozen=True, slots=True)
@checked("aggregation")
class Aggregation:
    """How agents add up what each of them knows.

    >>> Aggregation("gosip")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: kind of aggregation must be tree or gossip, got 'gosip'; \
did you mean 'gossip'?
    """

    kind: Annotated[str, OneOf(AGGREGATIONS)] = "tree"
    iterations: Count = 15
    """Of gossip: the more, the closer; about five times the diameter bring 2 % in the paper."""

    @property
    def by_gossip(self) -> bool:
        """Whether agents end up with estimates that differ."""
        return self.kind == "gossip"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A few numbers from one agent to a neighbour."""

    sender: str
    receiver: str
    content: tuple[float, ...]


class Mailbox(list[Message]):
    """Messages that an agent has not read yet."""

    def take(self) -> tuple[Message, ...]:
        """Every message in the order it came; the box is empty then."""
        taken = tuple(self)
        self.clear()
        return taken


@dataclass(slots=True)
class Network:
    """Delivers messages in synchronous iterations: all is sent before anything is read.

    >>> network = Network({"a": Mailbox(), "b": Mailbox()})
    >>> network.deliver([Message(sender="a", receiver="b", content=(1.0,))])
    >>> network.messages, network.iterations
    (1, 1)
    """

    mailboxes: Mapping[str, Mailbox]
    messages: int = 0
    """Sent."""
    iterations: int = 0
    """Iterations passed; a message takes one."""

    def deliver(self, sent: Iterable[Message]) -> None:
        """Carry out one iteration."""
        batch = list(sent)
        for message in batch:
            self.mailboxes[message.receiver].append(message)
        self.messages += len(batch)
        self.iterations += 1


@dataclass(frozen=True, slots=True)
class Tally:
    """Numbers that are added up, and numbers of which the largest counts.

    >>> Tally((1.0, 2.0), (5.0,)) + Tally((3.0, 4.0), (1.0,))
    Tally(sums=(4.0, 6.0), maxima=(5.0,))
    """

    sums: Numbers = ()
    maxima: Numbers = ()

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            tuple(a + b for a, b in zip(self.sums, other.sums, strict=True)),
            tuple(map(max, self.maxima, other.maxima)),
        )


@dataclass(slots=True, kw_only=True)
class Branch:
    """An agent's place in the tree: its parent and its children."""

    name: str
    parent: str | None
    children: tuple[str, ...]
    mailbox: Mailbox
    tally: Tally = Tally()
    """Of itself and of those below that have reported."""
    awaited: int = 0
    """Reports that it still waits for; -1 once it has reported itself."""
    answer: Numbers | None = None
    """The answer from above."""

    def start(self, own: Tally) -> None:
        """Begin with what it knows itself."""
        self.tally, self.awaited, self.answer = own, len(self.children), None

    def report(self) -> tuple[Message, ...]:
        """Report to the parent, as soon as all children have reported."""
        if self.awaited or self.parent is None:
            return ()
        self.awaited = -1
        content = (*self.tally.sums, *self.tally.maxima)
        return (Message(sender=self.name, receiver=self.parent, content=content),)

    def collect(self) -> None:
        """Add what the children report."""
        added = len(self.tally.sums)
        for message in self.mailbox.take():
            self.tally += Tally(message.content[:added], message.content[added:])
            self.awaited -= 1

    def forward(self) -> tuple[Message, ...]:
        """Forward the answer of the parent to the children."""
        if self.answer is None:
            return ()
        return tuple(
            Message(sender=self.name, receiver=child, content=self.answer)
            for child in self.children
        )

    def receive(self) -> bool:
        """Take the answer from above; whether there was one."""
        for message in self.mailbox.take():
            self.answer = message.content
            return True
        return False


def gather(branches: Sequence[Branch], own: Mapping[str, Tally], network: Network) -> Tally:
    """From the leaves to the root: what the root knows at the end."""
    for branch in branches:
        branch.start(own.get(branch.name, _nothing(own)))
    root = next(branch for branch in branches if branch.parent is None)
    while root.awaited:
        network.deliver(message for branch in branches for message in branch.report())
        for branch in branches:
            branch.collect()
    return root.tally


def broadcast(branches: Sequence[Branch], answer: Numbers, network: Network) -> dict[str, Numbers]:
    """From the root to the leaves: the answer that each agent received."""
    for branch in branches:
        branch.answer = answer if branch.parent is None else None
    senders = [branch for branch in branches if branch.parent is None]
    while any(branch.children for branch in senders):
        network.deliver(message for branch in senders for message in branch.forward())
        senders = [branch for branch in branches if branch.receive()]
    return {branch.name: branch.answer for branch in branches if branch.answer is not None}


@dataclass(slots=True, kw_only=True)
class Gossiper:
    """An agent's part in the gossip."""

    name: str
    neighbours: tuple[str, ...]
    mailbox: Mailbox
    tally: Tally = Tally()
    weight: float = 1.0

    def start(self, own: Tally) -> None:
        """Begin with what it knows itself."""
        self.tally, self.weight = own, 1.0

    def spread(self) -> tuple[Message, ...]:
        """Give every neighbour a share, and keep one."""
        part = 1.0 / (len(self.neighbours) + 1)
        self.weight *= part
        self.tally = Tally(tuple(part * x for x in self.tally.sums), self.tally.maxima)
        content = (self.weight, *self.tally.sums, *self.tally.maxima)
        return tuple(
            Message(sender=self.name, receiver=other, content=content) for other in self.neighbours
        )

    def absorb(self) -> None:
        """Add the shares of the neighbours to its own."""
        added = 1 + len(self.tally.sums)
        for message in self.mailbox.take():
            self.weight += message.content[0]
            self.tally += Tally(message.content[1:added], message.content[added:])

    def estimate(self, size: int) -> Tally:
        """What it takes for the result over so many agents."""
        return Tally(tuple(size * x / self.weight for x in self.tally.sums), self.tally.maxima)


def gossip(
    gossipers: Sequence[Gossiper], own: Mapping[str, Tally], network: Network, iterations: int
) -> list[Tally]:
    """What every agent takes for the result after so many iterations."""
    for gossiper in gossipers:
        gossiper.start(own[gossiper.name])
    for _ in range(iterations):
        network.deliver(message for gossiper in gossipers for message in gossiper.spread())
        for gossiper in gossipers:
            gossiper.absorb()
    return [gossiper.estimate(len(gossipers)) for gossiper in gossipers]


def _nothing(own: Mapping[str, Tally]) -> Tally:
    """What an agent adds that only passes on what others say."""
    like = next(iter(own.values()), Tally())
    return Tally((0.0,) * len(like.sums), (float("-inf"),) * len(like.maxima))
