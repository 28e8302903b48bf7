"""The cheapest plan that keeps the promise, made with the whole load known.

How it is found, for one load and one seed:

1. For a utilisation `u` and a window `w`, each module's plan for a step is the largest degree that
   its rate needs, at `u` busy, in any step until the executors that the next step could ask for are
   there: `[t, t + step + start_up)`. The rate of a step is its mean with the steps of `w` before
   it, because rows may wait as long as was promised.
2. For each window the highest `u` of a grid is sought, on the twin itself, whose plan breaks no
   promise; the cheapest of these plans is kept. Where there is none, the one that breaks least is.
3. Stretches of the plan are lowered by one executor, the dearest first, where the twin says that no
   more is broken, as often as `tries` allows.
4. Plans of others, such as what a policy did under the same load, are taken where they are better.

The plan knows the rows that will come and is tried on the twin that it is then measured on, so no
policy of the tournament does better: 4 sees to that. That is all it is: the best plan *found*, a
lower bound on the cost of what was tried and not of what could be. Its degrees begin with the first
step, while policies begin with the degrees of the file.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil
from typing import Final

import numpy as np

from penstock.core.graph import FlowGraph
from penstock.core.signals import Configuration, Decision, Observation
from penstock.experiment.compare.track import demand, smoothed
from penstock.record.measures import Column

Degrees = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Schedule:
    """A policy that follows a plan: the degrees to ask for at the start of each step.

    >>> from penstock.testing import seen
    >>> plan = Schedule(({"count": 1}, {"count": 3}), step=2.0)
    >>> plan(seen(at=2.0, count={"running": 1})).configuration.degrees
    {'count': 3}
    """

    plan: tuple[Degrees, ...]
    """The first are in force before the first step."""
    step: float

    def __call__(self, seen: Observation, /) -> Decision:
        """What was planned for this moment."""
        turn = min(round(seen.at / self.step), len(self.plan) - 1)
        degrees = {name: n for name, n in self.plan[turn].items() if name in seen.modules}
        why = f"step {turn + 1} of a plan made with the whole load known"
        return Decision(configuration=Configuration(degrees=degrees), why=why)

    @property
    def price(self) -> float:
        """Executors that it asks for, over time."""
        return self.step * sum(sum(degrees.values()) for degrees in self.plan)


def deployed(graph: FlowGraph, degrees: Degrees) -> FlowGraph:
    """The graph whose modules begin with these degrees.

    >>> from penstock.core.graph import Module
    >>> graph = FlowGraph(source="count", modules=(Module(name="count"),))
    >>> deployed(graph, {"count": 3})["count"].initial_replicas
    3
    """
    modules = [
        replace(module, initial_replicas=degrees.get(module.name, module.initial_replicas))
        for module in graph.modules
    ]
    return replace(graph, modules=tuple(modules))


GRID: Final = (0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0, 1.1, 1.25)
"""Utilisations from the safest on; above 1 where rows can wait until the load has passed."""
WINDOWS: Final = (0.0, 0.25, 0.5)
"""Shares of the promise for which the rate is averaged."""
TRIES: Final = 40
"""Plans that are tried on the twin once a first one has been found."""

Cost = tuple[float, float]
"""Share of the time in which the promise was broken, and executors over time: less is better."""
Trial = Callable[[Schedule], Cost]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A plan, what it costs, and where it comes from."""

    schedule: Schedule
    cost: Cost
    by: str
    """`search`, or the policy that did so first."""
    utilisation: float
    """Of the plan that the search began with; demand is computed at this, or at 1 if it is more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is known beforehand."""

    graph: FlowGraph
    rates: Column
    """Rows a second at the source in each step."""
    step: float
    promised: float

    def plan(self, utilisation: float, window: float) -> Schedule:
        """The plan of a utilisation and a window in seconds."""
        rates = smoothed(self.rates, 1 + int(window / self.step))
        columns = {
            name: _ahead(needed, 1 + ceil(self.graph[name].start_up / self.step - 1e-9))
            for name, needed in demand(self.graph, rates, utilisation).items()
        }
        turns = range(len(self.rates))
        plan = tuple({name: int(column[t]) for name, column in columns.items()} for t in turns)
        return Schedule(plan, self.step)


def search(problem: Problem, trial: Trial, *, tries: int = TRIES) -> Candidate:
    """The best plan that the search finds on its own."""
    windows = dict.fromkeys(share * problem.promised for share in WINDOWS)
    best = min((_busiest(problem, trial, w) for w in windows), key=lambda plan: plan.cost)
    return trimmed(best, problem.graph, trial, tries=tries)


def _busiest(problem: Problem, trial: Trial, window: float) -> Candidate:
    """The highest utilisation that breaks no more than the safest does, by bisection."""

    def candidate(index: int) -> Candidate:
        plan = problem.plan(GRID[index], window)
        return Candidate(schedule=plan, cost=trial(plan), by="search", utilisation=GRID[index])

    best = candidate(0)
    low, high = 0, len(GRID)
    while high - low > 1:
        middle = (low + high) // 2
        other = candidate(middle)
        if other.cost[0] <= best.cost[0]:
            low, best = middle, other
        else:
            high = middle
    return best


def trimmed(best: Candidate, graph: FlowGraph, trial: Trial, *, tries: int) -> Candidate:
    """The plan with fewer executors wherever the twin can do without them."""
    refused: set[tuple[str, int, int, int]] = set()
    while tries > 0:
        for cut in _cuts(best.schedule, graph):
            if cut in refused:
                continue
            tries -= 1
            plan = _lowered(best.schedule, cut)
            cost = trial(plan)
            if cost <= best.cost:
                best = replace(best, schedule=plan, cost=cost)
                break
            refused.add(cut)
            if tries <= 0:
                break
        else:
            break
    return best


def better(best: Candidate, others: Iterable[tuple[str, Schedule]], trial: Trial) -> Candidate:
    """The plan, or that of another where it breaks less, or as much for less."""
    for name, plan in others:
        cost = trial(plan)
        if cost < best.cost:
            best = replace(best, schedule=plan, cost=cost, by=name)
    return best


def _ahead(needed: Column, steps: int) -> Column:
    """The most that is needed in each step or one of the next, so many in all."""
    padded = np.concatenate([needed, np.repeat(needed[-1:], steps)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, steps)
    most: Column = windows[: len(needed)].max(axis=1)
    return most


def _cuts(schedule: Schedule, graph: FlowGraph) -> list[tuple[str, int, int, int]]:
    """Stretches of a module's plan above its least, whole and halved, the longest first."""
    cuts = [
        (module.name, first, last, degree)
        for module in graph.modules
        for degree, first, last in _parts([one[module.name] for one in schedule.plan])
        if degree > module.min_replicas
    ]
    return sorted(cuts, key=lambda cut: cut[1] - cut[2])


def _parts(degrees: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Every stretch of the same degree, and its halves."""
    edges = [0, *(np.flatnonzero(np.diff(degrees)) + 1).tolist(), len(degrees)]
    for first, last in pairwise(edges):
        yield degrees[first], first, last
        middle = (first + last) // 2
        if first < middle:
            yield degrees[first], first, middle
            yield degrees[first], middle, last


def _lowered(schedule: Schedule, cut: tuple[str, int, int, int]) -> Schedule:
    name, first, last, degree = cut
    plan = tuple(
        {**degrees, name: degree - 1} if first <= turn < last else degrees
        for turn, degrees in enumerate(schedule.plan)
    )
    return Schedule(plan, schedule.step)
