"""Advice only."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from penstock.core.roles import Policy
from penstock.core.signals import Configuration, Decision, Observation
from penstock.policy.degrees import in_force, sentence


@dataclass
class DryRun:
    """Asks for nothing, and proposes what it would have asked for. Put it around all other guards.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> decided = DryRun(Static(degrees=9))(seen(counter={"running": 4}))
    >>> decided.proposed.degrees, decided.configuration.degrees
    ({'counter': 9}, {'counter': 4})
    >>> decided.why
    'dry run: counter would go from 4 to 9; counter is set to 9'
    """

    policy: Policy

    def __call__(self, seen: Observation, /) -> Decision:
        """What is in force."""
        decided, now = self.policy(seen), Configuration(degrees=in_force(seen))
        advice = sentence(_moves(now, decided.configuration), otherwise="nothing would change")
        return replace(
            decided,
            configuration=now,
            proposed=decided.configuration,
            why="; ".join([f"dry run: {advice}", decided.why, *_wish(decided)]),
            expects={},
        )


def _moves(now: Configuration, then: Configuration) -> Iterator[str]:
    for name, degree in then.degrees.items():
        before = now.degrees.get(name)
        if before is None:
            yield f"{name} would go to {degree}"
        elif before != degree:
            yield f"{name} would go from {before} to {degree}"
    for name in then.routing:
        yield f"keys of {name} would be routed anew"
    if then.frequency is not None:
        yield f"the clock would be set to {then.frequency:g} GHz"


def _wish(decided: Decision) -> Iterator[str]:
    """What the policy wanted of the modules for which a guard decided otherwise."""
    wanted = decided.proposed.degrees if decided.proposed else {}
    allowed = decided.configuration.degrees
    told = [f"{name} {n}" for name, n in wanted.items() if allowed.get(name) != n]
    if told:
        yield f"the policy wanted {', '.join(told)}"
