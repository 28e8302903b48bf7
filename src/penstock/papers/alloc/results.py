"""Tab. 1 to 4, Fig. 7 and 8 and the claims of the alloc paper, and what goes beyond it."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, pairwise
from operator import ge, gt, le
from typing import Any, Final

from penstock.experiment.results import Figure, Line
from penstock.experiment.results import Table as PlainTable
from penstock.papers.alloc import adaptation, experiment, graphs
from penstock.papers.alloc.adaptation import (
    EVERY,
    PERTURBATIONS,
    PLAIN,
    READINGS,
    SHARED,
    Reading,
    again,
    once,
    play,
)
from penstock.papers.alloc.experiment import (
    AFTER,
    KINDS,
    PUBLISHED,
    SHOWN,
    Measured,
    at_hop,
    further,
)
from penstock.papers.alloc.graphs import GRAPHS, REDUCED, WITHIN
from penstock.papers.data import Sheet, column, facts, read_paper
from penstock.papers.framework import (
    Cell,
    Finding,
    Options,
    Row,
    Table,
    all_known,
    curve,
    line,
)

HEURISTICS: Final = {"heuristic-a": PUBLISHED.heuristic_a, "heuristic-b": PUBLISHED.heuristic_b}
OPTIMAL: Final = 0.99
"""Share from which on the optimum is reached, as far as one can see in a figure."""
EXACT: Final = 0.999
"""Share of the optimum that exact agents reach on average,"""
EXACT_WORST: Final = 0.99
"""and of the worst graph."""
FILE: Final = read_paper(__package__).using(
    vars(graphs),
    vars(adaptation),
    vars(experiment),
    globals(),
    most_iterations=max(column(HEURISTICS["heuristic-b"], "iterations")),
)
measure = FILE.measures

# Tables.


def tables(results: Measured) -> Iterator[Table | PlainTable]:
    """Those of the paper, and ours."""
    for name, planner in (("1", "heuristic-a"), ("2", "heuristic-b"), ("beyond", "cutting-plane")):
        yield _graphs(results, name, planner)
    yield _readings("3", "hops", ("at once", "never"), tuple(AFTER))
    yield _readings("4", "share")
    yield FILE.assumptions()


def _graphs(results: Measured, name: str, planner: str) -> Table:
    found = as_good(results, planner) if planner in HEURISTICS else None
    sheet = FILE.sheet(name, better=found is not None and found.holds)
    return sheet.table(
        sheet.row(
            (f"{nodes}", kind),
            (planner, kind, nodes),
            {"graph": kind, "nodes": f"{nodes}", "planner": planner},
            HEURISTICS.get(planner, {}).get(f"{nodes}") if kind == REDUCED else {},
        )
        for kind in GRAPHS
        for nodes in PUBLISHED.sizes
    )


def _readings(
    name: str, quantity: str, last: Sequence[str] = (), unprinted: Sequence[str] = ()
) -> Table:
    """A row for each, with a size in each column, and more of the largest size."""
    sheet, sizes = FILE.sheet(name), PUBLISHED.tree_sizes
    *smaller, largest = sizes

    def row(kind: str, reading: Reading) -> Row:
        of = partial(_of_tree, sheet, kind, reading)
        printed = [of(nodes, quantity) for nodes in sizes]
        others = [of(nodes, *last) for nodes in smaller]
        others += [of(nodes, *unprinted) for nodes in sizes]
        return Row(
            (kind, reading.name),
            (*chain.from_iterable(printed), *of(largest, *last)),
            tuple(chain.from_iterable(others)),
        )

    return sheet.table(row(kind, reading) for kind in KINDS for reading in READINGS)


def _of_tree(
    sheet: Sheet, kind: str, reading: Reading, nodes: int, *quantities: str
) -> tuple[Cell, ...]:
    compared = sheet.calibrated[0]
    paper = PUBLISHED.trees[f"{nodes}"] if (reading, kind) == (SHARED, WITHIN) else {}
    return sheet.cells(
        (kind, reading.name, nodes),
        {"perturbation": kind, "reading": reading.name, "nodes": f"{nodes}"},
        {compared: paper.get(compared)},
        quantities,
    )


# Claims.


def _planned(results: Measured, planner: str, quantity: str) -> list[float] | None:
    """Means of a planner on the generator's graphs as it is written, by their size."""
    subjects = [(planner, REDUCED, nodes) for nodes in PUBLISHED.sizes]
    return results.means(subjects, quantity)


def _trees(kind: str, reading: Reading = SHARED) -> list[tuple[str, str, int]]:
    return [(kind, reading.name, nodes) for nodes in PUBLISHED.tree_sizes]


