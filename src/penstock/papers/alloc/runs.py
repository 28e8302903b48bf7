"""What is left of some graphs or trees when all was tried on them: what workers hand back."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from math import nan
from typing import Final

import numpy as np

from penstock.experiment.results import Floats
from penstock.papers.alloc.adaptation import (
    EVERY,
    HOPS,
    PERTURBATIONS,
    READINGS,
    Reading,
    again,
    once,
    play,
)
from penstock.papers.alloc.graphs import draw_graph
from penstock.policy.allocation import cutting_plane, heuristic_a, heuristic_b, lp
from penstock.policy.allocation.allocation import Allocation
from penstock.policy.allocation.network import Network

ONCE: Final = "heuristic-a, one round"
"""As the paper has it."""
PLANNERS: Final[Mapping[str, Callable[[Network], Allocation]]] = {
    "heuristic-a": heuristic_a.solve,
    ONCE: partial(heuristic_a.solve, rounds=1),
    "heuristic-b": heuristic_b.solve,
    "cutting-plane": cutting_plane.solve,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a planner made of a graph."""

    share: float
    """Of the optimum."""
    passes: int
    messages: int

    @classmethod
    def of(cls, made: Allocation, optimum: float) -> "Plan":
        """Compare with the optimum."""
        return cls(share=made.value / optimum, passes=made.passes, messages=made.messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """A graph in figures."""

    edges: int
    sources: int
    sinks: int
    plans: Mapping[str, Plan]
    """By planner."""

    @classmethod
    def of(cls, network: Network) -> "Graph":
        """Plan for it in every way."""
        best = lp.solve(network).value
        return cls(
            edges=len(network.links),
            sources=len(network.inflows),
            sinks=len(network.outflows),
            plans={name: Plan.of(plan(network), best) for name, plan in PLANNERS.items()},
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Followed:
    """A tree that was perturbed, under one reading."""

    reached: float
    """The hop at which 95 % were reached; not a number where they never were."""
    course: Floats
    """Share of the optimum at each hop after one perturbation,"""
    share: float
    """and on average under many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Some graphs or trees of a kind, one of each seed."""

    sort: str
    """`graphs` or `trees`."""
    nodes: int
    kind: str
    """Of graph or of perturbation."""
    seeds: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """What came of them."""

    task: Task
    graphs: tuple[Graph, ...] = ()
    trees: tuple[Mapping[str, Followed], ...] = ()
    """By reading."""


def examine(task: Task) -> Outcome:
    """Try all on each of them."""
    if task.sort == "graphs":
        return Outcome(task=task, graphs=tuple(_graph(task, seed) for seed in task.seeds))
    return Outcome(task=task, trees=tuple(_tree(task, seed) for seed in task.seeds))


def _graph(task: Task, seed: int) -> Graph:
    rng = np.random.default_rng([seed, task.nodes])
    return Graph.of(draw_graph(task.nodes, rng, graph=task.kind))


def _tree(task: Task, seed: int) -> dict[str, Followed]:
    single, many = (make(task.nodes, task.kind, seed) for make in (once, again))
    found = {}
    for reading in READINGS:
        first = play(single, reading, hops=HOPS)
        found[reading.name] = Followed(
            reached=nan if first.reached is None else first.reached,
            course=first.share,
            share=float(play(many, reading, hops=EVERY * PERTURBATIONS).share.mean()),
        )
    return found


@dataclass(frozen=True, slots=True)
class Runs:
    """All of them, to be asked what came of a kind."""

    outcomes: Sequence[Outcome]

    def graphs(self, nodes: int, kind: str) -> list[Graph]:
        """Of a size and kind."""
        found = self._of("graphs", nodes, kind)
        return list(chain.from_iterable(outcome.graphs for outcome in found))

    def trees(self, nodes: int, kind: str, reading: Reading) -> list[Followed]:
        """Of a size and kind of perturbation."""
        found = self._of("trees", nodes, kind)
        return [tree[reading.name] for outcome in found for tree in outcome.trees]

    def _of(self, *what: object) -> Iterator[Outcome]:
        for outcome in self.outcomes:
            if (outcome.task.sort, outcome.task.nodes, outcome.task.kind) == what:
                yield outcome
