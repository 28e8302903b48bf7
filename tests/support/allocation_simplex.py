"""The optimum of a processing network in fractions: no rounding, whatever its numbers span.

The LP of the alloc paper (Section 3) by the simplex method. Nothing is a feasible start, and the
entering column is always the first that gains, so that it cannot go round in circles (Bland).
"""

from fractions import Fraction
from math import inf

from penstock.policy.allocation.network import Network

Row = list[Fraction]


def true_optimum(network: Network) -> float:
    """What the best division of the budget is worth; for up to ten modules or so."""
    table = _constraints(network)
    width = len(network.modules)
    goal = _goal(network) + [Fraction(0)] * (len(table) + 1)
    basis = list(range(width, width + len(table)))
    while (enters := next((i for i, gain in enumerate(goal[:-1]) if gain > 0), None)) is not None:
        leaves = min(
            (i for i, row in enumerate(table) if row[enters] > 0),
            key=lambda i: (table[i][-1] / table[i][enters], basis[i]),
        )
        _pivot(table, goal, leaves, enters)
        basis[leaves] = enters
    return float(-goal[-1])


def _pivot(table: list[Row], goal: Row, leaves: int, enters: int) -> None:
    pivot = table[leaves][enters]
    table[leaves] = [value / pivot for value in table[leaves]]
    for row in [*table[:leaves], *table[leaves + 1 :], goal]:
        if times := row[enters]:
            row[:] = [mine - times * its for mine, its in zip(row, table[leaves], strict=True)]


def _goal(network: Network) -> Row:
    worth = dict.fromkeys(network.modules, Fraction(0))
    for out in network.outflows:
        worth[out.origin] += Fraction(out.weight) * Fraction(out.produces)
    return list(worth.values())


def _constraints(network: Network) -> list[Row]:
    at = {module: i for i, module in enumerate(network.modules)}
    rows = [(dict.fromkeys(at.values(), Fraction(1)), Fraction(network.budget))]
    for link in network.links:
        needs = {
            at[link.target]: Fraction(link.consumes),
            at[link.origin]: -Fraction(link.produces),
        }
        rows.append((needs, Fraction(0)))
    rows.extend(
        ({at[inflow.target]: Fraction(inflow.consumes)}, Fraction(inflow.rate))
        for inflow in network.inflows
        if inflow.rate < inf
    )
    return [
        [row.get(i, Fraction(0)) for i in range(len(at))]
        + [Fraction(int(i == number)) for i in range(len(rows))]
        + [limit]
        for number, (row, limit) in enumerate(rows)
    ]
