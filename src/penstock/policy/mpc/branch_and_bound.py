"""The paper's search of the evolution tree (mpc, Section 3.3.2), kept to check the other one.

A node's subtree is explored if the cost of reaching the node is under that of the best course so
far. Children are tried in the order that breaks ties, so that both searches give one answer.

>>> from penstock.policy.mpc.horizon import solve
>>> draw = np.random.default_rng(7)
>>> costs, apart = draw.random((3, 20)), draw.random((20, 20))
>>> problem = Problem(stages=costs, switching=apart, start=apart[4], current=4)
>>> found = branch_and_bound(problem)
>>> found.choices == solve(problem).choices, found.looked_at < 20**3
(True, True)
"""

from dataclasses import dataclass, field
from math import inf

import numpy as np

from penstock.policy.mpc.horizon import Costs, Problem, Trajectory, ended


def branch_and_bound(problem: Problem) -> Trajectory:
    """The best course, and how many whole courses were looked at (mpc, Tab. 5)."""
    search = _Search(problem.exact)
    search.explore((), 0.0)
    return ended(problem, search.choices, looked_at=search.courses)


@dataclass
class _Search:
    exact: Problem
    least: float = inf
    choices: tuple[int, ...] | None = None
    courses: int = 0
    _orders: dict[int | None, list[int]] = field(default_factory=dict)

    def explore(self, path: tuple[int, ...], spent: float) -> None:
        """Try every configuration after those of a path."""
        here = path[-1] if path else self.exact.current
        moving = self.exact.switching[path[-1]] if path else self.exact.start
        reached = spent + moving + self.exact.stages[len(path)]
        if len(path) + 1 == len(self.exact.stages):
            self._finish(path, reached, here)
            return
        for option in self._order(here):
            if reached[option] < self.least:
                self.explore((*path, option), float(reached[option]))

    def _finish(self, path: tuple[int, ...], reached: Costs, here: int | None) -> None:
        """Look at all leaves of a node; the first of equals in the order wins."""
        self.courses += len(reached)
        best = int(np.argmin(reached))
        if here is not None and reached[here] == reached[best]:
            best = here
        if reached[best] < self.least:
            self.least, self.choices = float(reached[best]), (*path, best)

    def _order(self, here: int | None) -> list[int]:
        if here not in self._orders:
            everything = range(self.exact.size[1])
            first = [] if here is None else [here]
            self._orders[here] = first + [option for option in everything if option != here]
        return self._orders[here]
