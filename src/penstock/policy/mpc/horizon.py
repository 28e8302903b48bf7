"""The best course over a horizon: a shortest path through the configurations of each step.

What is predicted does not depend on what is decided, so the objective of mpc, Expr. 10, is a cost
of each step's configuration and a cost of each pair of consecutive ones. Dynamic programming finds
the exact optimum in `h * Omega**2` steps, where the paper's tree has `Omega**h` leaves.

>>> cheap_then_dear = np.array([[1.0, 2.0], [9.0, 2.0]])
>>> apart = np.array([[0.0, 1.0], [1.0, 0.0]])
>>> best = solve(Problem(stages=cheap_then_dear, switching=apart, start=apart[0], current=0))
>>> best.choices, best.cost
((0, 1), 4.0)

`branch_and_bound` is the paper's search of the evolution tree (mpc, Section 3.3.2), with which the
other is checked. A node's subtree is explored if the cost of reaching the node is under that of the
best course known. Children are tried in the order that breaks ties, so that both searches give one
answer.

>>> draw = np.random.default_rng(7)
>>> costs, apart = draw.random((3, 20)), draw.random((20, 20))
>>> problem = Problem(stages=costs, switching=apart, start=apart[4], current=4)
>>> searched = branch_and_bound(problem)
>>> searched.choices == solve(problem).choices, searched.explored < 20**3
(True, True)
"""

from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, inf, isfinite, log2
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError

Costs = NDArray[np.float64]

_EXACT_BITS: Final = 52
"""Whole numbers up to two to this power are added without a rounding error."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """What each configuration costs in each step, and each change from one to another.

    Configurations are listed in the order of preference that breaks ties: of the courses that cost
    the least, the best one stays as it is in the first step where they part, or else takes the
    configuration that is listed first. Costs are 0 or more; inf marks what must not be. In a step
    in which nothing may be, the fallback is taken.
    """

    stages: Costs
    """By step and configuration."""
    switching: Costs
    """From one configuration (row) to another (column)."""
    start: Costs
    """To each configuration from the one in force, which need not be listed."""
    current: int | None = None
    """The configuration in force, where it is listed."""
    fallback: int = 0
    """The configuration that has the most capacity."""

    def __post_init__(self) -> None:
        steps, options = np.shape(self.stages)
        if steps < 1 or options < 1:
            raise SettingError(
                f"a horizon needs at least one step and one configuration, got {steps}, {options}"
            )
        if self.switching.shape != (options, options) or self.start.shape != (options,):
            raise SettingError(
                f"switching costs of {options} configurations must be {options} x {options} and "
                f"{options}, got {self.switching.shape} and {self.start.shape}"
            )
        for costs in (self.stages, self.switching, self.start):
            if not (costs >= 0).all():
                raise SettingError("costs must be 0 or more, and a number; use inf to forbid")

    @property
    def size(self) -> tuple[int, int]:
        """Steps and configurations."""
        steps, options = self.stages.shape
        return steps, options

    @cached_property
    def infeasible(self) -> tuple[int, ...]:
        """Steps in which nothing may be."""
        return tuple(np.flatnonzero(~np.isfinite(self.stages).any(axis=1)).tolist())

    @cached_property
    def exact(self) -> "Problem":
        """The same on a grid so coarse that sums have no rounding error: ties stay ties.

        The grid is finer than 1e-12 of the optimum for horizons of up to a thousand steps. What is
        too large for it costs more than the optimum, and cannot be part of it.
        """
        stages = self.stages.copy()
        stages[list(self.infeasible), self.fallback] = 0.0
        rough = replace(self, stages=stages)
        least = float((self.start + _cost_to_go(rough)[0]).min())
        if not 0 < least < inf:
            return rough
        room = ceil(log2(2 * len(self.stages))) + 1
        unit = 2.0 ** (ceil(log2(least)) + room - _EXACT_BITS)
        return replace(
            self,
            stages=_on_grid(rough.stages, unit),
            switching=_on_grid(self.switching, unit),
            start=_on_grid(self.start, unit),
        )

    def cost(self, choices: tuple[int, ...]) -> float:
        """What a course costs in all."""
        total = float(self.start[choices[0]] + self.stages[0, choices[0]])
        for step in range(1, len(choices)):
            before, after = choices[step - 1], choices[step]
            total += float(self.switching[before, after] + self.stages[step, after])
        return total


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """The configuration of each step, what they cost in all, and how long it took to find them."""

    choices: tuple[int, ...]
    cost: float
    """Of the problem as it was put: inf where a step had nothing that may be."""
    explored: int
    """States that were looked at: by dynamic programming a pair of consecutive configurations, in
    the tree a whole course."""
    infeasible: tuple[int, ...] = ()
    """Steps in which nothing may be, and the fallback was taken."""


def solve(problem: Problem) -> Trajectory:
    """The best course, by dynamic programming from the last step to the first."""
    exact = problem.exact
    steps, options = exact.size
    choices = _walk(exact, _cost_to_go(exact))
    return trajectory_of(problem, choices, explored=options + (steps - 1) * options**2)


def trajectory_of(
    problem: Problem, choices: tuple[int, ...] | None, *, explored: int
) -> Trajectory:
    """A search's answer; where no course is possible, the fallback in every step."""
    taken = (problem.fallback,) * len(problem.stages) if choices is None else choices
    return Trajectory(
        choices=taken,
        cost=problem.cost(taken),
        explored=explored,
        infeasible=problem.infeasible if choices else tuple(range(len(problem.stages))),
    )


def _cost_to_go(problem: Problem) -> list[Costs]:
    """For each step, what it costs to be in each configuration and to go on as well as possible."""
    cost_to_go = [problem.stages[-1]]
    for stage in problem.stages[-2::-1]:
        cost_to_go.append(stage + (problem.switching + cost_to_go[-1]).min(axis=1))
    return cost_to_go[::-1]


def _walk(exact: Problem, cost_to_go: list[Costs]) -> tuple[int, ...] | None:
    """From the configuration in force along the least costs, ties by the rule."""
    choices: list[int] = []
    here, moving = exact.current, exact.start
    for rest in cost_to_go:
        total = moving + rest
        best = int(total.argmin())
        if not isfinite(total[best]):
            return None
        if here is not None and total[here] == total[best]:
            best = here
        choices.append(best)
        here, moving = best, exact.switching[best]
    return tuple(choices)


def _on_grid(costs: Costs, unit: float) -> Costs:
    with np.errstate(over="ignore"):  # what overflows is beyond the bound
        return np.round(costs / unit) * unit


def branch_and_bound(problem: Problem) -> Trajectory:
    """The best course, and how many whole courses were looked at (mpc, Tab. 5)."""
    exact = problem.exact
    steps, options = exact.size
    least, choices, looked_at = inf, None, 0

    def explore(path: tuple[int, ...], spent: float) -> None:
        """Try every configuration after those of a path: the one in force, then as listed."""
        nonlocal least, choices, looked_at
        here = path[-1] if path else exact.current
        moving = exact.switching[path[-1]] if path else exact.start
        reached = spent + moving + exact.stages[len(path)]
        if len(path) + 1 < steps:
            first = () if here is None else (here,)
            for option in (*first, *(i for i in range(options) if i != here)):
                if reached[option] < least:
                    explore((*path, option), float(reached[option]))
            return
        looked_at += options
        best = int(np.argmin(reached))
        if here is not None and reached[here] == reached[best]:
            best = here
        if reached[best] < least:
            least, choices = float(reached[best]), (*path, best)

    explore((), 0.0)
    return trajectory_of(problem, choices, explored=looked_at)
