"""How agents speak: they leave messages in each other's mailboxes, and share nothing else.

>>> box = Mailbox()
>>> box.post(Message(sender="denoiser", receiver="recognizer", content=(0.62,)))
>>> [message.content for message in box.take()], box.take()
([(0.62,)], ())
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A few numbers from one agent to a neighbour."""

    sender: str
    receiver: str
    content: tuple[float, ...]


@dataclass(slots=True)
class Mailbox:
    """Messages that an agent has not read yet."""

    _waiting: list[Message] = field(default_factory=list)

    def post(self, message: Message) -> None:
        """Leave a message."""
        self._waiting.append(message)

    def take(self) -> tuple[Message, ...]:
        """Every message in the order it came; the box is empty then."""
        taken = tuple(self._waiting)
        self._waiting.clear()
        return taken
