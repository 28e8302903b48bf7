"""The experiments of Section 7: every planner on random graphs, every reading on random trees."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isnan, nan
from statistics import fmean, stdev
from typing import Final

import numpy as np

from penstock.experiment.results import Floats, Interval
from penstock.papers.alloc.adaptation import (
    EVERY,
    HOPS,
    PERTURBATIONS,
    READINGS,
    again,
    once,
    play,
)
from penstock.papers.alloc.graphs import DEPTH, EXACTLY, ORDER, REDUCED, WITHIN, draw_graph
from penstock.papers.alloc.published import SIZES, TREE_SIZES
from penstock.papers.framework import Options, Results, collect
from penstock.policy.allocation import cutting_plane, heuristic_a, heuristic_b, lp
from penstock.policy.allocation.allocation import Allocation
from penstock.policy.allocation.network import Network

Subject = tuple[str, str, int]

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
    followed = {}
    for reading in READINGS:
        first = play(single, reading, hops=HOPS)
        followed[reading.name] = Followed(
            reached=nan if first.reached is None else first.reached,
            course=first.share,
            share=float(play(many, reading, hops=EVERY * PERTURBATIONS).share.mean()),
        )
    return followed


# What is run, and what is measured of it.


SEEDS: Final = 1000
FURTHER: Final = 0.25
"""Share of the seeds with which graphs of all links are drawn, too, which take long."""
BATCH: Final = 25
"""Graphs or trees of a task."""
GOOD: Final = 0.9
"""Share of the optimum above which a plan is counted as good."""
KINDS: Final = (WITHIN, EXACTLY)
"""Of perturbations."""
AFTER: Final = {"in the end": 2 * DEPTH, "later": 3 * DEPTH}
"""Hops after which news of everything has reached the top and its plan everyone, and some more."""

Courses = Mapping[tuple[str, str, int], Floats]
"""Mean share of the optimum at each hop, by perturbation, reading and nodes."""
Measured = Results[Courses]
"""Subjects are planner, kind and nodes of a graph; or perturbation, reading and nodes of a tree."""


def further(options: Options) -> int:
    """Graphs of a row of those with links to all successors."""
    return max(1, round(FURTHER * options.seeds))


def tasks(options: Options) -> Iterator[Task]:
    """What is run: the largest first, so that no worker is left with one in the end."""
    for nodes in reversed(TREE_SIZES):
        for kind in KINDS:
            yield from _batches("trees", nodes, kind, options.seeds)
    for nodes in reversed(SIZES):
        yield from _batches("graphs", nodes, ORDER, further(options))
        yield from _batches("graphs", nodes, REDUCED, options.seeds)


def shorten(_: Task) -> Task:
    """A task that compiles everything."""
    return Task(sort="trees", nodes=2, kind=WITHIN, seeds=(1,))


def _batches(sort: str, nodes: int, kind: str, seeds: int) -> Iterator[Task]:
    for first in range(1, seeds + 1, BATCH):
        batch = range(first, min(first + BATCH, seeds + 1))
        yield Task(sort=sort, nodes=nodes, kind=kind, seeds=batch)


def gather(options: Options, outcomes: Sequence[Outcome]) -> Measured:
    """All values by subject."""
    graphs, trees = collect(_of_graphs(outcomes)), collect(_of_trees(outcomes))
    shares = {subject: values for (subject, name), values in graphs.items() if name == "share"}
    spread = {(s, "spread"): _single(stdev(v) if len(v) > 1 else 0.0, v) for s, v in shares.items()}
    worst = {(subject, "worst"): _single(min(v), v) for subject, v in shares.items()}
    never = {key: _single(fmean(v), v) for key, v in trees.items() if key[1] == "never"}
    return Results(
        options=options,
        measured={**graphs, **spread, **worst, **trees, **never},
        details=_courses(outcomes),
    )


def _single(value: float, values: Sequence[float]) -> Interval:
    """A figure of all together, of which no interval is known."""
    return Interval(value, None, len(values))


def _of_graphs(outcomes: Sequence[Outcome]) -> Iterator[tuple[Subject, dict[str, float]]]:
    for outcome in outcomes:
        for graph in outcome.graphs:
            for planner, plan in graph.plans.items():
                yield (planner, outcome.task.kind, outcome.task.nodes), _quantities(graph, plan)


def _quantities(graph: Graph, plan: Plan) -> dict[str, float]:
    return {
        "edges": graph.edges,
        "sources": graph.sources,
        "sinks": graph.sinks,
        "share": plan.share,
        "good": float(plan.share > GOOD),
        # A question goes up and down, and the best answer is sent once more.
        "iterations": (plan.passes - 1) / 2,
        "passes": plan.passes,
        "messages": plan.messages,
        "once": graph.plans[ONCE].share,
    }


def _of_trees(outcomes: Sequence[Outcome]) -> Iterator[tuple[Subject, dict[str, float]]]:
    """Trees that never get there count with all hops that were looked at."""
    for outcome in outcomes:
        for trees in outcome.trees:
            for reading, tree in trees.items():
                never = isnan(tree.reached)
                hops = {"hops": HOPS if never else tree.reached, "never": float(never)}
                at = {
                    name: float(tree.course[hop]) for name, hop in {"at once": 0, **AFTER}.items()
                }
                subject = (outcome.task.kind, reading, outcome.task.nodes)
                yield subject, {**hops, **at, "share": tree.share}


def _courses(outcomes: Sequence[Outcome]) -> Courses:
    by_subject: dict[Subject, list[Floats]] = {}
    for outcome in outcomes:
        for trees in outcome.trees:
            for reading, tree in trees.items():
                subject = (outcome.task.kind, reading, outcome.task.nodes)
                by_subject.setdefault(subject, []).append(tree.course)
    return {subject: np.mean(courses, axis=0) for subject, courses in by_subject.items()}
