"""Whether one policy beats another: less of one evil by a margin, and no more of the other."""

from dataclasses import dataclass, replace
from typing import Any, Final

from penstock.experiment.compare.outcome import Outcome, holds_zero
from penstock.experiment.interval import Interval

FEWER_CORE_SECONDS: Final = 0.15
FEWER_VIOLATIONS: Final = 0.30
DOUBTED_VIOLATIONS: Final = 0.005
"""Share of the time by which violations may be more where chance may explain it: with few seeds it
may explain almost anything."""
DOUBTED_CORE_SECONDS: Final = 0.05
"""The same as a share of the others' core-seconds."""

WINS, TIES, LOSES = "wins", "ties", "loses"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How ours does against theirs, on one load or on all."""

    ours: str
    theirs: str
    load: str | None
    """None for all loads together."""
    verdict: str
    """`wins`, `ties` or `loses`."""
    why: str
    even: bool = False
    """Whether it loses only in that it does not win: theirs would not win against ours either."""

    @property
    def words(self) -> str:
        """The verdict as people say it: whoever only fails to win has not lost."""
        return f"{'is even with' if self.even else f'{self.verdict} against'} {self.theirs}"

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "ours": self.ours,
            "theirs": self.theirs,
            "workload": self.load,
            "verdict": self.verdict,
            "even": self.even,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One measure of both, and how much more ours has, seed by seed."""

    ours: float
    theirs: float
    difference: Interval
    doubted: float = 0.0
    """What ours may have more where chance may explain it."""

    @property
    def turned(self) -> "Pair":
        """The same as they see it."""
        back = replace(self.difference, mean=-self.difference.mean)
        return replace(self, ours=self.theirs, theirs=self.ours, difference=back)

    @property
    def same(self) -> bool:
        """Whether chance alone may explain the difference."""
        return holds_zero(self.difference)

    @property
    def no_more(self) -> bool:
        """Whether ours has less, or hardly more and chance may explain it."""
        more = self.difference.mean
        return more <= 0 or (self.same and more <= self.doubted + 1e-12)

    def fewer_by(self, share: float) -> bool:
        """Whether ours has so much less that chance does not explain it."""
        return self.theirs > 0 and not self.same and self.ours <= (1 - share) * self.theirs + 1e-12


def dominance(played: Outcome, ours: str, theirs: str, load: str | None = None) -> Verdict:
    """The verdict on a pair.

    Ours wins with no more violations and at least 15 % fewer core-seconds, or with no more
    core-seconds and at least 30 % fewer violations; hardly more passes for no more where chance may
    explain it. It ties where the intervals of both paired
    differences hold zero. It loses otherwise: also where it is better by less than that, or where
    neither beats the other by that rule, which the reason then says.
    """

    def told(verdict: str, why: str, *, even: bool = False) -> Verdict:
        return Verdict(ours=ours, theirs=theirs, load=load, verdict=verdict, why=why, even=even)

    for name, otherwise in ((ours, LOSES), (theirs, WINS)):
        if (error := played.error(name, load)) is not None:
            return told(otherwise, f"{name} raised {error}")
    broken = pair(played, ours, theirs, "violations", load)
    cores = pair(played, ours, theirs, "core_seconds", load)
    if broken is None or cores is None:
        return told(TIES, "nothing could be measured of one of them")
    verdict = _judge(broken, cores)
    even = verdict == LOSES and _judge(broken.turned, cores.turned) != WINS
    why = _words(broken, cores) + "; neither beats the other" * even
    return told(verdict, why, even=even)


def pair(played: Outcome, ours: str, theirs: str, measure: str, load: str | None) -> Pair | None:
    """One measure of both; None where it is unknown of one."""
    mine, other = (played.score(name, measure, load) for name in (ours, theirs))
    difference = played.difference(ours, theirs, measure, load)
    if mine is None or other is None or difference is None:
        return None
    doubted = DOUBTED_VIOLATIONS if measure == "violations" else DOUBTED_CORE_SECONDS * other.mean
    return Pair(ours=mine.mean, theirs=other.mean, difference=difference, doubted=doubted)


def _judge(broken: Pair, cores: Pair) -> str:
    cheaper = broken.no_more and cores.fewer_by(FEWER_CORE_SECONDS)
    safer = cores.no_more and broken.fewer_by(FEWER_VIOLATIONS)
    if cheaper or safer:
        return WINS
    return TIES if broken.same and cores.same else LOSES


def _words(broken: Pair, cores: Pair) -> str:
    return (
        f"violations {_share(broken.ours)} against {_share(broken.theirs)}"
        f"{', a tie' if broken.same else ''}; core-seconds {cores.ours:,.0f} against "
        f"{cores.theirs:,.0f}{_change(cores)}"
    )


def _share(value: float) -> str:
    return f"{100 * value:.3g} %"


def _change(cores: Pair) -> str:
    if cores.same or not cores.theirs:
        return ", a tie"
    return f" ({100 * (cores.ours / cores.theirs - 1):+.0f} %)"
