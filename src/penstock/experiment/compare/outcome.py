"""What a tournament comes to: every measure of every policy, with what chance may have moved."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import numpy as np

from penstock.core.words import percent
from penstock.experiment.compare.clairvoyant import Degrees
from penstock.experiment.compare.entrants import CLAIRVOYANT, REFERENCES, Entrant
from penstock.experiment.compare.scores import MEASURES, Scores
from penstock.experiment.compare.track import Prices
from penstock.experiment.results import Interval, interval, rounded
from penstock.pipeline.settings import Part
from penstock.record.measures import Column

FORMAT: Final = 1
"""Version of `compare.json`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Executors over time."""

    at: Column
    running: Column


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What came of a round, by entrant."""

    load: str
    seed: int
    scores: Mapping[str, Scores]
    errors: Mapping[str, str]
    """What a policy raised, by its name; it has no scores then."""
    utilisation: float
    """At which the demand is computed: that of the clairvoyant's plan."""
    found_by: str
    """`search`, or the policy whose plan the clairvoyant took over."""
    statics: Mapping[str, Degrees]
    timelines: Mapping[str, Timeline] = field(default_factory=dict)
    demand: Column = field(default_factory=lambda: np.empty(0))
    """Executors needed in all, in each step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TournamentResult:
    """All rounds, and what was asked."""

    pipeline: str
    on: str
    """`twin` or `spark`."""
    step: float
    duration: float
    promised: float
    seeds: tuple[int, ...]
    guards: str
    prices: Prices
    entrants: tuple[Entrant, ...]
    """Those that were asked for; the three that always take part are not among them."""
    loads: tuple[str, ...]
    rounds: tuple[Played, ...]

    @property
    def all_entrants(self) -> tuple[Entrant, ...]:
        """All rows of a table."""
        always = [Entrant(name=n, part=Part(n), kind="reference") for n in REFERENCES]
        return (*self.entrants, *always)

    @property
    def names(self) -> tuple[str, ...]:
        """Of all rows."""
        return tuple(entrant.name for entrant in self.all_entrants)

    @property
    def all_loads(self) -> tuple[str | None, ...]:
        """Each load, and None for all together where there are several."""
        return (*self.loads, *([None] if len(self.loads) > 1 else []))

    @property
    def eligible(self) -> tuple[str, ...]:
        """Those that could be chosen: no policy can know the future."""
        whole = [name for name in self.names if name != CLAIRVOYANT]
        return tuple(name for name in whole if self.error(name) is None)

    @property
    def ours(self) -> str:
        """The file's own policy, or the first one."""
        owned = [entrant.name for entrant in self.entrants if entrant.kind == "own"]
        return (owned or [self.entrants[0].name])[0]

    def error(self, name: str, load: str | None = None) -> str | None:
        """What a policy raised first; None where it played to the end."""
        return next((one.errors[name] for one in self._of(load) if name in one.errors), None)

    def values(self, name: str, measure: str, load: str | None = None) -> list[float | None]:
        """One value for each seed; over several loads, the mean of theirs.

        None where it could not be measured, or not for all loads.
        """
        by_seed = [
            [one.scores.get(name, {}).get(measure) for one in self._of(load) if one.seed == seed]
            for seed in self.seeds
        ]
        return [_mean(values) for values in by_seed]

    def score(self, name: str, measure: str, load: str | None = None) -> Interval | None:
        """The mean over seeds with its interval; None where no seed has a value."""
        known = [value for value in self.values(name, measure, load) if value is not None]
        return interval(known) if known else None

    def difference(
        self, name: str, other: str, measure: str, load: str | None = None
    ) -> Interval | None:
        """How much more one has than another, seed by seed; None without a pair of measurements."""
        mine, theirs = self.values(name, measure, load), self.values(other, measure, load)
        pairs = [
            a - b for a, b in zip(mine, theirs, strict=True) if a is not None and b is not None
        ]
        return interval(pairs) if pairs else None

    def same(self, name: str, other: str, measure: str, load: str | None = None) -> bool:
        """Whether chance alone may explain the difference."""
        apart = self.difference(name, other, measure, load)
        return apart is not None and holds_zero(apart)

    def best(self, measure: str, load: str | None = None) -> str | None:
        """Who has the least of it, of those that could be chosen."""
        known = {n: s.mean for n in self.eligible if (s := self.score(n, measure, load))}
        return min(known, key=known.__getitem__, default=None)

    def verdicts(self) -> "list[Verdict]":
        """Ours against each of the others, on each load and on all together."""
        others = [entrant.name for entrant in self.entrants if entrant.name != self.ours]
        return [
            dominance(self, self.ours, name, load) for load in self.all_loads for name in others
        ]

    def _of(self, load: str | None) -> list[Played]:
        return [one for one in self.rounds if load in (None, one.load)]

    def to_json(self) -> dict[str, Any]:
        """The stable shape that `docs/compare.md` describes."""
        return {
            "format": FORMAT,
            "pipeline": self.pipeline,
            "on": self.on,
            "step": self.step,
            "duration": self.duration,
            "slo_latency_p95": self.promised,
            "seeds": list(self.seeds),
            "guards": self.guards,
            "price": self.prices.executor_hour,
            "billing": self.prices.billing,
            "measures": {name: asdict(measure) for name, measure in MEASURES.items()},
            "workloads": [self._load_json(load) for load in self.loads],
            "overall": self._rows_json(None),
        }

    def _load_json(self, load: str) -> dict[str, Any]:
        first, *others = self._of(load)
        return {
            "workload": load,
            "rows": self._rows_json(load),
            "clairvoyant": [
                {"seed": one.seed, "utilisation": one.utilisation, "found_by": one.found_by}
                for one in (first, *others)
            ],
            "statics": {name: dict(degrees) for name, degrees in first.statics.items()},
            "timelines": {
                "seed": first.seed,
                "demand": rounded(first.demand),
                "policies": {
                    name: {"at": rounded(line.at), "running": rounded(line.running)}
                    for name, line in first.timelines.items()
                },
            },
        }

    def _rows_json(self, load: str | None) -> list[dict[str, Any]]:
        return [self._row_json(entrant, load) for entrant in self.all_entrants]

    def _row_json(self, entrant: Entrant, load: str | None) -> dict[str, Any]:
        scores = {measure: self.score(entrant.name, measure, load) for measure in MEASURES}
        return {
            "policy": entrant.name,
            "kind": entrant.kind,
            "settings": dict(entrant.part.settings),
            "error": self.error(entrant.name, load),
            "scores": {name: score and score.to_json() for name, score in scores.items()},
            "by_seed": {name: self.values(entrant.name, name, load) for name in MEASURES},
        }


