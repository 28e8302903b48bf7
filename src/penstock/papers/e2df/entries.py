"""Every figure that can be set beside the paper's, with its interval."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from penstock.experiment.interval import interval
from penstock.experiment.results import Entry, find
from penstock.papers.e2df import published
from penstock.papers.e2df.runs import (
    COMBINATIONS,
    LEARNED,
    OBJECTIVES,
    PLAYS,
    STRETCHES,
    Play,
    Runs,
)

TOLERANCE: Final = {"1": 0.1, "2": 0.15}
"""Shares by which replicas and nodes may be off, by table,"""
TOLERANCE_OF_RECONFIGURATIONS: Final = 0.15
"""and reconfigurations."""
TOLERANCE_OF_VIOLATIONS: Final = 0.25
"""The same of violations, unless they are off by less than"""
FEW_VIOLATIONS: Final = 0.005
"""this share of all minutes."""
SCARCE: Final = 0.1
"""The weight with which demand hardly counts: there"""
TOLERANCE_WHERE_SCARCE: Final = 0.4
"""everything may be off by this share."""
COMPARED: Final = LEARNED
"""The stretch of a run that is set beside the paper's figures."""
QUANTITIES: Final = ("violations", "reconfigurations", "replicas", "nodes")
"""Of Tab. 1 and 2."""
FURTHER: Final = ("unmet", "cost")
"""That the paper has no figures of."""
OURS: Final = "stretches"
"""Name of the table that goes beyond the paper."""


def entries(runs: Runs) -> tuple[Entry, ...]:
    """Of both tables, and of each stretch of the runs."""
    return (
        *_table("1", COMBINATIONS, runs),
        *_table("2", OBJECTIVES, runs),
        *(entry for play in PLAYS for entry in _stretches(play, runs)),
    )


def mean_of(entries: Iterable[Entry], play: Play, stretch: str, quantity: str) -> float | None:
    """The mean over the seeds; None where runs did not get there."""
    found = find(entries, table=OURS, **play.where, stretch=stretch, quantity=quantity)
    return None if found is None else found.ours.mean


def printed_row(table: str, play: Play) -> published.Row:
    """What the paper has of a play.

    >>> printed_row("2", OBJECTIVES[3]).reconfigurations, printed_row("1", COMBINATIONS[4]).nodes
    (0.0321, 9.66)
    """
    if table == "1":
        return published.TABLE_1[play.infrastructure, play.application]
    return published.TABLE_2[play.demand_weight, play.application]


def _table(table: str, plays: Sequence[Play], runs: Runs) -> Iterator[Entry]:
    for play in plays:
        row = printed_row(table, play)._asdict()
        for quantity in QUANTITIES:
            yield Entry(
                where=_where(table, play, COMPARED, quantity),
                ours=interval(runs.values(play, COMPARED, quantity)),
                paper=row[quantity] if runs.whole else None,
                tolerance=_tolerance(table, play, quantity, row[quantity]),
            )


def _tolerance(table: str, play: Play, quantity: str, paper: float) -> float:
    """As a share of the paper's figure.

    >>> _tolerance("1", COMBINATIONS[0], "violations", 0.0001)  # 0.01 % may be up to 0.51 %
    50.0
    """
    if quantity == "violations":
        return max(TOLERANCE_OF_VIOLATIONS, FEW_VIOLATIONS / paper)
    if play.demand_weight == SCARCE:
        return TOLERANCE_WHERE_SCARCE
    if quantity == "reconfigurations":
        return TOLERANCE_OF_RECONFIGURATIONS
    return TOLERANCE[table]


def _stretches(play: Play, runs: Runs) -> Iterator[Entry]:
    for stretch in STRETCHES:
        for quantity in (*QUANTITIES, *FURTHER):
            if values := runs.values(play, stretch, quantity):
                where = _where(OURS, play, stretch, quantity)
                yield Entry(where=where, ours=interval(values), paper=None, tolerance=0.0)


def _where(table: str, play: Play, stretch: str, quantity: str) -> dict[str, str]:
    place = {"table": table, "workload": "daily", **play.where}
    return {**place, "stretch": stretch, "quantity": quantity}
