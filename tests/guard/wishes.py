"""Policies that propose what a test gives them, and a module that follows a guard at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock.core.roles import Policy
from penstock.core.signals import Configuration, Decision, Observation
from penstock.testing import seen


@dataclass
class Wish:
    """Wants the given degrees of every module, one after another, then the last of them."""

    degrees: Sequence[int]
    expects: Mapping[str, float] = field(default_factory=dict)
    _turn: int = field(default=0, init=False)

    def __call__(self, seen: Observation, /) -> Decision:
        degree = self.degrees[min(self._turn, len(self.degrees) - 1)]
        self._turn += 1
        return Decision(
            configuration=Configuration(degrees=dict.fromkeys(seen.modules, degree)),
            why=f"wishes for {degree}",
            expects=self.expects,
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
    """The degrees of a counter that follows every decision at once."""
    degrees = [start]
    for turn in range(steps):
        degrees.append(counter(guard(seen(at=turn * step, counter={"requested": degrees[-1]}))))
    return degrees