def _beside(
    ours: list[float] | None, paper: list[float], holds: Callable[[float, float], bool]
) -> Finding | None:
    """Ours and the paper's, size by size."""
    return Finding((ours, paper), all(map(holds, ours, paper))) if ours else None


@measure
def as_good(results: Measured, planner: str) -> Finding | None:
    """Shares of the optimum."""
    paper = column(HEURISTICS[planner], "share")
    return _beside(_planned(results, planner, "share"), paper, ge)


@measure
def consistently_better(results: Measured) -> Finding | None:
    """Shares of the optimum of B, and of A in one round and in several."""
    wanted = (("heuristic-b", "share"), ("heuristic-a", "once"), ("heuristic-a", "share"))
    m = all_known(_planned(results, *one) for one in wanted)
    return Finding(m, all(map(gt, m[0], m[1]))) if m else None


@measure
def worse_on_larger(results: Measured) -> Finding | None:
    """Shares of the optimum of A."""
    shares = _planned(results, "heuristic-a", "share")
    return (
        Finding([shares], all(after < before for before, after in pairwise(shares)))
        if shares
        else None
    )


@measure
def iterations(results: Measured) -> Finding | None:
    """Of B; none of ours are more than the most of the paper's."""
    paper = column(HEURISTICS["heuristic-b"], "iterations")
    ours = _planned(results, "heuristic-b", "iterations")
    return _beside(ours, paper, lambda one, _: one <= max(paper))


@measure
def edges(results: Measured) -> Finding | None:
    """Of the graphs that A was tried on."""
    paper = column(HEURISTICS["heuristic-a"], "edges")
    ours = _planned(results, "heuristic-a", "edges")
    return _beside(ours, paper, lambda one, other: abs(one / other - 1) < 0.1)


@measure
def exact(results: Measured) -> Finding | None:
    """Shares of the optimum of cutting-plane, on average and in the worst graph."""
    m = all_known(_planned(results, "cutting-plane", quantity) for quantity in ("share", "worst"))
    return Finding(m, min(m[0]) >= EXACT and min(m[1]) >= EXACT_WORST) if m else None


@measure
def passes(results: Measured) -> list[float] | None:
    """Of cutting-plane."""
    return _planned(results, "cutting-plane", "passes")


@measure
def quick(results: Measured, kind: str, plain: bool = False) -> Finding | None:
    """Hops until the new optimum is nearly reached."""
    hops = results.means(_trees(kind, PLAIN if plain else SHARED), "hops")
    return _beside(hops, column(PUBLISHED.trees, "hops"), le)


@measure
def in_the_end(results: Measured) -> Finding | None:
    """Shares of the new optimum when news has reached everyone, and later."""
    m = all_known(results.means(_trees(WITHIN), when) for when in AFTER)
    return Finding(m, min(m[0]) >= OPTIMAL) if m else None


@measure
def follows(results: Measured, kind: str, plain: bool = False) -> list[float] | None:
    """Shares of the optimum under perturbations."""
    return results.means(_trees(kind, PLAIN if plain else SHARED), "share")


@measure
def as_close(results: Measured) -> Finding | None:
    """The same, to the digit that the paper prints."""
    ours = results.means(_trees(WITHIN), "share")
    paper = column(PUBLISHED.trees, "share")
    return _beside(ours, paper, lambda one, other: round(one, 3) >= other)


# Figures.


def figures(results: Measured) -> Iterator[Figure]:
    """Both."""
    tree, single = f"a tree of {PUBLISHED.drawn} nodes", once(PUBLISHED.drawn, WITHIN, 1)
    yield FILE.figure(
        "7",
        {
            tree: (line(r.name, play(single, r, hops=SHOWN).share) for r in READINGS),
            "mean by nodes": _means(results, SHARED),
            f"mean by nodes: {PLAIN.name}, and idle resource is lost": _means(results, PLAIN),
        },
    )
    course = play(again(PUBLISHED.drawn, WITHIN, 1), SHARED, hops=EVERY * PERTURBATIONS)
    both = line("optimum", course.optimum), line("achieved", course.value)
    yield FILE.figure("8", {tree: both})


def _means(results: Measured, reading: Reading) -> Iterator[Line]:
    for subject in _trees(WITHIN, reading):
        shares = (results.mean(subject, at_hop(hop)) for hop in range(SHOWN))
        yield curve(f"{subject[2]:,} nodes", range(SHOWN), shares)


# The paper.


def _facts(options: Options) -> dict[str, Any]:
    return {**facts(options), "further": further(options)}


PAPER: Final = FILE.paper(
    "alloc",
    tasks=experiment.tasks,
    examine=experiment.examine,
    derive=experiment.derive,
    tables=tables,
    figures=figures,
    facts=_facts,
)
"""Section 7: agents divide a budget on random graphs, and follow the rates of random trees."""
