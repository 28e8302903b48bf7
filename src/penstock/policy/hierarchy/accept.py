"""Everybody gets what they ask for."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.core.signals import Observation
from penstock.policy.hierarchy.rule import Answer, Proposal, granted


@dataclass
class Accept:
    """Grants every proposal, as the infrastructure manager of the e2df paper does.

    >>> from penstock.testing import seen
    >>> wish = Proposal(level="infrastructure", manager="dc1", before=2, change=1, why="none idle")
    >>> [answer.granted for answer in Accept().accept([wish], seen())]
    [1]
    """

    def prioritise(self, proposals: Sequence[Proposal], _: Observation, /) -> list[Proposal]:
        """As they come."""
        return list(proposals)

    def accept(self, proposals: Sequence[Proposal], _: Observation, /) -> list[Answer]:
        """Every one."""
        return [granted(proposal, "every request is granted") for proposal in proposals]

    def follow_up(self, _: Sequence[Answer], __: Observation, /) -> str | None:
        """Nothing."""
        return None
