"""Which policy to choose, and why: the cheapest that keeps the promise as well as any, or nearly.

1. A policy that breaks the promise for more than `TOLERATED` of the time longer than the one that
   breaks it least is out; where chance may explain the difference, for more than `DOUBTED`.
2. Of the others the cheapest is chosen; unless one breaks less than it, by more than chance may
   explain, and the cheapest saves less than `WORTH` of its core-seconds. Then that one is.

A rule that took the fewest violations at any price would pay twice as much for one step of a run.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf
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
        return {**asdict(self), "why": list(self.why)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The policy chosen over all loads together, and what it was chosen from."""

    played: TournamentResult
    policies: Sequence[str]
    """Those that could be chosen: measured, and not static with degrees for a known load."""
    broken: Mapping[str, float]
    """Share of the time in which each entrant broke the promise."""
    cores: Mapping[str, float]
    """Core-seconds of a run of each entrant, on average over loads and seeds."""
    safest: str
    """The policy with the fewest violations, the cheapest of several."""
    safe: Sequence[str]
    """Policies within what is tolerated."""
    cheapest: str
    """Of those."""
    chosen: str

    def same(self, name: str, other: str, measure: str = "violations") -> bool:
        """Whether chance alone may explain the difference."""
        return self.played.same(name, other, measure)

    def saved(self, name: str, other: str) -> float:
        """Share of another's core-seconds that one saves; negative where it takes more."""
        return 1 - self.cores[name] / self.cores[other]


def choose(played: TournamentResult) -> Choice | None:
    """The choice by the rule above; None where no policy could be measured."""
    broken = {n: s.mean if (s := played.score(n, "violations")) else 1.0 for n in played.names}
    cores = {n: s.mean if (s := played.score(n, "core_seconds")) else inf for n in played.names}
    policies = [
        name
        for name in played.eligible
        if name not in REFERENCES and played.score(name, "violations") is not None
    ]
    if not policies:
        return None

    def by_violations(name: str) -> tuple[float, float]:
        return broken[name], cores[name]

    safest = min(policies, key=by_violations)
    safe = [
        name
        for name in policies
        if broken[name] - broken[safest]
        <= (DOUBTED if played.same(name, safest, "violations") else TOLERATED) + 1e-9
    ]
    cheapest = min(safe, key=lambda name: (cores[name], broken[name]))
    better = [
        name
        for name in safe
        if broken[name] < broken[cheapest]
        and not played.same(name, cheapest, "violations")
        and cores[cheapest] > (1 - WORTH) * cores[name]
    ]
    return Choice(
        played=played,
        policies=policies,
        broken=broken,
        cores=cores,
        safest=safest,
        safe=safe,
        cheapest=cheapest,
        chosen=min(better, key=by_violations, default=cheapest),
    )


def advise(played: TournamentResult) -> Advice:
    """The choice of `choose`, and what else to know before it is made.

    Where a static one would have cost less with no more violations, the advice says so.
    """
    choice = choose(played)
    if choice is None:
        return Advice(choose=None, why=("No policy could be measured.",), saves=None)
    sentences = (_reason(choice), *_limits(choice), *_ties(choice), *_beside(choice))
    saves = choice.saved(choice.chosen, STATIC_PEAK)
    return Advice(choose=choice.chosen, why=sentences, saves=saves)


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


def _reason(choice: Choice) -> str:
    return (
        f"Choose {choice.chosen}: it {_merit(choice)}. It breaks the promise "
        f"{_often(choice.broken[choice.chosen])} and takes {choice.cores[choice.chosen]:,.0f} "
        "core-seconds a run."
    )


def _merit(choice: Choice) -> str:
    many, few = len(choice.policies), len(choice.safe)
    if many == 1:
        return "is the only policy"
    margin = f"{_percent(TOLERATED)} of the time"
    if few == 1:
        return f"has the fewest violations of the {many} policies, by more than {margin}"
    safe = (
        f"the {few} that have the fewest violations or hardly more ({margin}, {_percent(DOUBTED)} "
        "where chance may explain it)"
    )
    if choice.chosen == choice.cheapest:
        return f"is the cheapest of {safe}"
    return (
        f"has fewer violations than the cheapest of {safe}: {choice.cheapest} would save only "
        f"{_percent(choice.saved(choice.cheapest, choice.chosen))} of its core-seconds"
    )


