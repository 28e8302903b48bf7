"""Processing networks of every class that the alloc paper speaks of, and their exact optimum.

A maker takes a generator and a number of modules and returns a `Network`; `networks(maker)` is the
Hypothesis strategy over what it makes, with few modules and unlimited sources at first.
`true_optimum` is computed in fractions: no rounding, whatever the numbers span.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import inf
from typing import Any

import numpy as np
from hypothesis import strategies as st

from penstock.policy.allocation.network import Inflow, Link, Network, Outflow

Draw = np.random.Generator
Numbers = Callable[[Draw], float]
Pair = tuple[int, int]
Maker = Callable[..., Network]
Row = list[Fraction]


def uniform(draw: Draw) -> float:
    """Between 0 and 1, as in the paper's experiments."""
    return float(1.0 - draw.random())


def wide(draw: Draw) -> float:
    """Any of twelve orders of magnitude."""
    return float(10.0 ** draw.uniform(-6.0, 6.0))


def few(draw: Draw) -> float:
    """One of three numbers, so that much is equal to much."""
    return float(draw.choice((0.5, 1.0, 2.0)))


def network_of(
    draw: Draw,
    size: int,
    pairs: Iterable[Pair],
    *,
    sinks: Collection[int] | None = None,
    numbers: Numbers = uniform,
    limited: float = 0.0,
) -> Network:
    """Modules m0, m1, ... with these links; whatever none feeds has a source.

    Sinks are where no link leaves, unless they are told. Of the sources a share of `limited` give a
    rate only, which now and then is too little.
    """
    links = sorted(pairs)
    fed, feeding = {target for _, target in links}, {origin for origin, _ in links}
    last = [i for i in range(size) if i not in feeding] if sinks is None else sorted(sinks)
    return Network(
        budget=numbers(draw),
        modules=tuple(f"m{i}" for i in range(size)),
        inflows=tuple(
            Inflow(
                name=f"s{i}",
                target=f"m{i}",
                consumes=numbers(draw),
                rate=numbers(draw) / size if draw.random() < limited else np.inf,
            )
            for i in range(size)
            if i not in fed
        ),
        links=tuple(
            Link(origin=f"m{i}", target=f"m{j}", produces=numbers(draw), consumes=numbers(draw))
            for i, j in links
        ),
        outflows=tuple(
            Outflow(name=f"o{i}", origin=f"m{i}", produces=numbers(draw), weight=numbers(draw))
            for i in last
        ),
    )


def general(draw: Draw, size: int, **settings: Any) -> Network:
    """An acyclic graph by the paper's generator: points in the unit square, each linked to those
    right of it and above it that no other one stands between (alloc, Section 7.2)."""
    points = draw.random((size, 2))
    after = (points[None, :, :] > points[:, None, :]).all(axis=2)
    between = (after.astype(int) @ after.astype(int)) > 0
    pairs = [(int(i), int(j)) for i, j in np.argwhere(after & ~between)]
    return network_of(draw, size, pairs, **settings)


def anything(draw: Draw, size: int, **settings: Any) -> Network:
    """An acyclic graph in any number of pieces, with sinks anywhere and modules that feed none."""
    odds = draw.random() * min(1.0, 6.0 / size)
    pairs = [(i, j) for j in range(size) for i in range(j) if draw.random() < odds]
    chosen = draw.choice(size, int(draw.integers(1, size + 1)), replace=False)
    return network_of(draw, size, pairs, sinks={int(i) for i in chosen}, **settings)


def single_output(draw: Draw, size: int, **settings: Any) -> Network:
    """Any acyclic graph in which every module leads to the last, which has the only sink."""
    pairs = {(i, int(draw.integers(i + 1, size))) for i in range(size - 1)}
    odds = draw.random() * min(1.0, 4.0 / size)
    pairs |= {(i, j) for j in range(size) for i in range(j) if draw.random() < odds}
    return network_of(draw, size, pairs, sinks={size - 1}, **settings)


def tree(draw: Draw, size: int, *, inner: float = 0.0, **settings: Any) -> Network:
    """A tree that fans out from m0, with a sink at each leaf, and at a share of the others."""
    pairs = [(int(draw.integers(0, i)), i) for i in range(1, size)]
    feeding = {origin for origin, _ in pairs}
    sinks = {i for i in range(size) if i not in feeding or draw.random() < inner}
    return network_of(draw, size, pairs, sinks=sinks, **settings)


def series_parallel(draw: Draw, size: int, **settings: Any) -> Network:
    """A series-parallel graph (`series_parallel_part`) between a parent and up to three leaves.

    m0 is its head and m1 its tail.
    """
    core = max(size - 1 - size // 4, 2)
    leaves = int(draw.integers(1, 4))
    pairs = series_parallel_part(draw, core) | {(core, 0)}
    pairs |= {(1, core + 1 + i) for i in range(leaves)}
    if draw.random() < 0.5:  # what leaves the part may also be of use without it
        pairs |= {(core, core + 1 + leaves)}
        leaves += 1
    return network_of(draw, core + 1 + leaves, pairs, **settings)


def series_parallel_part(draw: Draw, size: int) -> set[Pair]:
    """Links of a series-parallel graph with the head 0 and the tail 1."""
    pairs = {(0, 1)}
    for new in range(2, size):
        first, last = sorted(pairs)[int(draw.integers(len(pairs)))]
        if draw.random() < 0.5:
            pairs.remove((first, last))
        pairs |= {(first, new), (new, last)}
    return pairs


def single_link(draw: Draw, size: int, **settings: Any) -> Network:
    """Two acyclic graphs with one link between: from any of m0, m1, ... to the head of the second.

    The second has the names from m{size // 2} on, and its head leads to all of it.
    """
    half = max(size // 2, 1)
    rest = max(size - half, 1)
    pairs = _below_head(draw, half)
    pairs |= {(i + half, j + half) for i, j in _below_head(draw, rest)}
    pairs |= {(int(draw.integers(half)), half)}
    return network_of(draw, half + rest, pairs, **settings)


def _below_head(draw: Draw, size: int) -> set[Pair]:
    pairs = {(int(draw.integers(0, i)), i) for i in range(1, size)}
    return pairs | {
        (i, j) for j in range(size) for i in range(j) if draw.random() < min(0.5, 2.0 / size)
    }


def scaled(network: Network, times: float) -> Network:
    """The same network with so many times the budget."""
    return replace(network, budget=network.budget * times)


def networks(
    make: Maker,
    *,
    least: int = 1,
    most: int = 12,
    numbers: Iterable[Numbers] = (uniform, few, wide),
    limited: Iterable[float] = (0.0, 0.5, 1.0),
    **settings: Any,
) -> st.SearchStrategy[Network]:
    """Networks that a maker makes."""

    def made(seed: int, size: int, drawn: Numbers, share: float) -> Network:
        draw = np.random.default_rng(seed)
        return make(draw, size, numbers=drawn, limited=share, **settings)

    return st.builds(
        made,
        st.integers(0, 2**32 - 1),
        st.integers(least, most),
        st.sampled_from(tuple(numbers)),
        st.sampled_from(tuple(limited)),
    )


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


def true_optimum(network: Network) -> float:
    """What the best division of the budget is worth; for up to ten modules or so.

    The LP of the alloc paper (Section 3) by the simplex method. Nothing is a feasible start, and
    the entering column is always the first that gains, so that it cannot go round in circles
    (Bland).
    """
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
