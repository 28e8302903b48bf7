"""The optimum of a small network in exact arithmetic, and small networks to try it on."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from math import inf

from hypothesis import strategies as st

from penstock.policy.allocation.network import Inflow, Link, Network, Outflow

Row = tuple[list[Fraction], Fraction]
"""Coefficients of the modules, and what their sum may not exceed."""


def exact_optimum(network: Network) -> float:
    """The best value over all corners of what is feasible, none of which rounding can move."""
    rows = list(_rows(network))
    worth = [Fraction(0)] * len(network.modules)
    for out in network.outflows:
        worth[network.modules.index(out.origin)] += Fraction(out.weight) * Fraction(out.produces)
    return max(float(_dot(worth, x)) for x in _corners(rows, len(worth)) if _feasible(rows, x))


def _rows(network: Network) -> Iterator[Row]:
    """Every constraint of the paper's (LP)."""
    count = len(network.modules)
    yield [Fraction(1)] * count, Fraction(network.budget)
    for i in range(count):
        yield _row(count, {i: Fraction(-1)}), Fraction(0)
    at = network.modules.index
    for inflow in network.inflows:
        if inflow.rate < inf:
            taken = {at(inflow.target): Fraction(inflow.consumes)}
            yield _row(count, taken), Fraction(inflow.rate)
    for link in network.links:
        ends = {at(link.target): Fraction(link.consumes), at(link.origin): -Fraction(link.produces)}
        yield _row(count, ends), Fraction(0)


def _row(count: int, given: dict[int, Fraction]) -> list[Fraction]:
    return [given.get(i, Fraction(0)) for i in range(count)]


def _corners(rows: list[Row], count: int) -> Iterator[list[Fraction]]:
    for chosen in combinations(rows, count):
        corner = _solve([[*left, right] for left, right in chosen])
        if corner is not None:
            yield corner


def _solve(rows: list[list[Fraction]]) -> list[Fraction] | None:
    """The one point where all hold with equality; None where there is not one."""
    for i in range(len(rows)):
        pivot = next((j for j in range(i, len(rows)) if rows[j][i] != 0), None)
        if pivot is None:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for j in range(len(rows)):
            if j != i and rows[j][i] != 0:
                factor = rows[j][i]
                rows[j] = [b - factor * a for a, b in zip(rows[i], rows[j], strict=True)]
    return [row[-1] for row in rows]


def _feasible(rows: list[Row], x: list[Fraction]) -> bool:
    return all(_dot(left, x) <= right for left, right in rows)


def _dot(left: list[Fraction], right: list[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True)), Fraction(0))


@st.composite
def small_graphs(draw: st.DrawFn) -> Network:
    """Up to three modules with numbers from a millionth to a million."""
    amount = st.floats(-6.0, 6.0).map(lambda exponent: 10.0**exponent)
    names = tuple("abc"[: draw(st.integers(1, 3))])
    pairs = [(i, j) for i, j in combinations(names, 2) if draw(st.booleans())]
    links = [
        Link(origin=i, target=j, produces=draw(amount), consumes=draw(amount)) for i, j in pairs
    ]
    heads = [name for name in names if all(name != target for _, target in pairs)]
    rate = st.one_of(st.just(inf), amount)
    inflows = [
        Inflow(name=f"s-{name}", target=name, consumes=draw(amount), rate=draw(rate))
        for name in names
        if name in heads or draw(st.booleans())
    ]
    ends = [name for name in names if name == names[-1] or draw(st.booleans())]
    return Network(
        budget=draw(amount),
        modules=names,
        inflows=tuple(inflows),
        links=tuple(links),
        outflows=tuple(
            Outflow(name=f"o-{name}", origin=name, produces=draw(amount), weight=draw(amount))
            for name in ends
        ),
    )