def _limits(choice: Choice) -> Iterator[str]:
    """A policy that breaks less, the load on which the choice does worst, and what was not seen."""
    played, broken, chosen, safest = choice.played, choice.broken, choice.chosen, choice.safest
    if broken[safest] < broken[chosen]:
        chance = "; chance may explain that difference" * choice.same(safest, chosen)
        yield (
            f"{safest} breaks it {_often(broken[safest])}, for "
            f"{_percent(-choice.saved(safest, chosen))} more core-seconds{chance}."
        )
    scores = {load: played.score(chosen, "violations", load) for load in played.loads}
    by_load = {load: score.mean for load, score in scores.items() if score}
    worst = max(by_load, key=by_load.__getitem__)
    if by_load[worst] > broken[chosen] + TOLERATED:  # all loads together hide it
        yield f"On {worst} alone it breaks it {_often(by_load[worst])}."
    acted = played.score(chosen, "reconfigurations")
    if acted is not None and acted.mean <= 0:
        yield "It never changed anything: this load does not show how it scales."


def _ties(choice: Choice) -> Iterator[str]:
    """Others that chance may have put behind the choice."""
    chosen, seeds = choice.chosen, count_of(len(choice.played.seeds), "seed")
    others = [name for name in choice.policies if name != chosen and choice.same(name, chosen)]
    equal = [name for name in others if choice.same(name, chosen, "core_seconds")]
    cheaper = [n for n in others if n not in equal and choice.cores[n] < choice.cores[chosen]]
    if equal:
        yield f"{joined(equal)} cannot be distinguished from it with {seeds}."
    if len(choice.played.seeds) == 1:
        yield "One seed cannot separate merit from chance; use more seeds."
    if cheaper:
        cost, have = ("costs", "it has") if len(cheaper) == 1 else ("cost", "they have")
        yield (
            f"{joined(cheaper)} {cost} less, and with {seeds} chance may explain the violations "
            f"that {have} more; more seeds would show."
        )


def _beside(choice: Choice) -> Iterator[str]:
    """What it saves against static policies, and what there is left to save."""
    played, broken, cores, chosen = choice.played, choice.broken, choice.cores, choice.chosen
    paid = [score.mean for n in (chosen, STATIC_PEAK) if (score := played.score(n, "money"))]
    saved = choice.saved(chosen, STATIC_PEAK)
    less = f"saves {percent(saved, '.0f')} of the core-seconds"
    more = f"costs {percent(-saved, '.0f')} more core-seconds"
    yield (
        f"Against static-peak it {less if saved >= 0 else more}; they cost "
        f"{' and '.join(f'{cost:.3g}' for cost in paid)} a run at "
        f"{played.prices.executor_hour:g} an executor-hour."
    )
    for name in (STATIC_PEAK, STATIC_MEAN):
        cheaper = cores[name] < cores[chosen] and broken[name] <= broken[chosen]
        safer = broken[name] < broken[chosen] and (1 - WORTH) * cores[name] < cores[chosen]
        if cheaper or safer:
            yield (
                f"{name} would have done with {cores[name]:,.0f} and broken it "
                f"{_often(broken[name])}, by degrees that were chosen with the load known."
            )
    yield (
        f"The clairvoyant, which no policy can be, needs {cores[CLAIRVOYANT]:,.0f} to break it "
        f"{_often(broken[CLAIRVOYANT])}: {_changed(-choice.saved(CLAIRVOYANT, chosen))} than "
        f"{chosen}."
    )


def _changed(share: float) -> str:
    return f"{percent(abs(share), '.0f')} {'less' if share <= 0 else 'more'}"


def _often(broken: float) -> str:
    return "never" if broken == 0 else f"{_percent(broken)} of the time"


def _percent(share: float) -> str:
    return percent(share, ".2g" if share < 0.995 else ".0f")
