"""What a policy has to say of each module, put together into one decision.

>>> from penstock.testing import seen
>>> now = seen(counter={"running": 3})
>>> verdict = Verdict(module="counter", before=3, after=4, why="counter 92 % busy: 3 -> 4")
>>> conclude(now, [verdict], {}).configuration.degrees
{'counter': 4}
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import inf

from penstock.core.signals import Configuration, Decision, ModuleReading, Observation
from penstock.policy.common.degrees import in_force, sentence
from penstock.policy.common.rebalance import Move, Rebalancer

Judge = Callable[[str, ModuleReading, int], "Verdict"]
"""Judges a module by its name, its reading and the degree in force."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The degree that one module is to have, and why."""

    module: str
    why: str
    before: int | None = None
    after: int | None = None
    caveat: str | None = None
    """What else is to be known of it, in words."""
    expects: Mapping[str, float] = field(default_factory=dict)
    """By measure; the module's name is added."""

    @property
    def changes(self) -> bool:
        """Whether it asks for another degree."""
        return self.before != self.after


def held(name: str, degree: int, why: str) -> Verdict:
    """A module that keeps its degree.

    >>> held("counter", 3, "utilisation unknown").why
    'counter holds at 3, utilisation unknown'
    """
    return Verdict(module=name, before=degree, after=degree, why=f"{name} holds at {degree}, {why}")


def moved(name: str, before: int, after: int, why: str) -> Verdict:
    """A module that changes its degree.

    >>> moved("counter", 3, 4, "92 % busy, above 90 %").why
    'counter 92 % busy, above 90 %: 3 -> 4'
    """
    return Verdict(
        module=name, before=before, after=after, why=f"{name} {why}: {before} -> {after}"
    )


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
    return Verdict(module=name, why=f"{name} is left alone, {why}")


def judged(seen: Observation, judge: Judge) -> list[Verdict]:
    """A verdict on each module that was seen."""
    known = in_force(seen)
    return [
        judge(name, reading, known[name]) if name in known else left_alone(name, reading)
        for name, reading in seen.modules.items()
    ]


def conclude(
    seen: Observation,
    verdicts: Iterable[Verdict],
    rebalancers: dict[str, Rebalancer],
    frequency: float | None = None,
) -> Decision:
    """One decision from all verdicts, with tables for keyed modules; changes are told first."""
    settled = [(v, _move(v, seen, rebalancers, frequency)) for v in verdicts]
    told = sorted(settled, key=lambda item: not (item[0].changes or item[1]))
    return Decision(
        configuration=Configuration(
            degrees={v.module: v.after for v, _ in settled if v.after is not None},
            routing={v.module: move.routing for v, move in settled if move},
            frequency=frequency,
        ),
        why=sentence((_clause(*item) for item in told), otherwise="no module was seen"),
        expects={f"{k}:{v.module}": value for v, _ in settled for k, value in v.expects.items()},
    )


def _move(
    verdict: Verdict,
    seen: Observation,
    rebalancers: dict[str, Rebalancer],
    frequency: float | None,
) -> Move | None:
    reading = seen.modules[verdict.module]
    keyed = reading.keys is not None or reading.routing is not None
    if not keyed or verdict.before is None or verdict.after is None:
        return None
    rebalancer = rebalancers.setdefault(verdict.module, Rebalancer())
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
    return f"moving {100 * move.share:.0f} % of the keys{because}"


def _uneven(ratio: float) -> str:
    if ratio == inf:
        return "a replica has nothing to do"
    return f"the busiest replica has {ratio:.3g} times the idlest one's load"
