"""Which policy to choose, and why: the cheapest that keeps the promise as well as any, or nearly.

1. A policy that breaks the promise for more than `TOLERATED` of the time longer than the one that
   breaks it least is out; where chance may explain the difference, for more than `DOUBTED`.
2. Of the others the cheapest is chosen; unless one breaks less than it, by more than chance may
   explain, and the cheapest saves less than `WORTH` of its core-seconds. Then that one is.

A rule that took the fewest violations at any price would pay twice as much for one step of a run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from penstock.core.signals import Tick
from penstock.core.words import count_of, joined, percent
from penstock.experiment.compare.entrants import CLAIRVOYANT, REFERENCES, STATIC_MEAN, STATIC_PEAK
from penstock.experiment.compare.outcome import FEWER_CORE_SECONDS, TournamentResult
from penstock.experiment.compare.track import core_seconds, follow

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


def choose(played: TournamentResult) -> Choice | None:
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


def _near(played: TournamentResult, name: str, safest: str, broken: Mapping[str, float]) -> bool:
    more = broken[name] - broken[safest]
    doubtful = played.same(name, safest, "violations")
    return more <= (DOUBTED if doubtful else TOLERATED) + 1e-9


def policies(played: TournamentResult) -> list[str]:
    """Those that could be chosen."""
    return [name for name in played.eligible if name not in REFERENCES]


def cores(played: TournamentResult, name: str) -> float:
    """Core-seconds of a run, on average over loads and seeds."""
    score = played.score(name, "core_seconds")
    return score.mean if score else float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The choice and its reasons."""

    choose: str | None
    """None where no policy played to the end."""
    why: tuple[str, ...]
    """Sentences."""
    saves: float | None
    """Share of the core-seconds of `static-peak` that it saves; negative where it costs more."""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"choose": self.choose, "why": list(self.why), "saves": self.saves}


def advise(played: TournamentResult) -> Advice:
    """The choice of `choose`, and what else to know before it is made.

    Where a static one would have cost less with no more violations, the advice says so.
    """
    choice = choose(played)
    if choice is None:
        return Advice(choose=None, why=("No policy could be measured.",), saves=None)
    chosen = choice.chosen
    return Advice(
        choose=chosen,
        why=(
            _reason(played, choice),
            *_safer(played, choice),
            *_worst(played, choice),
            *_untried(played, chosen),
            *_ties(played, chosen),
            *_beside(played, chosen),
        ),
        saves=1 - cores(played, chosen) / cores(played, STATIC_PEAK),
    )


def beside_recording(advice: Advice, played: TournamentResult, ticks: Sequence[Tick]) -> Advice:
    """The advice with what the choice would have saved of a recorded run, on average over time.

    Of a run that was played in part, that part counts.
    """
    chosen = played.score(advice.choose, "core_seconds") if advice.choose else None
    track = follow([tick for tick in ticks if tick.seen.at <= played.duration + 1e-6])
    if chosen is None or not track.duration:
        return advice
    took, takes = core_seconds(track) / track.duration, chosen.mean / played.duration
    if not took > 0:  # executors were never recorded
        return advice
    comparison = (
        f"The recorded run took {took:.3g} executors on average, and {advice.choose} would take "
        f"{takes:.3g}: {_changed(takes / took - 1)}."
    )
    return replace(advice, why=(*advice.why, comparison))


def _broken(played: TournamentResult, name: str) -> float:
    score = played.score(name, "violations")
    return score.mean if score else 1.0


def _reason(played: TournamentResult, choice: Choice) -> str:
    return (
        f"Choose {choice.chosen}: it {_merit(played, choice)}. It breaks the promise "
        f"{_share(choice.broken[choice.chosen])} and takes {cores(played, choice.chosen):,.0f} "
        "core-seconds a run."
    )


def _merit(played: TournamentResult, choice: Choice) -> str:
    chosen, many, few = choice.chosen, len(choice.broken), len(choice.safe)
    if many == 1:
        return "is the only policy"
    if few == 1:
        margin = f"{_percent(TOLERATED)} of the time"
        return f"has the fewest violations of the {many} policies, by more than {margin}"
    field = (
        f"the {few} that have the fewest violations or hardly more ({_percent(TOLERATED)} of the "
        f"time, {_percent(DOUBTED)} where chance may explain it)"
    )
    if chosen == choice.cheapest:
        return f"is the cheapest of {field}"
    saved = 1 - cores(played, choice.cheapest) / cores(played, chosen)
    return (
        f"has fewer violations than the cheapest of {field}: {choice.cheapest} would save only "
        f"{_percent(saved)} of its core-seconds"
    )


