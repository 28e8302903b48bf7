"""A policy that somebody wrote, and what it says held against what can be.

It is checked before any guard sees it: a guard would make sense of nonsense, and an application
would shrink to its fewest executors because -3 were asked for.
"""

from dataclasses import dataclass
from typing import Final

from penstock.core.roles import Policy
from penstock.core.signals import (
    Decision,
    Observation,
    check_decision,
    check_degrees,
)

APPLICATION: Final = "application"
"""The one module of an application that was attached to."""


@dataclass(slots=True)
class Checked:
    """Passes on decisions, and raises where one cannot be.

    >>> from penstock.testing import seen
    >>> Checked(lambda seen: 3)(seen(application={"running": 2}))
    Traceback (most recent call last):
    ...
    TypeError: it must return a Decision, got 3
    """

    policy: Policy

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy says."""
        return checked(self.policy(seen))


def checked(decided: object) -> Decision:
    """The decision, or an error where it is none on the executors of the application.

    >>> from penstock.core.signals import Configuration
    >>> checked(Decision(configuration=Configuration(degrees={"application": 2.5}), why="half"))
    Traceback (most recent call last):
    ...
    TypeError: it must ask for a whole number of executors, got 2.5
    """
    found = check_decision(decided)
    check_degrees(found.configuration.degrees, [APPLICATION])
    return found
