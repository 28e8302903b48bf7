"""Tab. 1 and 2 as they are shown, whole runs, how learning went, and what was assumed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from penstock.experiment.cells import Words, cell
from penstock.experiment.papers.e2df_assumptions import assumptions, beside_tables
from penstock.experiment.papers.e2df_entries import (
    FEW_VIOLATIONS,
    OURS,
    QUANTITIES,
    SCARCE,
    TOLERANCE,
    TOLERANCE_OF_RECONFIGURATIONS,
    TOLERANCE_OF_VIOLATIONS,
    TOLERANCE_WHERE_SCARCE,
)
from penstock.experiment.papers.e2df_outcome import EARLY, FIRST, LEARNED, WHOLE
from penstock.experiment.papers.e2df_plays import COMBINATIONS, OBJECTIVES, PLAYS, Play
from penstock.experiment.papers.e2df_reasons import reasons_1, reasons_2
from penstock.experiment.reproduction import Entry, Table, find

_HEADER: Final = ("infrastructure", "application")
_FIGURES: Final = ("violations, %", "reconfigurations, %", "replicas", "nodes")


def _two(value: float) -> str:
    return f"{value:.2f}"


def _one(value: float) -> str:
    return f"{value:.1f}"


def _percents(share: float) -> str:
    return f"{100 * share:.2f}"


def _thousandths(cost: float) -> str:
    return f"{1e3 * cost:.1f}"


_WORDS: Final[Mapping[str, Words]] = {
    "violations": _percents,
    "reconfigurations": _percents,
    "replicas": _two,
    "nodes": _two,
    "unmet": _one,
    "cost": _thousandths,
}


def tables(entries: Sequence[Entry]) -> tuple[Table, ...]:
    """Those of the paper, and ours."""
    return (
        _table_1(entries),
        _table_2(entries),
        _whole(entries),
        _unmet(entries),
        _learning(entries),
        assumptions(),
    )


def _table_1(entries: Sequence[Entry]) -> Table:
    rows = [
        (play.infrastructure, play.application, *_cells(entries, "1", play, LEARNED, QUANTITIES))
        for play in COMBINATIONS
    ]
    return Table(
        title="Tab. 1: policies of infrastructure and application",
        header=(*_HEADER, *_FIGURES),
        rows=tuple(rows),
        notes=(_legend("1"), *beside_tables(), *reasons_1(entries)),
    )


def _table_2(entries: Sequence[Entry]) -> Table:
    rows = [
        (_weights(play), play.application, *_cells(entries, "2", play, LEARNED, QUANTITIES))
        for play in OBJECTIVES
    ]
    return Table(
        title="Tab. 2: weights of demand and nodes in the cost of regions that learn",
        header=("w_d, w_c", "application", *_FIGURES),
        rows=tuple(rows),
        notes=(_legend("2"), *beside_tables(), *reasons_2(entries)),
    )


def _whole(entries: Sequence[Entry]) -> Table:
    return Table(
        title="The same over whole runs, with the time of learning",
        header=("infrastructure", "w_d, w_c", "application", *_FIGURES),
        rows=tuple(
            (*_names(play), *_cells(entries, OURS, play, WHOLE, QUANTITIES)) for play in PLAYS
        ),
    )


def _unmet(entries: Sequence[Entry]) -> Table:
    stretches = (FIRST, EARLY, LEARNED)
    return Table(
        title="Requests a day for a replica that found no free slot",
        header=("infrastructure", "w_d, w_c", "application", *stretches),
        rows=tuple((*_names(p), *_course(entries, p, "unmet", stretches)) for p in PLAYS),
        notes=(
            "The paper has no figures of these. A request that is not met is made again in the "
            "next minute, and counts again.",
        ),
    )


def _learning(entries: Sequence[Entry]) -> Table:
    """Fig. 6 and 7 in numbers."""
    stretches = (FIRST, EARLY, LEARNED)
    quantities = {"cost": "cost", "violations": "violations, %"}
    header = (f"{words}, {stretch}" for words in quantities.values() for stretch in stretches)
    rows = []
    for play in OBJECTIVES:
        cells = (c for q in quantities for c in _course(entries, play, q, stretches))
        rows.append((_weights(play), play.application, *cells))
    return Table(
        title="Fig. 6 and 7 in numbers: how learning goes on",
        header=("w_d, w_c", "application", *header),
        rows=tuple(rows),
        notes=(
            "Costs are thousandths of Expr. 1, on average over minutes and regions; those of "
            "different weights do not compare.",
        ),
    )


def _course(
    entries: Sequence[Entry], play: Play, quantity: str, stretches: Sequence[str]
) -> Iterator[str]:
    """One quantity, stretch by stretch."""
    for stretch in stretches:
        yield from _cells(entries, OURS, play, stretch, (quantity,))


def _cells(
    entries: Sequence[Entry], table: str, play: Play, stretch: str, quantities: Sequence[str]
) -> Iterator[str]:
    place = {"table": table, **play.where, "stretch": stretch}
    for quantity in quantities:
        words = _WORDS[quantity]
        yield cell(find(entries, **place, quantity=quantity), words, half=words)


def _names(play: Play) -> tuple[str, str, str]:
    weights = _weights(play) if play.infrastructure == "rl" else ""
    return play.infrastructure, weights, play.application


def _weights(play: Play) -> str:
    """Of demand, and of nodes.

    >>> _weights(OBJECTIVES[0])
    '0.1, 0.9'
    """
    return f"{play.demand_weight:g}, {1 - play.demand_weight:g}"


def _legend(table: str) -> str:
    limits = {
        "replicas and nodes": f"{100 * TOLERANCE[table]:g} %",
        "reconfigurations": f"{100 * TOLERANCE_OF_RECONFIGURATIONS:g} %",
        "violations": f"{100 * TOLERANCE_OF_VIOLATIONS:g} % and {100 * FEW_VIOLATIONS:g} "
        "percentage points",
    }
    if table == "2":
        limits[f"rows of {SCARCE:g}"] = f"{100 * TOLERANCE_WHERE_SCARCE:g} %"
    told = ", ".join(f"{limit} ({what})" for what, limit in limits.items())
    return f"Ours with its 95 % interval, the paper's in brackets; * is off by more than {told}."
