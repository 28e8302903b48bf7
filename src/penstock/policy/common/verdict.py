"""A verdict on each module or region, and one decision from all of them.

>>> decision([moved("counter", 3, 4, "92 % busy"), held("splitter", 2, "61 % busy")]).why
'counter 92 % busy: 3 -> 4; splitter holds at 2, 61 % busy'
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import inf, isnan
from types import MappingProxyType
from typing import Final

from penstock.core.signals import Configuration, Decision, ModuleReading, Observation
from penstock.core.words import count_of, percent
from penstock.policy.common.degrees import in_force
from penstock.policy.common.rebalance import Move, Rebalancer
from penstock.policy.common.sentences import change, sentence

Judge = Callable[[str, ModuleReading, int], "Verdict"]
"""Judges a module by its name, its reading and the degree in force."""

_NO_MOVES: Final[Mapping[str, Move]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The executors that one module, or the nodes that one region is to have, and why."""

    name: str
    """Of the module or region."""
    why: str
    before: int | None = None
    after: int | None = None
    caveat: str | None = None
    """What else is to be known of it, as text."""
    expects: Mapping[str, float] = field(default_factory=dict)
    """By measure; the name is added."""

    @property
    def changes(self) -> bool:
        """Whether it asks for more or fewer."""
        return self.before != self.after