def holds_zero(difference: Interval) -> bool:
    """Whether the interval holds zero; a single run is the same only where nothing differs.

    >>> holds_zero(interval([1.0, -1.0])), holds_zero(interval([1.0])), holds_zero(interval([0.0]))
    (True, False, True)
    """
    return abs(difference.mean) <= (difference.half_width or 0.0) + 1e-12


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


# Whether one policy beats another: less of one evil by a margin, and no more of the other.


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
        """The verdict in words: a policy that only fails to win has not lost."""
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


def dominance(played: TournamentResult, ours: str, theirs: str, load: str | None = None) -> Verdict:
    """The verdict on a pair.

    Ours wins with no more violations and at least 15 % fewer core-seconds, or with no more
    core-seconds and at least 30 % fewer violations; hardly more passes for no more where chance may
    explain it. It ties where the intervals of both paired
    differences hold zero. It loses otherwise: also where it is better by less than that, or where
    neither beats the other by that rule, which the reason then says.
    """

    def judged(verdict: str, why: str, *, even: bool = False) -> Verdict:
        return Verdict(ours=ours, theirs=theirs, load=load, verdict=verdict, why=why, even=even)

    for name, otherwise in ((ours, LOSES), (theirs, WINS)):
        if (error := played.error(name, load)) is not None:
            return judged(otherwise, f"{name} raised {error}")
    broken = pair(played, ours, theirs, "violations", load)
    cores = pair(played, ours, theirs, "core_seconds", load)
    if broken is None or cores is None:
        return judged(TIES, "nothing could be measured of one of them")
    verdict = _judge(broken, cores)
    even = verdict == LOSES and _judge(broken.turned, cores.turned) != WINS
    why = _words(broken, cores) + "; neither beats the other" * even
    return judged(verdict, why, even=even)


def pair(
    played: TournamentResult, ours: str, theirs: str, measure: str, load: str | None
) -> Pair | None:
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
        f"violations {percent(broken.ours)} against {percent(broken.theirs)}"
        f"{', a tie' if broken.same else ''}; core-seconds {cores.ours:,.0f} against "
        f"{cores.theirs:,.0f}{_change(cores)}"
    )


def _change(cores: Pair) -> str:
    if cores.same or not cores.theirs:
        return ", a tie"
    return f" ({percent(cores.ours / cores.theirs - 1, '+.0f')})"
