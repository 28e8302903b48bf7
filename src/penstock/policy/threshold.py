"""Scale by how busy each module is: e2df, Section 7.1."""

from dataclasses import dataclass

from penstock.core.schema import BelowOne, Share, checked
from penstock.core.signals import Decision, Observation
from penstock.policy.common.degrees import in_force
from penstock.policy.common.verdict import UtilisationRule, decision


@dataclass
@checked("policy threshold")
class Threshold:
    """One executor more for a module that is too busy, one fewer where the rest would cope.

    Each module is decided on its own. A module waits for pending executors before it
    asks for more, does without them once it can, and keeps what it has while its utilisation is
    unknown.

    >>> from penstock.testing import seen
    >>> policy = Threshold()
    >>> policy(
    ...     seen(
    ...         splitter={"utilisation": 0.82, "running": 2},
    ...         counter={"utilisation": 0.61, "running": 4},
    ...     )
    ... ).why
    'splitter 82 % busy, above 75 %: 2 -> 3; counter holds at 4, 61 % busy'
    """

    max_utilisation: Share = 0.75
    """Busy share above which a module grows."""
    scale_in_factor: BelowOne = 0.75
    """A module shrinks if the rest would stay under this share of `max_utilisation`."""

    def __call__(self, seen: Observation, /) -> Decision:
        """Judge each module, and name those that change first."""
        known, rule = in_force(seen), self._rule()
        return decision(rule(name, m, known.get(name)) for name, m in seen.modules.items())

    def _rule(self) -> UtilisationRule:
        return UtilisationRule(self.max_utilisation, self.scale_in_factor)
