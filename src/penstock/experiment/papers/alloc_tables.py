"""Tab. 1 to 4 as they are shown, the exact agents beside them, and what was assumed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from penstock.experiment.cells import Words, cell
from penstock.experiment.papers import alloc_printed as printed
from penstock.experiment.papers.alloc_adaptation import EVERY, HOPS, REACHED, READINGS
from penstock.experiment.papers.alloc_assumptions import assumptions
from penstock.experiment.papers.alloc_entries import PERTURBATIONS, TABLES, TOLERANCE
from penstock.experiment.papers.alloc_graphs import GRAPHS
from penstock.experiment.papers.alloc_reasons import of_graphs, of_heuristic, of_hops, of_shares
from penstock.experiment.reproduction import Entry, Table, find


def _one(value: float) -> str:
    return f"{value:,.1f}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _precise(share: float) -> str:
    return f"{100 * share:.2f}"


_WORDS: Final[Mapping[str, Words]] = {
    "share": _percent,
    "once": _percent,
    "spread": _percent,
    "worst": _precise,
    "good": _percent,
    "never": _percent,
    "at once": _percent,
    "in the end": _percent,
}
_SHAPE: Final = {"edges": "edges", "sources": "sources", "sinks": "sinks"}
_QUALITY: Final = {"share": "% of the optimum", "spread": "std", "good": "% of graphs above 90"}
_NAMES: Final = {"heuristic-a": "Heuristic A", "heuristic-b": "Heuristic B"}


def tables(entries: Sequence[Entry]) -> tuple[Table, ...]:
    """Those of the paper, and ours."""
    return (
        _heuristic(entries, "heuristic-a", {**_SHAPE, **_QUALITY, "once": "% in one round"}),
        _heuristic(entries, "heuristic-b", {**_SHAPE, **_QUALITY, "iterations": "iterations"}),
        _exact(entries),
        _hops(entries),
        _shares(entries),
        assumptions(),
    )


def _heuristic(entries: Sequence[Entry], planner: str, quantities: Mapping[str, str]) -> Table:
    return Table(
        title=f"Tab. {TABLES[planner]}: {_NAMES[planner]} on random graphs",
        header=("nodes", "links", *quantities.values()),
        rows=tuple(_rows(entries, planner, quantities)),
        notes=(_LEGEND, *of_graphs(), *of_heuristic(entries, planner)),
    )


def _exact(entries: Sequence[Entry]) -> Table:
    quantities = {
        "share": "% of the optimum",
        "worst": "worst",
        "passes": "passes",
        "messages": "messages",
    }
    return Table(
        title="Beyond the paper: cutting-plane on the same graphs",
        header=("nodes", "links", *quantities.values()),
        rows=tuple(_rows(entries, "cutting-plane", quantities, share=_precise)),
        notes=(
            "Agents as in Heuristic B, with an optimum that they know to be one within 0.1 %. A "
            "pass is one sweep over the graph, up or down.",
        ),
    )


def _rows(
    entries: Sequence[Entry], planner: str, quantities: Mapping[str, str], **words: Words
) -> Iterator[tuple[str, ...]]:
    for kind in GRAPHS:
        for nodes in printed.SIZES:
            place = {"table": TABLES[planner], "graph": kind, "nodes": f"{nodes}"}
            yield f"{nodes}", kind, *_cells(entries, place, quantities, {**_WORDS, **words})


def _hops(entries: Sequence[Entry]) -> Table:
    sizes = [f"{nodes:,}" for nodes in printed.TREE_SIZES]
    return Table(
        title=f"Tab. 3: hops until {100 * REACHED:g} % of the new optimum, by nodes of the tree",
        header=("rates change by", "reading", *sizes, "% at hop 0", "% never"),
        rows=tuple(_readings(entries, "3", "hops", ("at once", "never"))),
        notes=(
            _LEGEND,
            f"Trees that have not got there after {HOPS} hops count with {HOPS}. The last columns "
            f"are of {printed.TREE_SIZES[-1]:,} nodes.",
            *of_hops(),
        ),
    )


def _shares(entries: Sequence[Entry]) -> Table:
    sizes = [f"{nodes:,}" for nodes in printed.TREE_SIZES]
    return Table(
        title=f"Tab. 4: % of the optimum under a perturbation every {EVERY} hops, by nodes",
        header=("rates change by", "reading", *sizes),
        rows=tuple(_readings(entries, "4", "share")),
        notes=(_LEGEND, *of_shares()),
    )


def _readings(
    entries: Sequence[Entry], table: str, quantity: str, further: Sequence[str] = ()
) -> Iterator[tuple[str, ...]]:
    """A row for each, with a size in each column."""
    last = f"{printed.TREE_SIZES[-1]}"
    for kind in PERTURBATIONS:
        for reading in READINGS:
            place = {"table": table, "perturbation": kind, "reading": reading.name}
            cells = (
                shown
                for nodes in printed.TREE_SIZES
                for shown in _cells(entries, {**place, "nodes": f"{nodes}"}, (quantity,), _WORDS)
            )
            others = _cells(entries, {**place, "nodes": last}, further, _WORDS)
            yield kind, reading.name, *cells, *others


def _cells(
    entries: Sequence[Entry],
    place: Mapping[str, str],
    quantities: Sequence[str] | Mapping[str, str],
    words: Mapping[str, Words],
) -> Iterator[str]:
    for quantity in quantities:
        word = words.get(quantity, _one)
        yield cell(find(entries, **place, quantity=quantity), word, half=word)


_LEGEND: Final = (
    "Ours with its 95 % interval, the paper's in brackets; * is off by more than "
    f"{100 * TOLERANCE:g} %."
)
