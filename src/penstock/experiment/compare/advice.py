"""Which policy to choose, and why, in words."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.core.signals import Tick
from penstock.experiment.compare.cost import core_seconds
from penstock.experiment.compare.entrants import CLAIRVOYANT, REFERENCES, STATIC_MEAN, STATIC_PEAK
from penstock.experiment.compare.outcome import Outcome
from penstock.experiment.compare.track import follow


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


def advise(played: Outcome) -> Advice:
    """The cheapest of those with the fewest violations, over all loads together.

    Static ones are not chosen, because their degrees were found with the load known; where one
    would have cost less with no more violations, that is told.
    """
    known = {n: s.mean for n in _policies(played) if (s := played.score(n, "violations"))}
    if not known:
        return Advice(choose=None, why=("No policy could be measured.",), saves=None)
    least = min(known.values())
    safe = [name for name, broken in known.items() if broken <= least + 1e-9]
    chosen = min(safe, key=lambda name: _cores(played, name))
    saves = 1 - _cores(played, chosen) / _cores(played, STATIC_PEAK)
    more = (*_ties(played, chosen), *_beside(played, chosen))
    return Advice(
        choose=chosen,
        why=(_reason(played, chosen, least, safe), *more),
        saves=saves,
    )


def beside_recording(advice: Advice, played: Outcome, ticks: Sequence[Tick]) -> Advice:
    """The advice with what the choice would have saved of a recorded run, on average over time."""
    chosen = played.score(advice.choose, "core_seconds") if advice.choose else None
    track = follow(ticks)
    if chosen is None or not track.duration:
        return advice
    took, takes = core_seconds(track) / track.duration, chosen.mean / played.duration
    change = 100 * (takes / took - 1)
    told = (
        f"The recorded run took {took:.3g} executors on average and {advice.choose} would take "
        f"{takes:.3g}: {abs(change):.0f} % {'less' if change <= 0 else 'more'}."
    )
    return replace(advice, why=(*advice.why, told))


def _policies(played: Outcome) -> list[str]:
    return [name for name in played.eligible if name not in REFERENCES]


def _cores(played: Outcome, name: str) -> float:
    found = played.score(name, "core_seconds")
    return found.mean if found else float("inf")


def _broken(played: Outcome, name: str) -> float:
    found = played.score(name, "violations")
    return found.mean if found else 1.0


def _reason(played: Outcome, chosen: str, least: float, safe: list[str]) -> str:
    broken = "no violations" if least == 0 else f"the fewest violations ({100 * least:.2g} %)"
    many = len(_policies(played))
    alone = f"alone of the {many} policies has {broken}" if many > 1 else f"has {broken}"
    among = f"is the cheapest of the {len(safe)} with {broken}"
    why = alone if len(safe) == 1 else among
    return f"Choose {chosen}: it {why}, for {_cores(played, chosen):,.0f} core-seconds a run."


def _ties(played: Outcome, chosen: str) -> list[str]:
    """Others that chance may have put behind the choice."""
    others = [name for name in _policies(played) if name != chosen]
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
        and _cores(played, name) < _cores(played, chosen)
    ]
    seeds = f"{len(played.seeds)} seed{'s' * (len(played.seeds) != 1)}"
    told = [f"{_and(equal)} cannot be told apart from it with {seeds}."] if equal else []
    if cheaper:
        told.append(
            f"{_and(cheaper)} cost{'s' * (len(cheaper) == 1)} less, and with {seeds} chance may "
            f"explain the violations that {'it has' if len(cheaper) == 1 else 'they have'} more; "
            "more seeds would tell."
        )
    return told


def _beside(played: Outcome, chosen: str) -> list[str]:
    """What it saves, and what there is left to save."""
    mine, peak, best = (_cores(played, name) for name in (chosen, STATIC_PEAK, CLAIRVOYANT))
    return [
        _against_peak(played, chosen, mine / peak - 1),
        *(_static(played, n) for n in (STATIC_PEAK, STATIC_MEAN) if _beats(played, n, chosen)),
        f"The clairvoyant, which no policy can be, needs {best:,.0f}: "
        f"{100 * (1 - best / mine):.0f} % less than {chosen}.",
    ]


def _beats(played: Outcome, name: str, chosen: str) -> bool:
    cheaper = _cores(played, name) < _cores(played, chosen)
    return cheaper and _broken(played, name) <= _broken(played, chosen)


def _static(played: Outcome, name: str) -> str:
    return (
        f"{name} would have done with {_cores(played, name):,.0f} and no more violations, by "
        "degrees that were chosen with the load known."
    )


def _against_peak(played: Outcome, chosen: str, change: float) -> str:
    costs = [played.score(name, "money") for name in (chosen, STATIC_PEAK)]
    paid = " and ".join(f"{cost.mean:.3g}" for cost in costs if cost)
    less = f"saves {-100 * change:.0f} % of the core-seconds"
    more = f"costs {100 * change:.0f} % more core-seconds"
    return (
        f"Against static-peak it {less if change <= 0 else more}; they cost {paid} a run at "
        f"{played.prices.executor_hour:g} an executor-hour."
    )


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