def changes_first(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Verdicts in the order in which they are worded."""
    return sorted(verdicts, key=lambda verdict: not verdict.changes)


def held(name: str, degree: int, why: str) -> Verdict:
    """A module that keeps its degree.

    >>> held("counter", 3, "utilisation unknown").why
    'counter holds at 3, utilisation unknown'
    """
    return Verdict(name=name, before=degree, after=degree, why=f"{name} holds at {degree}, {why}")


def moved(
    name: str, before: int, after: int, why: str, expects: Mapping[str, float] | None = None
) -> Verdict:
    """A module that changes its degree.

    >>> moved("counter", 3, 4, "92 % busy, above 90 %").why
    'counter 92 % busy, above 90 %: 3 -> 4'
    """
    return Verdict(
        name=name,
        before=before,
        after=after,
        why=f"{name} {why}: {change(before, after)}",
        expects=expects or {},
    )


def still_to_come(name: str, degree: int, coming: int) -> Verdict:
    """A module that waits for requested executors.

    >>> still_to_come("counter", 3, 1).why
    'counter holds at 3, 1 executor still to come'
    """
    return held(name, degree, f"{count_of(coming, 'executor')} still to come")


def left_alone(name: str, reading: ModuleReading) -> Verdict:
    """A module without a degree to keep.

    >>> left_alone("counter", ModuleReading(running=0)).why
    'counter is left alone, no executor of it runs'
    """
    known = (reading.requested, reading.wanted, reading.running)
    asked, running = next((n for n in known if n is not None), None), reading.running
    if asked == 0:
        why = "no executor of it is asked for" if running else "no executor of it runs"
    else:
        why = "its executors are unknown"
    return Verdict(name=name, why=f"{name} is left alone, {why}")


def judged(seen: Observation, judge: Judge) -> list[Verdict]:
    """A verdict on each module that was seen."""
    known = in_force(seen)
    return [
        judge(name, reading, known[name]) if name in known else left_alone(name, reading)
        for name, reading in seen.modules.items()
    ]


@dataclass(frozen=True, slots=True)
class UtilisationRule:
    """One executor more for a module that is too busy, one fewer where the rest would cope.

    A module waits for pending executors before it asks for more, does without them
    once it can, and keeps what it has while its utilisation is unknown: e2df, Section 7.1. Both
    `threshold` and `warm-start` decide by it.

    >>> rule = UtilisationRule(max_utilisation=0.75, scale_in_factor=0.75)
    >>> rule("splitter", ModuleReading(utilisation=0.82, running=2), 2).why
    'splitter 82 % busy, above 75 %: 2 -> 3'
    """

    max_utilisation: float
    scale_in_factor: float

    def __call__(self, name: str, module: ModuleReading, degree: int | None) -> Verdict:
        """Judge one module by its reading and the degree in force."""
        if degree is None:
            return Verdict(name=name, why=f"{name} is left alone, its executors are unknown")
        if module.running is None:
            return held(name, degree, "running executors unknown")
        if module.utilisation is None or isnan(module.utilisation):
            return held(name, degree, "utilisation unknown")
        verdict = self._compare(name, degree, module.utilisation, module.running)
        coming = degree - module.running
        if coming > 0 and verdict.after is not None and verdict.after >= degree:
            return still_to_come(name, degree, coming)
        return verdict

    def _compare(self, name: str, degree: int, utilisation: float, running: int) -> Verdict:
        busy = utilisation * running  # the sum of U_r in e2df, Section 7.1
        rest = busy / (degree - 1) if degree > 1 else inf
        now = f"{percent(utilisation)} busy"
        if utilisation > self.max_utilisation:
            why = f"{now}, above {percent(self.max_utilisation)}"
            return moved(name, degree, degree + 1, why, _utilisation(busy, degree + 1))
        if rest < (limit := self.scale_in_factor * self.max_utilisation):
            why = f"{now}, would be {percent(rest)} on {degree - 1}, under {percent(limit)}"
            return moved(name, degree, degree - 1, why, _utilisation(busy, degree - 1))
        return held(name, degree, now)


def _utilisation(busy: float, executors: int) -> dict[str, float]:
    return {"utilisation": min(busy / executors, 1.0)}


def decision(
    verdicts: Iterable[Verdict],
    moves: Mapping[str, Move] = _NO_MOVES,
    frequency: float | None = None,
) -> Decision:
    """One decision from the verdicts on all modules; changes are worded first.

    >>> decision([held("counter", 3, "utilisation unknown")]).why
    'counter holds at 3, utilisation unknown'
    """
    settled = list(verdicts)
    worded = sorted(settled, key=lambda v: not (v.changes or v.name in moves))
    return Decision(
        configuration=Configuration(
            degrees={v.name: v.after for v in settled if v.after is not None},
            routing={name: move.routing for name, move in moves.items()},
            frequency=frequency,
        ),
        why=sentence((_clause(v, moves.get(v.name)) for v in worded), otherwise=_NOTHING_SEEN),
        expects={f"{k}:{v.name}": value for v in settled for k, value in v.expects.items()},
    )


_NOTHING_SEEN: Final = "no module was seen"


def conclude(
    seen: Observation,
    verdicts: Iterable[Verdict],
    rebalancers: dict[str, Rebalancer],
    frequency: float | None = None,
) -> Decision:
    """One decision from all verdicts, with routing tables for keyed modules.

    >>> from penstock.testing import seen
    >>> verdict = Verdict(name="counter", before=3, after=4, why="counter 92 % busy: 3 -> 4")
    >>> conclude(seen(counter={"running": 3}), [verdict], {}).configuration.degrees
    {'counter': 4}
    """
    settled = list(verdicts)
    tables = {v.name: _move(v, seen, rebalancers, frequency) for v in settled}
    moves = {name: move for name, move in tables.items() if move is not None}
    return decision(settled, moves, frequency)


def _move(
    verdict: Verdict,
    seen: Observation,
    rebalancers: dict[str, Rebalancer],
    frequency: float | None,
) -> Move | None:
    reading = seen.modules[verdict.name]
    keyed = reading.keys is not None or reading.routing is not None
    if not keyed or verdict.before is None or verdict.after is None:
        return None
    rebalancer = rebalancers.setdefault(verdict.name, Rebalancer())
    return rebalancer(
        reading,
        degree=verdict.before,
        after=verdict.after,
        clock=seen.frequency,
        next_clock=frequency,
    )


def _clause(verdict: Verdict, move: Move | None) -> str:
    moving = "" if move is None else f", {_moving(move)}"
    caveat = "" if verdict.caveat is None else f"; {verdict.caveat}"
    return f"{verdict.why}{moving}{caveat}"


def _moving(move: Move) -> str:
    because = "" if move.uneven is None else f", as {_uneven(move.uneven)}"
    return f"moving {percent(move.share, '.0f')} of the keys{because}"


def _uneven(ratio: float) -> str:
    if ratio == inf:
        return "a replica has nothing to do"
    return f"the busiest replica has {ratio:.3g} times the idlest one's load"
