"""What follows from the speed of both stages: a zero-order Takagi-Sugeno controller."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from penstock.policy.fuzzy.terms import PAPERS, Speed, Split, Terms

DECREASE: Final = 0.5
SLIGHT_DECREASE: Final = 0.75
UNCHANGED: Final = 1.0
SLIGHT_INCREASE: Final = 1.25
INCREASE: Final = 1.5  # ppq, Tab. 1


class Rule(NamedTuple):
    """If the stages are so, multiply their degrees by that."""

    plq: Speed
    splitting: Split | None
    """None where the rule holds however panes are split."""
    wlq: Speed
    plq_factor: float
    wlq_factor: float


RULES: Final = (  # ppq, Tab. 2
    Rule("fast", None, "fast", DECREASE, DECREASE),
    Rule("fast", None, "acceptable", DECREASE, UNCHANGED),
    Rule("fast", None, "slow", DECREASE, INCREASE),
    Rule("acceptable", "moderate", "fast", UNCHANGED, DECREASE),
    Rule("acceptable", "moderate", "acceptable", UNCHANGED, UNCHANGED),
    Rule("acceptable", "moderate", "slow", UNCHANGED, INCREASE),
    Rule("acceptable", "intensive", "fast", SLIGHT_INCREASE, DECREASE),
    Rule("acceptable", "intensive", "acceptable", SLIGHT_INCREASE, UNCHANGED),
    Rule("acceptable", "intensive", "slow", UNCHANGED, INCREASE),
    Rule("slow", None, "fast", INCREASE, SLIGHT_DECREASE),
    Rule("slow", None, "acceptable", INCREASE, SLIGHT_INCREASE),
    Rule("slow", None, "slow", SLIGHT_INCREASE, INCREASE),
)


def factors(
    rho_plq: float, splitting: float, rho_wlq: float, terms: Terms = PAPERS
) -> tuple[float, float]:
    """What to multiply the degrees of the pane stage and of the window stage by.

    >>> factors(1.5, 1.0, 0.3)  # rule 10: more for panes, and a little less for windows
    (1.5, 0.75)
    """
    plq, wlq = terms.of_load(rho_plq), terms.of_load(rho_wlq)
    split = terms.of_splitting(splitting)
    active = [
        (rule, min(plq[rule.plq], split[rule.splitting] if rule.splitting else 1.0, wlq[rule.wlq]))
        for rule in RULES
    ]
    return (
        _average((rule.plq_factor, strength) for rule, strength in active),
        _average((rule.wlq_factor, strength) for rule, strength in active),
    )


def _average(outputs: Iterable[tuple[float, float]]) -> float:
    """The mean of distinct outputs, each weighted by the strongest rule that asks for it."""
    strengths: dict[float, float] = {}
    for factor, strength in outputs:
        strengths[factor] = max(strengths.get(factor, 0.0), strength)
    weighted = sum(factor * strength for factor, strength in strengths.items())
    return weighted / sum(strengths.values())
