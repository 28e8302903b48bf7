"""What the alloc paper found, and whether it was found again; and what agents can do beyond it."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from penstock.experiment.results import Claim, Entry
from penstock.papers.alloc import published
from penstock.papers.alloc.adaptation import EVERY, PLAIN, REACHED, SHARED, Reading
from penstock.papers.alloc.entries import AFTER, HEURISTICS, PERTURBATIONS, TABLES, mean_of
from penstock.papers.alloc.graphs import REDUCED

NAMES: Final = {"heuristic-a": "Heuristic A", "heuristic-b": "Heuristic B"}
LEAST: Final = 0.9
"""Share of the optimum under perturbations, on average."""
OPTIMAL: Final = 0.99
"""Share from which on the optimum is reached, as far as one can see in a figure."""
EXACT: Final = 0.999
"""Share of the optimum that exact agents reach on average,"""
EXACT_WORST: Final = 0.99
"""and of the worst graph."""
FEW_PASSES: Final = 15


def claims(entries: Sequence[Entry]) -> tuple[Claim, ...]:
    """Each with what we found."""
    return (
        *(_as_good(entries, planner) for planner in HEURISTICS),
        _better(entries),
        _degrades(entries),
        _iterations(entries),
        _edges(entries),
        *_exact(entries),
        *(_quick(entries, kind) for kind in PERTURBATIONS),
        _quick(entries, PERTURBATIONS[0], PLAIN),
        _settled(entries),
        *(_follows(entries, kind) for kind in PERTURBATIONS),
        _follows(entries, PERTURBATIONS[0], PLAIN),
        _as_close(entries),
    )


def _as_good(entries: Sequence[Entry], planner: str) -> Claim:
    shares = _planned(entries, planner, "share")
    paper = [HEURISTICS[planner][nodes].share for nodes in published.SIZES]
    return Claim(
        text=f"Tab. {TABLES[planner]}: {NAMES[planner]} is as good as the paper's.",
        found=f"{_percents(shares)} % of the optimum; the paper has {_percents(paper)} %.",
        holds=all(ours >= theirs for ours, theirs in zip(shares, paper, strict=True)),
    )


def _better(entries: Sequence[Entry]) -> Claim:
    rounds, once = (_planned(entries, "heuristic-a", name) for name in ("share", "once"))
    found = _planned(entries, "heuristic-b", "share")
    return Claim(
        text="Heuristic B is consistently better than Heuristic A.",
        found=f"B has {_percents(found)} %, A {_percents(once)} % in one round, as the paper's, "
        f"and {_percents(rounds)} % in several.",
        holds=all(b > a for a, b in zip(once, found, strict=True)),
    )


def _degrades(entries: Sequence[Entry]) -> Claim:
    shares = _planned(entries, "heuristic-a", "share")
    return Claim(
        text="The larger the graph, the worse is Heuristic A.",
        found=f"{_percents(shares)} %.",
        holds=all(after < before for before, after in pairwise(shares)),
    )


def _iterations(entries: Sequence[Entry]) -> Claim:
    ours = _planned(entries, "heuristic-b", "iterations")
    paper = [row.iterations or 0.0 for row in published.TABLE_2.values()]
    return Claim(
        text="Tab. 2: iterations are few.",
        found=f"{_numbers(ours)}; the paper has {_numbers(paper)}.",
        holds=max(ours) <= max(paper),
    )


def _edges(entries: Sequence[Entry]) -> Claim:
    ours = _planned(entries, "heuristic-a", "edges")
    paper = [row.edges for row in published.TABLE_1.values()]
    return Claim(
        text="Tab. 1: the generator as it is written makes as many edges as are printed.",
        found=f"{_numbers(ours)}; the paper has {_numbers(paper)}.",
        holds=all(abs(a / b - 1) < 0.1 for a, b in zip(ours, paper, strict=True)),
    )


def _exact(entries: Sequence[Entry]) -> Iterator[Claim]:
    shares, worst, passes = (
        _planned(entries, "cutting-plane", name) for name in ("share", "worst", "passes")
    )
    yield Claim(
        text=f"Beyond the paper: cutting-plane has {100 * EXACT:g} % of the optimum on average and "
        f"{100 * EXACT_WORST:g} % in the worst graph.",
        found=f"{_percents(shares, 2)} %, and {_percents(worst, 2)} %.",
        holds=min(shares) >= EXACT and min(worst) >= EXACT_WORST,
    )
    yield Claim(
        text=f"Beyond the paper: cutting-plane takes {FEW_PASSES} passes at most, on average.",
        found=f"{_numbers(passes)}.",
        holds=max(passes) <= FEW_PASSES,
    )


def _quick(entries: Sequence[Entry], kind: str, reading: Reading = SHARED) -> Claim:
    hops = _followed(entries, "3", kind, "hops", reading)
    paper = list(published.TABLE_3.values())
    return Claim(
        text=f"Tab. 3: {100 * REACHED:g} % of the new optimum within the paper's hops, where rates "
        f"change by {kind}{_plainly(reading)}.",
        found=f"{_numbers(hops)}; the paper has {_numbers(paper)}.",
        holds=all(ours <= theirs for ours, theirs in zip(hops, paper, strict=True)),
    )


def _settled(entries: Sequence[Entry]) -> Claim:
    shares, later = (_followed(entries, "3", PERTURBATIONS[0], when) for when in AFTER)
    hops, more = AFTER.values()
    return Claim(
        text=f"After {hops} hops, twice the depth, trees are at the new optimum (Fig. 7).",
        found=f"{_percents(shares)} % of it, and {_percents(later)} % after {more} hops, as each "
        "only goes half the way at every hop.",
        holds=min(shares) >= OPTIMAL,
    )


def _follows(entries: Sequence[Entry], kind: str, reading: Reading = SHARED) -> Claim:
    shares = _followed(entries, "4", kind, "share", reading)
    return Claim(
        text=f"Tab. 4: {100 * LEAST:g} % of the optimum under a perturbation every {EVERY} hops, "
        f"where rates change by {kind}{_plainly(reading)}.",
        found=f"{_percents(shares)} %.",
        holds=min(shares) >= LEAST,
    )


def _as_close(entries: Sequence[Entry]) -> Claim:
    shares, paper = _followed(entries, "4", PERTURBATIONS[0], "share"), published.TABLE_4.values()
    return Claim(
        text="Tab. 4: as close to the optimum as the paper's, to the digit that it prints.",
        found=f"{_percents(shares)} %; the paper has {_percents(list(paper))} %.",
        holds=all(round(ours, 3) >= theirs for ours, theirs in zip(shares, paper, strict=True)),
    )


def _planned(entries: Sequence[Entry], planner: str, quantity: str) -> list[float]:
    """By the size of the graph, as the generator is written."""
    place = {"table": TABLES[planner], "graph": REDUCED, "quantity": quantity}
    return [mean_of(entries, **place, nodes=f"{nodes}") for nodes in published.SIZES]


def _plainly(reading: Reading) -> str:
    return ", as the text is read most plainly" if reading == PLAIN else ""


def _followed(
    entries: Sequence[Entry], table: str, kind: str, quantity: str, reading: Reading = SHARED
) -> list[float]:
    """By the size of the tree."""
    place = {"table": table, "perturbation": kind, "reading": reading.name, "quantity": quantity}
    return [mean_of(entries, **place, nodes=f"{nodes}") for nodes in published.TREE_SIZES]


def _percents(shares: Sequence[float], digits: int = 1) -> str:
    return ", ".join(f"{100 * share:.{digits}f}" for share in shares)


def _numbers(values: Sequence[float]) -> str:
    return ", ".join(f"{value:,.1f}" for value in values)