def _safer(played: TournamentResult, choice: Choice) -> list[str]:
    """Who breaks less, and at what price."""
    chosen, safest = choice.chosen, choice.safest
    if choice.broken[safest] >= choice.broken[chosen]:
        return []
    more = cores(played, safest) / cores(played, chosen) - 1
    chance = played.same(safest, chosen, "violations")
    return [
        f"{safest} breaks it {_share(choice.broken[safest])}, for {_percent(more)} more "
        f"core-seconds{'; chance may explain that difference' if chance else ''}."
    ]


def _worst(played: TournamentResult, choice: Choice) -> list[str]:
    """The load on which the choice does worst, where all loads together hide it."""
    scores = {load: played.score(choice.chosen, "violations", load) for load in played.loads}
    known = {load: score.mean for load, score in scores.items() if score}
    load = max(known, key=lambda name: known[name])
    if known[load] <= choice.broken[choice.chosen] + TOLERATED:
        return []
    return [f"On {load} alone it breaks it {_share(known[load])}."]


def _untried(played: TournamentResult, chosen: str) -> list[str]:
    """A policy that never acted has not shown what it can do."""
    acted = played.score(chosen, "reconfigurations")
    if acted is None or acted.mean > 0:
        return []
    return ["It never changed anything: this load does not show how it scales."]


def _ties(played: TournamentResult, chosen: str) -> list[str]:
    """Others that chance may have put behind the choice."""
    others = [name for name in policies(played) if name != chosen]
    equal = [
        name
        for name in others
        if played.same(name, chosen, "violations") and played.same(name, chosen, "core_seconds")
    ]
    cheaper = [
        name
        for name in others
        if name not in equal
        and played.same(name, chosen, "violations")
        and cores(played, name) < cores(played, chosen)
    ]
    seeds = f"{count_of(len(played.seeds), 'seed')}"
    caveats = [f"{joined(equal)} cannot be distinguished from it with {seeds}."] if equal else []
    if len(played.seeds) == 1:
        caveats.append("One seed cannot separate merit from chance; use more seeds.")
    if cheaper:
        caveats.append(
            f"{joined(cheaper)} cost{'s' * (len(cheaper) == 1)} less, and with {seeds} chance may "
            f"explain the violations that {'it has' if len(cheaper) == 1 else 'they have'} more; "
            "more seeds would show."
        )
    return caveats


def _beside(played: TournamentResult, chosen: str) -> list[str]:
    """What it saves, and what there is left to save."""
    mine, peak, best = (cores(played, name) for name in (chosen, STATIC_PEAK, CLAIRVOYANT))
    return [
        _against_peak(played, chosen, mine / peak - 1),
        *(_static(played, n) for n in (STATIC_PEAK, STATIC_MEAN) if _beats(played, n, chosen)),
        f"The clairvoyant, which no policy can be, needs {best:,.0f} to break it "
        f"{_share(_broken(played, CLAIRVOYANT))}: {_changed(best / mine - 1)} than {chosen}.",
    ]


def _beats(played: TournamentResult, name: str, chosen: str) -> bool:
    """Whether it would have been better, or safer for little more."""
    price, broken = cores(played, name), _broken(played, name)
    cheaper = price < cores(played, chosen) and broken <= _broken(played, chosen)
    safer = broken < _broken(played, chosen) and (1 - WORTH) * price < cores(played, chosen)
    return cheaper or safer


def _static(played: TournamentResult, name: str) -> str:
    return (
        f"{name} would have done with {cores(played, name):,.0f} and broken it "
        f"{_share(_broken(played, name))}, by degrees that were chosen with the load known."
    )


def _against_peak(played: TournamentResult, chosen: str, change: float) -> str:
    costs = [played.score(name, "money") for name in (chosen, STATIC_PEAK)]
    paid = " and ".join(f"{cost.mean:.3g}" for cost in costs if cost)
    less = f"saves {percent(abs(change), '.0f')} of the core-seconds"
    more = f"costs {percent(change, '.0f')} more core-seconds"
    return (
        f"Against static-peak it {less if change <= 0 else more}; they cost {paid} a run at "
        f"{played.prices.executor_hour:g} an executor-hour."
    )


def _changed(share: float) -> str:
    return f"{percent(abs(share), '.0f')} {'less' if share <= 0 else 'more'}"


def _share(broken: float) -> str:
    return "never" if broken == 0 else f"{_percent(broken)} of the time"


def _percent(share: float) -> str:
    return percent(share, ".2g" if share < 0.995 else ".0f")
