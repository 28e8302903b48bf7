"""Policies that want what a test tells them to, and counters that do as they are told."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.core.roles import Policy
from penstock.core.signals import Configuration, Decision, Observation
from penstock.testing import seen


@dataclass
class Wish:
    """Wants the given degrees of every module, one after another, then the last of them."""

    degrees: Sequence[int]
    _turn: int = field(default=0, init=False)

    def __call__(self, seen: Observation, /) -> Decision:
        degree = self.degrees[min(self._turn, len(self.degrees) - 1)]
        self._turn += 1
        return Decision(
            configuration=Configuration(degrees=dict.fromkeys(seen.modules, degree)),
            why=f"wishes for {degree}",
        )


@dataclass
class WishEach:
    """Wants the given degree of each module."""

    degrees: dict[str, int]

    def __call__(self, seen: Observation, /) -> Decision:
        return Decision(configuration=Configuration(degrees=dict(self.degrees)), why="wishes")


def counter(decided: Decision) -> int:
    return decided.configuration.degrees["counter"]


def followed(guard: Policy, start: int, steps: int, step: float = 1.0) -> list[int]:
    """The degrees of a counter that does at once what it is told."""
    degrees = [start]
    for turn in range(steps):
        degrees.append(counter(guard(seen(at=turn * step, counter={"requested": degrees[-1]}))))
    return degrees
