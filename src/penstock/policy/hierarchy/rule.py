"""What managers propose, and the three steps in which the one above them answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from penstock.core.signals import Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What the manager of one module or region wants."""

    level: str
    """`application` or `infrastructure`."""
    manager: str
    """The module or region."""
    before: int
    """Replicas or nodes in force."""
    change: int
    """How many more, or fewer where negative; never none."""
    why: str
    region: str | None = None
    """Where it would take room."""
    load: float | None = None
    """Work that comes by what its replicas could do, where that is known; else how busy they are,
    which cannot tell one overload from another."""

    @property
    def grows(self) -> bool:
        """Whether it wants more."""
        return self.change > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of a proposal."""

    proposal: Proposal
    granted: int
    """How much of its change, from none to all."""
    why: str
    """Of what was refused, where any of it was; else of what was granted."""
    roomless: bool = False
    """Whether it is granted only so that its region knows: nothing will change by it."""

    @property
    def refused(self) -> int:
        """How much of its change was not granted."""
        return self.proposal.change - self.granted


@runtime_checkable
class Rule(Protocol):
    """A global policy: e2df, Section 6.3."""

    def prioritise(self, proposals: Sequence[Proposal], seen: Observation, /) -> list[Proposal]:
        """The proposals, the worthiest first."""
        ...

    def accept(self, proposals: Sequence[Proposal], seen: Observation, /) -> list[Answer]:
        """An answer to each, in the same order."""
        ...

    def follow_up(self, answers: Sequence[Answer], seen: Observation, /) -> str | None:
        """What is to be done or known after that, in words; None for nothing."""
        ...


def granted(proposal: Proposal, why: str) -> Answer:
    """All of it."""
    return Answer(proposal=proposal, granted=proposal.change, why=why)


def refused(proposal: Proposal, why: str) -> Answer:
    """None of it."""
    return Answer(proposal=proposal, granted=0, why=why)
