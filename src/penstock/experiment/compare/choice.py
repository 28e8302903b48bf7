"""Which policy to choose: the cheapest that keeps the promise as well as any, or nearly.

1. Whoever breaks the promise for more than `TOLERATED` of the time longer than the one that breaks
   it least is out; where chance may explain the difference, for more than `DOUBTED`.
2. Of the others the cheapest is chosen; unless one breaks less than it, by more than chance may
   explain, and the cheapest saves less than `WORTH` of its core-seconds. Then that one is.

A rule that took the fewest violations at any price would pay twice as much for one step of a run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from penstock.experiment.compare.dominance import FEWER_CORE_SECONDS
from penstock.experiment.compare.entrants import REFERENCES
from penstock.experiment.compare.outcome import Outcome

TOLERATED: Final = 0.02
"""Share of the time by which violations may be more than the fewest."""
DOUBTED: Final = 0.05
"""The same where chance may explain it. With few seeds chance may explain almost anything."""
WORTH: Final = FEWER_CORE_SECONDS
"""Share of the core-seconds for which more violations are taken, within what is tolerated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The policy chosen, and who else there was."""

    chosen: str
    cheapest: str
    """Of those within what is tolerated."""
    safest: str
    """Who has the fewest violations, the cheapest of several."""
    safe: Sequence[str]
    """Who is within what is tolerated."""
    broken: Mapping[str, float]
    """Violations of every policy that was measured."""


def choose(played: Outcome) -> Choice | None:
    """The choice over all loads together; None where no policy could be measured.

    Static ones are not chosen, because their degrees were found with the load known.
    """
    broken = {n: s.mean for n in policies(played) if (s := played.score(n, "violations"))}
    if not broken:
        return None
    price = {name: cores(played, name) for name in broken}

    def by_violations(name: str) -> tuple[float, float]:
        return broken[name], price[name]

    safest = min(broken, key=by_violations)
    safe = [name for name in broken if _near(played, name, safest, broken)]
    cheapest = min(safe, key=lambda name: (price[name], broken[name]))
    better = [
        name
        for name in safe
        if broken[name] < broken[cheapest]
        and not played.same(name, cheapest, "violations")
        and price[cheapest] > (1 - WORTH) * price[name]
    ]
    return Choice(
        chosen=min(better, key=by_violations, default=cheapest),
        cheapest=cheapest,
        safest=safest,
        safe=safe,
        broken=broken,
    )


def _near(played: Outcome, name: str, safest: str, broken: Mapping[str, float]) -> bool:
    more = broken[name] - broken[safest]
    doubtful = played.same(name, safest, "violations")
    return more <= (DOUBTED if doubtful else TOLERATED) + 1e-9


def policies(played: Outcome) -> list[str]:
    """Those that could be chosen."""
    return [name for name in played.eligible if name not in REFERENCES]


def cores(played: Outcome, name: str) -> float:
    """Core-seconds of a run, on average over loads and seeds."""
    found = played.score(name, "core_seconds")
    return found.mean if found else float("inf")
