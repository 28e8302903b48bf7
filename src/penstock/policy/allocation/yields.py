"""What a part of a network makes of a unit of flow, by how much resource it gets.

The more it gets the more it brings, and ever less for each further unit: a concave curve of
straight pieces, told by its corners. Each corner is the best answer to a price of resource.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf
from typing import Any, Final

import numpy as np

from penstock.core.errors import PenstockError
from penstock.policy.allocation import flow, lp
from penstock.policy.allocation.network import Link, Network

BULGE: Final = 1e-9
"""Share of the value by which a corner must stand out from between two others."""
GAP: Final = 1e-8
"""Share of the best use of resource by which the first corner may fall short of it."""
STEP: Final = 1e3
"""Times the value of a corner that the next may have, for none between to be overlooked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Yield:
    """A corner: who gets what, how much that is together, and what it is worth."""

    resource: Mapping[str, float]
    total: float
    value: float


def yields(network: Network) -> list[Yield]:
    """The corners from no resource to plenty, whatever the budget; sources must bound the rest.

    >>> from penstock.policy.allocation.network import Inflow, Link, Network, Outflow
    >>> fork = Network(
    ...     budget=1.0,
    ...     modules=("b", "good", "fair"),
    ...     inflows=(Inflow(name="s", target="b", consumes=1.0, rate=1.0),),
    ...     links=(
    ...         Link(origin="b", target="good", produces=1.0, consumes=1.0),
    ...         Link(origin="b", target="fair", produces=1.0, consumes=1.0),
    ...     ),
    ...     outflows=(
    ...         Outflow(name="x", origin="good", produces=1.0, weight=10.0),
    ...         Outflow(name="y", origin="fair", produces=1.0, weight=3.0),
    ...     ),
    ... )
    >>> [(corner.total, corner.value) for corner in yields(fork)]
    [(0.0, 0.0), (2.0, 10.0), (3.0, 13.0)]
    """
    most = flow.active(network, dict.fromkeys(network.modules, inf))
    corners = [_corner(network, {}), _corner(network, flow.outputs(network, most))]
    if corners[1].value <= 0:
        return corners[:1]
    i = 0
    while i + 1 < len(corners):
        between = _between(network, *corners[i : i + 2])
        if between is None:
            i += 1
        else:
            corners.insert(i + 1, between)
    # Beside all that came before, the last corner may bring too little for numbers to show.
    return corners if corners[-1].value > corners[-2].value else corners[:-1]


def trusted(network: Network, corners: Sequence[Yield]) -> bool:
    """Whether a solver cannot have overlooked a corner, small as it is beside the next.

    The first is the best use of resource where flow is no limit, which is found in another way.
    """
    if len(corners) < 2:
        return True
    endless = replace(network, inflows=tuple(replace(one, rate=inf) for one in network.inflows))
    best = lp.solve(endless).value / network.budget
    first = corners[1].value / corners[1].total
    steps = pairwise(corners[1:])
    return first >= best * (1.0 - GAP) and all(b.value <= STEP * a.value for a, b in steps)


def _between(network: Network, less: Yield, more: Yield) -> Yield | None:
    price = (more.value - less.value) / (more.total - less.total)
    found = _best(network, more.resource, price)
    bulge = (found.value - less.value) - price * (found.total - less.total)
    stands_out = less.total < found.total < more.total and bulge > BULGE * found.value
    return found if stands_out else None


def _corner(network: Network, outputs: Mapping[str, float]) -> Yield:
    resource = flow.needs(network, outputs)
    return Yield(
        resource=resource,
        total=sum(resource.values()),
        value=sum(out.weight * outputs.get(out.name, 0.0) for out in network.outflows),
    )


def _best(network: Network, most: Mapping[str, float], price: float) -> Yield:
    """The best at a price, given what was best at a lower one: as prices rise none takes more.

    A linear program in shares of that, as a solver's tolerances are absolute.
    """
    from scipy.optimize import linprog

    at = {module: i for i, module in enumerate(m for m in network.modules if most[m] > 0)}
    gains = np.array([-price * most[module] for module in at])
    for out in network.outflows:
        if out.origin in at:
            gains[at[out.origin]] += out.weight * out.produces * most[out.origin]
    links = [link for link in network.links if link.target in at]
    found = linprog(
        -gains / (np.abs(gains).max() or 1.0),
        A_ub=_rows(links, most, at) if links else None,
        b_ub=np.zeros(len(links)) if links else None,
        bounds=(0.0, 1.0),
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if not found.success:
        raise PenstockError(f"HiGHS found no best yield at a price of {price:g}: {found.message}")
    shares = zip(at, found.x.tolist(), strict=True)
    taken = dict.fromkeys(network.modules, 0.0) | {m: most[m] * share for m, share in shares}
    return _corner(network, flow.outputs(network, taken))


def _rows(links: Sequence[Link], most: Mapping[str, float], at: Mapping[str, int]) -> Any:
    """Takes less makes, as a share of the most that the origin of each link can make."""
    from scipy.sparse import coo_array

    numbers = [*range(len(links))] * 2
    ends = [*(at[link.target] for link in links), *(at[link.origin] for link in links)]
    makes = [link.produces * most[link.origin] for link in links]
    takes = [link.consumes * most[link.target] for link in links]
    shares = np.divide(takes, makes)
    entries = np.concatenate([shares, np.full(len(links), -1.0)])
    return coo_array((entries, (numbers, ends)), shape=(len(links), len(at))).tocsr()
