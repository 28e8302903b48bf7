"""What agents do together, by messages or computed in bulk.

`nash`, `incentive` and `social` are written in these terms. `MessageExchange` has real agents that
exchange real messages; `BulkExchange` computes what that amounts to for thousands of agents at
once, and counts the messages that it saved.
"""

from dataclasses import dataclass
from typing import Annotated, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.core.schema import Count, OneOf, checked
from penstock.policy.game.costs import CostTerms

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
    penstock.core.errors.SettingError: kind of aggregation must be tree or gossip, got 'gosip'
    """

    kind: Annotated[str, OneOf(AGGREGATIONS)] = "tree"
    iterations: Count = 15
    """Of gossip: the more, the closer; about five times the diameter bring 2 % in the paper."""

    @property
    def by_gossip(self) -> bool:
        """Whether agents end up with estimates that differ."""
        return self.kind == "gossip"


class Exchange(Protocol):
    """Agents that play, add up and agree.

    What is added up has one *view* by the tree, the root's, and one for each agent by gossip.
    """

    @property
    def messages(self) -> int:
        """Sent."""
        ...

    @property
    def iterations(self) -> int:
        """Synchronous steps, in each of which a message goes one hop."""
        ...

    def find_pne(self) -> None:
        """Play one game: Function 1."""
        ...

    def raise_incentive(self, increment: float) -> None:
        """Let the bottleneck take a further incentive, of this share of its price."""
        ...

    def undo(self) -> None:
        """Return to what the game before led to."""
        ...

    def total_cost(self) -> Floats:
        """What all pay for a step, in each view."""
        ...

    def any_objection(self, votes: Votes) -> bool:
        """Whether any view has an objection; all agents know afterwards."""
        ...

    def cost_terms(self) -> tuple[CostTerms, ...]:
        """What the best common pace depends on, in each view."""
        ...

    def prices_at(self, paces: Floats) -> Floats:
        """The price of the curved modules' replicas at each of these paces, a row per view."""
        ...

    def settle(self, paces: Floats) -> None:
        """Let all follow the pace of each view, or the slowest where views differ."""
        ...

    def replicas(self) -> dict[str, float]:
        """Every module's degree as it stands."""
        ...

    def bottleneck(self) -> tuple[str, ...]:
        """The modules that cannot, or do not wish to, go faster than all go."""
        ...
