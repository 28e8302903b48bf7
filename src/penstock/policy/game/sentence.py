"""A plan in one sentence that a tired operator can read."""

from collections.abc import Sequence
from typing import Final

from penstock.core.units import format_duration
from penstock.policy.game.plan import Plan

_MOST_NAMED: Final = 6


def why(plan: Plan, inter_arrival: float, source: str, changes: Sequence[str]) -> str:
    """Why these degrees, and what changes.

    >>> plan = Plan(
    ...     policy="nash", replicas={"scan": 0.5, "match": 10.0}, rounded={"scan": 1, "match": 10},
    ...     inter_departure={"scan": 0.2, "match": 0.2}, bottleneck=("match",),
    ...     costs={"scan": 0.1, "match": 0.2}, messages=2, rounds=1, iterations=1,
    ... )
    >>> why(plan, 0.1, "scan", ["match 8 -> 10"])
    'rows every 100 ms; match is the bottleneck at 200 ms: match 8 -> 10'
    """
    return f"{_cause(plan, inter_arrival, source)}: {listed(changes) or 'nothing changes'}"


def change(name: str, before: int | None, after: int) -> str:
    """One module's step.

    >>> change("match", 8, 10), change("match", None, 10)
    ('match 8 -> 10', 'match -> 10')
    """
    return f"{name} -> {after}" if before is None else f"{name} {before} -> {after}"


def listed(words: Sequence[str]) -> str:
    """Words with commas, the first few of many.

    >>> listed(["a", "b"]), listed(list("abcdefgh"))
    ('a, b', 'a, b, c, d, e, f and 2 more')
    """
    if len(words) <= _MOST_NAMED:
        return ", ".join(words)
    return f"{', '.join(words[:_MOST_NAMED])} and {len(words) - _MOST_NAMED} more"


def _cause(plan: Plan, inter_arrival: float, source: str) -> str:
    rows = f"rows every {format_duration(inter_arrival)}"
    pace = plan.inter_departure[source]
    if inter_arrival >= pace * (1.0 - 1e-9):
        return f"{rows} set the pace"
    if len(plan.bottleneck) == len(plan.replicas) > 1:
        return f"{rows}; all modules are set to take one every {format_duration(pace)}"
    slowest = plan.bottleneck[0]
    verb = "is" if len(plan.bottleneck) == 1 else "are"
    taking = format_duration(plan.inter_departure[slowest])
    return f"{rows}; {listed(plan.bottleneck)} {verb} the bottleneck at {taking}"
