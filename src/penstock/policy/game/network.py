"""The post between agents: delivers what they send, and counts it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.policy.game.mailbox import Mailbox, Message


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
    """Sent so far."""
    iterations: int = 0
    """Passed so far: how long it takes, where a message takes one iteration."""

    def deliver(self, sent: Iterable[Message]) -> None:
        """Carry out one iteration."""
        batch = list(sent)
        for message in batch:
            self.mailboxes[message.receiver].post(message)
        self.messages += len(batch)
        self.iterations += 1
