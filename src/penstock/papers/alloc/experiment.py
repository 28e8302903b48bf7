"""The experiments of Section 7: every planner on random graphs, every reading on random trees."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean, stdev
from typing import Final

import numpy as np

from penstock.experiment.results import Interval
from penstock.papers.alloc.adaptation import (
    EVERY,
    HOPS,
    PERTURBATIONS,
    READINGS,
    Course,
    again,
    once,
    play,
)
from penstock.papers.alloc.graphs import DEPTH, EXACTLY, ORDER, REDUCED, WITHIN, draw_graph
from penstock.papers.data import published
from penstock.papers.framework import Collected, Options, Results, Run, Values
from penstock.policy.allocation import cutting_plane, heuristic_a, heuristic_b, lp
from penstock.policy.allocation.allocation import Allocation
from penstock.policy.allocation.network import Network

PUBLISHED: Final = published(__package__)
ONCE: Final = "heuristic-a, one round"
"""As the paper has it."""
PLANNERS: Final[Mapping[str, Callable[[Network], Allocation]]] = {
    "heuristic-a": heuristic_a.solve,
    ONCE: partial(heuristic_a.solve, rounds=1),
    "heuristic-b": heuristic_b.solve,
    "cutting-plane": cutting_plane.solve,
}
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
SHOWN: Final = AFTER["later"] + 1
"""Hops of Fig. 7."""

Measured = Results[None]
"""Subjects are planner, kind and nodes of a graph; or perturbation, reading and nodes of a tree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Some graphs or trees of a kind, one of each seed."""

    sort: str
    """`graphs` or `trees`."""
    nodes: int
    kind: str
    """Of graph or of perturbation."""
    seeds: Sequence[int]


def further(options: Options) -> int:
    """Graphs of a row of those with links to all successors."""
    return max(1, round(FURTHER * options.seeds))


def tasks(options: Options) -> Iterator[Task]:
    """What is run: the largest first, so that no worker is left with one in the end."""
    for nodes in reversed(PUBLISHED.tree_sizes):
        for kind in KINDS:
            yield from _batches("trees", nodes, kind, options.seeds)
    for nodes in reversed(PUBLISHED.sizes):
        yield from _batches("graphs", nodes, ORDER, further(options))
        yield from _batches("graphs", nodes, REDUCED, options.seeds)


def _batches(sort: str, nodes: int, kind: str, seeds: int) -> Iterator[Task]:
    for first in range(1, seeds + 1, BATCH):
        batch = range(first, min(first + BATCH, seeds + 1))
        yield Task(sort=sort, nodes=nodes, kind=kind, seeds=batch)


def examine(task: Task) -> Run[None]:
    """Try all on each of them."""
    one = _graph if task.sort == "graphs" else _tree
    return Run([pair for seed in task.seeds for pair in one(task, seed)])


def _graph(task: Task, seed: int) -> Iterator[tuple[Hashable, dict[str, float]]]:
    rng = np.random.default_rng([seed, task.nodes])
    for planner, values in planned(draw_graph(task.nodes, rng, graph=task.kind)).items():
        yield (planner, task.kind, task.nodes), values


def planned(network: Network) -> dict[str, dict[str, float]]:
    """What each planner makes of a graph."""
    best = lp.solve(network).value
    plans = {name: plan(network) for name, plan in PLANNERS.items()}
    return {
        name: {
            "edges": len(network.links),
            "sources": len(network.inflows),
            "sinks": len(network.outflows),
            "share": plan.value / best,
            "good": float(plan.value / best > GOOD),
            # A question goes up and down, and the best answer is sent once more.
            "iterations": (plan.passes - 1) / 2,
            "passes": plan.passes,
            "messages": plan.messages,
            "once": plans[ONCE].value / best,
        }
        for name, plan in plans.items()
    }


def _tree(task: Task, seed: int) -> Iterator[tuple[Hashable, dict[str, float]]]:
    single, many = (make(task.nodes, task.kind, seed) for make in (once, again))
    for reading in READINGS:
        values = followed(play(single, reading, hops=HOPS))
        perturbed = play(many, reading, hops=EVERY * PERTURBATIONS).share
        yield (task.kind, reading.name, task.nodes), {**values, "share": float(perturbed.mean())}


def followed(course: Course) -> dict[str, float]:
    """A tree after one perturbation; one that never gets there counts with all hops."""
    at = {"at once": 0, **AFTER, **{at_hop(hop): hop for hop in range(SHOWN)}}
    return {
        "hops": HOPS if course.reached is None else course.reached,
        "never": float(course.reached is None),
        **{name: float(course.share[hop]) for name, hop in at.items()},
    }


def at_hop(hop: int) -> str:
    """The quantity that is the share of the optimum at a hop after one perturbation."""
    return f"hop {hop}"


def derive(_: Options, measured: Collected) -> Values:
    """Figures of all graphs or trees together, of which no interval is known."""
    derived: dict[tuple[Hashable, str], Interval] = {}
    for (subject, quantity), values in measured.items():
        if quantity == "never":
            derived[subject, quantity] = _single(fmean(values), values)
        elif quantity == "share" and (subject, "edges") in measured:
            spread = stdev(values) if len(values) > 1 else 0.0
            derived[subject, "spread"] = _single(spread, values)
            derived[subject, "worst"] = _single(min(values), values)
    return derived


def _single(value: float, values: Sequence[float]) -> Interval:
    return Interval(value, None, len(values))
