"""A verdict on each module or region, and one decision from all of them.

>>> counter = ModuleState("counter", ModuleReading(), 3)
>>> splitter = ModuleState("splitter", ModuleReading(), 2)
>>> decision([counter.move(4, "92 % busy"), splitter.hold("61 % busy")]).why
'counter 92 % busy: 3 -> 4; splitter holds at 2, 61 % busy'
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import inf, isnan

from penstock.core.signals import Configuration, Decision, ModuleReading, Observation
from penstock.core.words import count_of, percent
from penstock.policy.common.degrees import in_force
from penstock.policy.common.rebalance import Move, Rebalancer
from penstock.policy.common.sentences import change


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


@dataclass(frozen=True, slots=True)
class ModuleState:
    """A module to be judged: its name, what was measured, and the degree in force.

    >>> counter = ModuleState("counter", ModuleReading(running=2), 3)
    >>> counter.hold("utilisation unknown").why
    'counter holds at 3, utilisation unknown'
    >>> counter.move(4, "92 % busy, above 90 %").why
    'counter 92 % busy, above 90 %: 3 -> 4'
    >>> counter.wait().why
    'counter holds at 3, 1 executor still to come'
    """

    name: str
    reading: ModuleReading
    degree: int

    @property
    def coming(self) -> int:
        """Executors asked for that do not run yet, negative where more run; 0 where unknown."""
        return 0 if self.reading.running is None else self.degree - self.reading.running

    def hold(self, why: str) -> Verdict:
        """It keeps its degree."""
        text = f"{self.name} holds at {self.degree}, {why}"
        return Verdict(name=self.name, before=self.degree, after=self.degree, why=text)

    def move(self, after: int, why: str, expects: Mapping[str, float] | None = None) -> Verdict:
        """It changes its degree, unless it has that many."""
        if after == self.degree:
            return self.hold(why)
        return Verdict(
            name=self.name,
            before=self.degree,
            after=after,
            why=f"{self.name} {why}: {change(self.degree, after)}",
            expects=expects or {},
        )

    def wait(self) -> Verdict:
        """It waits for requested executors."""
        return self.hold(f"{count_of(self.coming, 'executor')} still to come")


Judge = Callable[[ModuleState], Verdict]


def judged(seen: Observation, judge: Judge) -> list[Verdict]:
    """A verdict on each module that was seen; one without a degree to keep is left alone.

    >>> from penstock.testing import seen
    >>> [verdict.why for verdict in judged(seen(counter={"running": 0}), ModuleState.wait)]
    ['counter is left alone, no executor of it runs']
    """
    known = in_force(seen)
    return [
        judge(ModuleState(name, reading, known[name])) if name in known else _alone(name, reading)
        for name, reading in seen.modules.items()
    ]


def _alone(name: str, reading: ModuleReading) -> Verdict:
    known = (reading.requested, reading.wanted, reading.running)
    asked = next((n for n in known if n is not None), None)
    why = "its executors are unknown"
    if asked == 0:
        why = "no executor of it is asked for" if reading.running else "no executor of it runs"
    return Verdict(name=name, why=f"{name} is left alone, {why}")


def by_utilisation(module: ModuleState, max_utilisation: float, scale_in_factor: float) -> Verdict:
    """One executor more for a module that is too busy, one fewer where the rest would cope.

    A module waits for pending executors before it asks for more, does without them
    once it can, and keeps what it has while its utilisation is unknown: e2df, Section 7.1. Both
    `threshold` and `warm-start` decide by it.

    >>> splitter = ModuleState("splitter", ModuleReading(utilisation=0.82, running=2), 2)
    >>> by_utilisation(splitter, max_utilisation=0.75, scale_in_factor=0.75).why
    'splitter 82 % busy, above 75 %: 2 -> 3'
    """
    running, utilisation, degree = module.reading.running, module.reading.utilisation, module.degree
    if running is None:
        return module.hold("running executors unknown")
    if utilisation is None or isnan(utilisation):
        return module.hold("utilisation unknown")
    now, busy = f"{percent(utilisation)} busy", utilisation * running
    limit, rest = scale_in_factor * max_utilisation, busy / (degree - 1) if degree > 1 else inf
    if utilisation <= max_utilisation and rest < limit:
        why = f"{now}, would be {percent(rest)} on {degree - 1}, under {percent(limit)}"
        return module.move(degree - 1, why, {"utilisation": min(rest, 1.0)})
    if module.coming > 0:
        return module.wait()
    if utilisation <= max_utilisation:
        return module.hold(now)
    more = {"utilisation": min(busy / (degree + 1), 1.0)}
    return module.move(degree + 1, f"{now}, above {percent(max_utilisation)}", more)


def decision(
    verdicts: Iterable[Verdict],
    moves: Mapping[str, Move] | None = None,
    frequency: float | None = None,
) -> Decision:
    """One decision from the verdicts on all modules; changes are worded first."""
    settled, moves = list(verdicts), moves or {}
    worded = sorted(settled, key=lambda v: not (v.changes or v.name in moves))
    clauses = (_clause(v, moves.get(v.name)) for v in worded)
    return Decision(
        configuration=Configuration(
            degrees={v.name: v.after for v in settled if v.after is not None},
            routing={name: move.routing for name, move in moves.items()},
            frequency=frequency,
        ),
        why="; ".join(clauses) or "no module was seen",
        expects={f"{k}:{v.name}": value for v in settled for k, value in v.expects.items()},
    )


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
    settled, moves = list(verdicts), dict[str, Move]()
    for verdict in settled:
        reading = seen.modules[verdict.name]
        keyed = reading.keys is not None or reading.routing is not None
        if keyed and verdict.before is not None and verdict.after is not None:
            move = rebalancers.setdefault(verdict.name, Rebalancer())(
                reading,
                degree=verdict.before,
                after=verdict.after,
                clock=seen.frequency,
                next_clock=frequency,
            )
            moves |= {} if move is None else {verdict.name: move}
    return decision(settled, moves, frequency)


def _clause(verdict: Verdict, move: Move | None) -> str:
    text = verdict.why
    if move is not None:
        text += f", moving {percent(move.share, '.0f')} of the keys"
        if move.uneven == inf:
            text += ", as a replica has nothing to do"
        elif move.uneven is not None:
            text += f", as the busiest replica has {move.uneven:.3g} times the idlest one's load"
    return text if verdict.caveat is None else f"{text}; {verdict.caveat}"
