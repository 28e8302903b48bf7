"""Figures as they stand in a table of ours: the mean, half of its interval, and the paper's."""

from collections.abc import Mapping, Sequence
from typing import Final

from penstock.experiment.cells import Words, cell
from penstock.experiment.papers.ppq_entries import TOLERANCE, TOLERANCE_OF_TAILS
from penstock.experiment.reproduction import Entry, find

Rows = list[tuple[str, ...]]
Wanted = Sequence[tuple[Mapping[str, str], Words]]
"""Places of entries, and how each is written."""

LEGEND: Final = (
    f"Ours with its 95 % interval, the paper's in brackets; * is off by more than "
    f"{100 * TOLERANCE:g} %, or {100 * TOLERANCE_OF_TAILS:g} % for delta and CV."
)


def row(entries: Sequence[Entry], names: tuple[str, ...], wanted: Wanted) -> Rows:
    """One row; none where nothing of it was played."""
    cells = [cell(find(entries, **place), words, half=words) for place, words in wanted]
    return [(*names, *cells)] if any(cells) else []


def quantities(place: Mapping[str, str], words: Mapping[str, Words]) -> Wanted:
    """Several quantities of one place."""
    return [({**place, "quantity": quantity}, write) for quantity, write in words.items()]


def one(value: float) -> str:
    """With a digit after the point."""
    return f"{value:.1f}"


def two(value: float) -> str:
    """With two."""
    return f"{value:.2f}"


def percent(share: float) -> str:
    """Of a share, in percent."""
    return f"{100 * share:.0f}"


def tenths(share: float) -> str:
    """The same with a digit after the point,"""
    return f"{100 * share:.1f}"


def percents(share: float) -> str:
    """and with two."""
    return f"{100 * share:.2f}"
