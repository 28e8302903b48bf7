"""The figures of Tab. 1 to 4, and those that go beyond them."""

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean, stdev
from typing import Final

import numpy as np

from penstock.experiment.interval import Interval, interval
from penstock.experiment.results import Entry, find
from penstock.papers.alloc import published
from penstock.papers.alloc.adaptation import HOPS, READINGS, SHARED, Reading
from penstock.papers.alloc.graphs import DEPTH, EXACTLY, GRAPHS, REDUCED, WITHIN
from penstock.papers.alloc.runs import ONCE, Followed, Graph, Runs

TOLERANCE: Final = 0.1
GOOD: Final = 0.9
"""Share of the optimum above which a plan is counted as good."""
HEURISTICS: Final = {"heuristic-a": published.TABLE_1, "heuristic-b": published.TABLE_2}
TABLES: Final = {"heuristic-a": "1", "heuristic-b": "2", "cutting-plane": "beyond"}
"""By planner."""
PERTURBATIONS: Final = (WITHIN, EXACTLY)
AFTER: Final = {"in the end": 2 * DEPTH, "later": 3 * DEPTH}
"""Hops after which news of everything has reached the top and its plan everyone, and some more."""


def entries(runs: Runs) -> tuple[Entry, ...]:
    """All of them."""
    return (*_of_graphs(runs), *_of_trees(runs))


def _of_graphs(runs: Runs) -> Iterator[Entry]:
    for planner in TABLES:
        for kind in GRAPHS:
            for nodes in published.SIZES:
                found = runs.graphs(nodes, kind)
                where = {"table": TABLES[planner], "graph": kind, "nodes": f"{nodes}"}
                for quantity, ours in _quantities(found, planner):
                    paper = _printed(planner, kind, nodes, quantity)
                    yield _entry({**where, "planner": planner, "quantity": quantity}, ours, paper)


def _quantities(graphs: Sequence[Graph], planner: str) -> Iterator[tuple[str, Interval]]:
    plans = [graph.plans[planner] for graph in graphs]
    shares = [plan.share for plan in plans]
    for name in ("edges", "sources", "sinks"):
        yield name, interval([getattr(graph, name) for graph in graphs])
    yield "share", interval(shares)
    yield "spread", _single(stdev(shares) if len(shares) > 1 else 0.0, len(shares))
    yield "worst", _single(min(shares), len(shares))
    yield "good", interval([float(share > GOOD) for share in shares])
    if planner == "heuristic-a":
        yield "once", interval([graph.plans[ONCE].share for graph in graphs])
    if planner == "heuristic-b":
        # A question goes up and down, and in the end the best is told once more.
        yield "iterations", interval([(plan.passes - 1) / 2 for plan in plans])
    for name in ("passes", "messages"):
        yield name, interval([getattr(plan, name) for plan in plans])


def _printed(planner: str, kind: str, nodes: int, quantity: str) -> float | None:
    if kind != REDUCED or planner not in HEURISTICS:
        return None
    value: float | None = getattr(HEURISTICS[planner][nodes], quantity, None)
    return value


def _of_trees(runs: Runs) -> Iterator[Entry]:
    for kind in PERTURBATIONS:
        for reading in READINGS:
            for nodes in published.TREE_SIZES:
                found = runs.trees(nodes, kind, reading)
                where = {"perturbation": kind, "reading": reading.name, "nodes": f"{nodes}"}
                yield from _tree(where, found, _own(published.TABLE_3, nodes, reading, kind), "3")
                share = interval([tree.share for tree in found])
                paper = _own(published.TABLE_4, nodes, reading, kind)
                yield _entry({"table": "4", **where, "quantity": "share"}, share, paper)


def _tree(
    where: dict[str, str], found: Sequence[Followed], paper: float | None, table: str
) -> Iterator[Entry]:
    """Those that never get there count with all hops that were looked at."""
    place = {"table": table, **where}
    hops = [HOPS if np.isnan(tree.reached) else tree.reached for tree in found]
    yield _entry({**place, "quantity": "hops"}, interval(hops), paper)
    missed = fmean(float(np.isnan(tree.reached)) for tree in found)
    yield _entry({**place, "quantity": "never"}, _single(missed, len(found)), None)
    for name, hop in {"at once": 0, **AFTER}.items():
        shares = interval([float(tree.course[hop]) for tree in found])
        yield _entry({**place, "quantity": name}, shares, None)


def _own(table: dict[int, float], nodes: int, reading: Reading, kind: str) -> float | None:
    """The paper's, beside what is compared with it."""
    return table[nodes] if (reading, kind) == (SHARED, WITHIN) else None


def _single(value: float, runs: int) -> Interval:
    """A figure of all together, of which no interval is known."""
    return Interval(value, None, runs)


def _entry(where: dict[str, str], ours: Interval, paper: float | None) -> Entry:
    return Entry(where=where, ours=ours, paper=paper, tolerance=TOLERANCE)


def mean_of(entries: Iterable[Entry], **where: str) -> float:
    """Ours, where there is one for sure."""
    entry = find(entries, **where)
    assert entry is not None, where  # noqa: S101  # every kind is tried in every way
    return entry.ours.mean
