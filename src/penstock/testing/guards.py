"""What every guard promises, around whatever policy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

from penstock.core.roles import Policy
from penstock.core.signals import Configuration, Decision, Observation
from penstock.policy.common.degrees import in_force
from penstock.testing.checking import Check, require, run_all
from penstock.testing.policies import POLICY_CHECKS, holds_what_it_knows_nothing_of
from penstock.testing.script import varied

Wrapper = Callable[[Policy], Policy]
"""Puts a new guard around a policy, with the same settings each time."""


@dataclass
class AlternatingPolicy:
    """A policy that wants something else in every step, to give guards work.

    >>> from penstock.testing import seen
    >>> AlternatingPolicy()(seen(counter={"running": 2})).configuration.degrees
    {'counter': 9}
    """

    proposes: bool = False
    """Whether its decisions come as if a guard had already changed them."""
    _turn: int = field(default=0, init=False, repr=False)

    def __call__(self, seen: Observation, /) -> Decision:
        """Far up, down to one, a little up, and again."""
        degree = (9, 1, 4, 2)[self._turn % 4]
        self._turn += 1
        return Decision(
            configuration=Configuration(degrees=dict.fromkeys(seen.modules, degree)),
            why=f"{degree} executors are in fashion",
            proposed=Configuration(degrees=dict.fromkeys(seen.modules, 20))
            if self.proposes
            else None,
        )


def holds_a_policy_in_its_first_field(wrap: Wrapper) -> None:
    """So that files and flags can nest guards."""
    inner = AlternatingPolicy()
    guard: Any = wrap(inner)
    first = fields(guard)[0].name
    require(first == "policy" and guard.policy is inner, f"its first field is {first!r}")


def keeps_what_was_proposed(wrap: Wrapper) -> None:
    """A changed decision still names what the policy wanted."""
    for wanted, ruled in _pairs(wrap, AlternatingPolicy()):
        if ruled.configuration != wanted.configuration:
            require(
                ruled.proposed == wanted.configuration,
                f"the policy wanted {wanted.configuration}, the guard says {ruled.proposed}",
            )


def keeps_the_innermost_proposal(wrap: Wrapper) -> None:
    """Through any number of guards, unless it acts on none and proposes what it holds back."""
    pairs = _pairs(wrap, AlternatingPolicy(proposes=True))
    dry = all(ruled.proposed == wanted.configuration for wanted, ruled in pairs) and all(
        ruled.configuration.degrees == in_force(seen)
        for seen, (_, ruled) in zip(varied(), pairs, strict=True)
    )
    for wanted, ruled in pairs:
        require(
            dry or ruled.proposed == wanted.proposed,
            f"the policy proposed {wanted.proposed}, the guard says {ruled.proposed}",
        )


def adds_its_reason_to_the_policys(wrap: Wrapper) -> None:
    """A changed decision has both."""
    for wanted, ruled in _pairs(wrap, AlternatingPolicy()):
        require(wanted.why in ruled.why, f"{wanted.why!r} is lost in {ruled.why!r}")
        if ruled.configuration != wanted.configuration:
            require(ruled.why != wanted.why, "it changed a decision without a reason")


def asks_its_policy_once_in_every_step(wrap: Wrapper) -> None:
    """A policy that learns must see everything, and nothing twice."""
    inner = AlternatingPolicy()
    guard = wrap(inner)
    for turn, seen in enumerate(varied(), 1):
        guard(seen)
        require(inner == _after(turn), f"its policy was not asked once in step {turn}")


def _around_alternating(check: Check[Callable[[], Policy]]) -> Check[Wrapper]:
    def around(wrap: Wrapper) -> None:
        check(lambda: wrap(AlternatingPolicy()))

    around.__name__, around.__doc__ = check.__name__, check.__doc__
    return around


GUARD_CHECKS: Final[Sequence[Check[Wrapper]]] = (
    holds_a_policy_in_its_first_field,
    keeps_what_was_proposed,
    keeps_the_innermost_proposal,
    adds_its_reason_to_the_policys,
    asks_its_policy_once_in_every_step,
    *(_around_alternating(c) for c in POLICY_CHECKS if c is not holds_what_it_knows_nothing_of),
)


def check_guard(wrap: Wrapper) -> None:
    """Run `GUARD_CHECKS` on a guard, and fail with all that is wrong."""
    run_all(GUARD_CHECKS, wrap)


def _pairs(wrap: Wrapper, policy: AlternatingPolicy) -> list[tuple[Decision, Decision]]:
    alone, guard = AlternatingPolicy(proposes=policy.proposes), wrap(policy)
    return [(alone(seen), guard(seen)) for seen in varied()]


def _after(turns: int) -> AlternatingPolicy:
    policy = AlternatingPolicy()
    policy._turn = turns
    return policy
