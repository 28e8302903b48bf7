"""What a tournament comes to: every measure of every policy, with what chance may have moved."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from penstock.experiment.compare.cost import Prices
from penstock.experiment.compare.entrants import CLAIRVOYANT, REFERENCES, Entrant
from penstock.experiment.compare.measures import MEASURES
from penstock.experiment.compare.round import Played
from penstock.experiment.interval import Interval, interval
from penstock.experiment.reproduction import rounded
from penstock.pipeline.settings import Part

FORMAT: Final = 1
"""Version of `compare.json`."""
OVERALL: Final = "overall"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
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
    def everybody(self) -> tuple[Entrant, ...]:
        """All rows of a table."""
        always = [Entrant(name=n, part=Part(n), kind="reference") for n in REFERENCES]
        return (*self.entrants, *always)

    @property
    def names(self) -> tuple[str, ...]:
        """Of all rows."""
        return tuple(entrant.name for entrant in self.everybody)

    @property
    def eligible(self) -> tuple[str, ...]:
        """Those that could be chosen: nobody can choose to know the future."""
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
        return [_mean(found) for found in by_seed]

    def score(self, name: str, measure: str, load: str | None = None) -> Interval | None:
        """The mean over seeds with its interval; None where no seed has a value."""
        known = [value for value in self.values(name, measure, load) if value is not None]
        return interval(known) if known else None

    def difference(
        self, name: str, other: str, measure: str, load: str | None = None
    ) -> Interval | None:
        """How much more one has than another, seed by seed; None where nothing can be told."""
        mine, theirs = self.values(name, measure, load), self.values(other, measure, load)
        pairs = [
            a - b for a, b in zip(mine, theirs, strict=True) if a is not None and b is not None
        ]
        return interval(pairs) if pairs else None

    def same(self, name: str, other: str, measure: str, load: str | None = None) -> bool:
        """Whether chance alone may explain the difference."""
        found = self.difference(name, other, measure, load)
        return found is not None and holds_zero(found)

    def best(self, measure: str, load: str | None = None) -> str | None:
        """Who has the least of it, of those that could be chosen."""
        known = [(s.mean, n) for n in self.eligible if (s := self.score(n, measure, load))]
        return min(known, key=lambda found: found[0])[1] if known else None

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
            "measures": {
                name: {"title": one.title, "unit": one.unit, "means": one.means}
                for name, one in MEASURES.items()
            },
            "workloads": [self._load_json(load) for load in self.loads],
            "overall": self._rows_json(None),
        }

    def _load_json(self, load: str) -> dict[str, Any]:
        played = self._of(load)
        return {
            "workload": load,
            "rows": self._rows_json(load),
            "clairvoyant": [
                {"seed": one.seed, "utilisation": one.utilisation, "found_by": one.found_by}
                for one in played
            ],
            "statics": {name: dict(degrees) for name, degrees in played[0].statics.items()},
            "timelines": _timelines(played[0]),
        }

    def _rows_json(self, load: str | None) -> list[dict[str, Any]]:
        return [self._row_json(entrant, load) for entrant in self.everybody]

    def _row_json(self, entrant: Entrant, load: str | None) -> dict[str, Any]:
        found = {name: self.score(entrant.name, name, load) for name in MEASURES}
        return {
            "policy": entrant.name,
            "kind": entrant.kind,
            "settings": dict(entrant.part.settings),
            "error": self.error(entrant.name, load),
            "scores": {name: one.to_json() if one else None for name, one in found.items()},
            "by_seed": {name: self.values(entrant.name, name, load) for name in MEASURES},
        }


def holds_zero(difference: Interval) -> bool:
    """Whether the interval holds zero; a single run is the same only where nothing differs.

    >>> holds_zero(interval([1.0, -1.0])), holds_zero(interval([1.0])), holds_zero(interval([0.0]))
    (True, False, True)
    """
    return abs(difference.mean) <= (difference.half_width or 0.0) + 1e-12


def _timelines(one: Played) -> dict[str, Any]:
    return {
        "seed": one.seed,
        "demand": rounded(one.demand),
        "policies": {
            name: {"at": rounded(line.at), "running": rounded(line.running)}
            for name, line in one.timelines.items()
        },
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None
