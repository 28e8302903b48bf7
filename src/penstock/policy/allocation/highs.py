"""The solver of linear programs, asked for the most that rows of limits allow.

>>> entries = Entries(values=[0.5, 1.0], rows=[0, 0], columns=[0, 1])
>>> found = maximise([1.0, 0.4], entries, limits=[1.0], most=[1.0, inf])
>>> found.value, found.shares, found.prices
(1.2, [1.0, 0.5], [0.4])
"""

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

from penstock.core.errors import PenstockError


class Entries(NamedTuple):
    """A sparse matrix, by coordinates."""

    values: Sequence[float]
    rows: Sequence[int]
    columns: Sequence[int]


class Found(NamedTuple):
    """An optimum."""

    value: float
    shares: list[float]
    prices: list[float]
    """What one more of each limit would bring."""


def maximise(
    worth: Sequence[float], entries: Entries, *, limits: Sequence[float], most: Sequence[float]
) -> Found:
    """The best numbers, each from 0 to its most, of which no row takes more than its limit.

    All numbers should be around 1: entries below 1e-9 are taken for nothing.
    """
    # Presolve can take a thousand times as long as all the rest, and fail; rarely it is of help.
    for presolve in (False, True):
        found = _linprog(worth, entries, limits, most, presolve)
        if found.success:
            prices = (-found.ineqlin.marginals).tolist()
            return Found(-float(found.fun), found.x.tolist(), prices)
    raise PenstockError(f"HiGHS found no optimum of the linear program: {found.message}")


def _linprog(
    worth: Sequence[float],
    entries: Entries,
    limits: Sequence[float],
    most: Sequence[float],
    presolve: bool,
) -> Any:
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    place = (entries.rows, entries.columns)
    matrix = coo_array((entries.values, place), shape=(len(limits), len(worth)))
    return linprog(
        [-each for each in worth],
        A_ub=matrix.tocsr(),
        b_ub=limits,
        bounds=[(0.0, None if highest == inf else highest) for highest in most],
        options={
            "presolve": presolve,
            "primal_feasibility_tolerance": 1e-10,
            "dual_feasibility_tolerance": 1e-10,
        },
    )
