"""Means of ours, found by where they stand, and how they compare."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from penstock.experiment.reproduction import Entry, find

ALIKE: Final = 0.02
"""Share under which a difference of two means is none."""
GROWTH: Final = 0.05
"""Share from which on it is one that a reader would see."""


def mean_of(entries: Sequence[Entry], **where: str) -> float | None:
    """The mean of a place; None where there is none."""
    found = find(entries, **where)
    return None if found is None else found.ours.mean


def means_of(entries: Sequence[Entry], places: Sequence[dict[str, str]]) -> list[float] | None:
    """Those of several places; None where one of them has none."""
    found = [mean_of(entries, **place) for place in places]
    known = [value for value in found if value is not None]
    return known if len(known) == len(places) else None


def by_stream(
    entries: Sequence[Entry], table: str, quantity: str, *, published: bool = True
) -> dict[str, float]:
    """The mean of each stream of Tab. 4 or 5, generated and published ones apart."""
    return {
        _name(entry): entry.ours.mean
        for entry in entries
        if (entry.where["table"], entry.where["quantity"]) == (table, quantity)
        and (published or entry.where["source"] == "generated")
    }


def grows(values: Sequence[float]) -> bool:
    """Whether values plainly grow in all, and none falls as far as they can be told apart.

    >>> grows([1.0, 1.2, 1.19]), grows([1.0, 1.2, 1.1]), grows([1.0, 1.0, 1.04])
    (True, False, False)
    """
    steady = all(after >= before * (1 - ALIKE) for before, after in pairwise(values))
    return steady and values[-1] > values[0] * (1 + GROWTH)


def rank_correlation(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Spearman's, 1 for the same order.

    >>> rank_correlation([1.0, 5.0, 9.0], [20.0, 30.0, 25.0])
    0.5
    """
    ranks = [np.argsort(np.argsort(values)) for values in (ours, theirs)]
    apart = float(np.sum((ranks[0] - ranks[1]) ** 2))
    return 1.0 - 6.0 * apart / (len(ours) * (len(ours) ** 2 - 1))


def _name(entry: Entry) -> str:
    stream = entry.where["workload"]
    return stream if entry.where["source"] == "generated" else f"{stream}, published"
