"""Advice only."""

from dataclasses import dataclass, replace

from penstock.core.roles import Policy
from penstock.core.signals import Configuration, Decision, Observation
from penstock.policy.degrees import in_force


@dataclass
class DryRun:
    """Asks for nothing, and tells what it would have asked for. Put it around all other guards.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> decided = DryRun(Static(degrees=9))(seen(counter={"running": 4}))
    >>> decided.why, decided.proposed.degrees, decided.configuration.degrees
    ('dry run: counter is set to 9', {'counter': 9}, {'counter': 4})
    """

    policy: Policy

    def __call__(self, seen: Observation, /) -> Decision:
        """What is in force."""
        decided = self.policy(seen)
        return replace(
            decided,
            configuration=Configuration(degrees=in_force(seen)),
            proposed=decided.proposed or decided.configuration,
            why=f"dry run: {decided.why}",
            expects={},
        )
