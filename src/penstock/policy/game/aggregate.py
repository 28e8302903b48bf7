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

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

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

    def to(self, receiver: str, *, sender: str) -> Message:
        """As a message."""
        return Message(sender=sender, receiver=receiver, content=(*self.sums, *self.maxima))

    def read(self, message: Message) -> "Tally":
        """Another of the same form, from a message."""
        added = len(self.sums)
        return Tally(message.content[:added], message.content[added:])


class Branch(NamedTuple):
    """An agent's place in the tree: its parent and its children."""

    name: str
    parent: str | None
    children: tuple[str, ...]


def gather(branches: Sequence[Branch], own: Mapping[str, Tally], network: Network) -> Tally:
    """From the leaves to the root: what the root knows at the end.

    Each agent reports to its parent as soon as all its children have reported. One that knows
    nothing itself only passes on what others report.
    """
    like = next(iter(own.values()), Tally())
    nothing = Tally((0.0,) * len(like.sums), (float("-inf"),) * len(like.maxima))
    known = {branch.name: own.get(branch.name, nothing) for branch in branches}
    awaited = {branch.name: len(branch.children) for branch in branches}
    ready = [branch for branch in branches if not branch.children]
    while senders := [(b, b.parent) for b in ready if b.parent is not None]:
        network.deliver(known[b.name].to(parent, sender=b.name) for b, parent in senders)
        ready = [branch for branch in branches if network.mailboxes[branch.name]]
        for branch in ready:
            for message in network.mailboxes[branch.name].take():
                known[branch.name] += known[branch.name].read(message)
                awaited[branch.name] -= 1
        ready = [branch for branch in ready if not awaited[branch.name]]
    return next(known[branch.name] for branch in branches if branch.parent is None)


def broadcast(branches: Sequence[Branch], answer: Numbers, network: Network) -> dict[str, Numbers]:
    """From the root to the leaves: the answer that each agent received."""
    reached = [branch for branch in branches if branch.parent is None]
    answers = {branch.name: answer for branch in reached}
    while any(branch.children for branch in reached):
        network.deliver(
            Message(sender=branch.name, receiver=child, content=answers[branch.name])
            for branch in reached
            for child in branch.children
        )
        reached = [branch for branch in branches if network.mailboxes[branch.name]]
        for branch in reached:
            (message,) = network.mailboxes[branch.name].take()
            answers[branch.name] = message.content
    return answers


def push(
    neighbours: Mapping[str, Collection[str]],
    own: Mapping[str, Tally],
    network: Network,
    iterations: int,
) -> dict[str, Tally]:
    """What each agent holds after so many iterations: its weight, then its sums, and its maxima.

    In each, it gives every neighbour an equal share, and keeps one.
    """
    held = {name: Tally((1.0, *own[name].sums), own[name].maxima) for name in neighbours}
    for _ in range(iterations):
        for name, others in neighbours.items():
            part = 1.0 / (len(others) + 1)
            held[name] = Tally(tuple(part * x for x in held[name].sums), held[name].maxima)
        network.deliver(
            held[name].to(other, sender=name) for name in neighbours for other in neighbours[name]
        )
        for name in neighbours:
            for message in network.mailboxes[name].take():
                held[name] += held[name].read(message)
    return held


def gossip(
    neighbours: Mapping[str, Collection[str]],
    own: Mapping[str, Tally],
    network: Network,
    iterations: int,
) -> list[Tally]:
    """What every agent takes for the result after so many iterations."""
    held = push(neighbours, own, network, iterations).values()
    return [
        Tally(tuple(len(held) * x / weight for x in sums), tally.maxima)
        for tally in held
        for weight, *sums in (tally.sums,)
    ]
