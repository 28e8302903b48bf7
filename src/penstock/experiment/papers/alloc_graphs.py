"""Random graphs by the paper's generator (alloc, Section 7.2).

Points in the unit square; those above and to the right of a point are its successors, and it is
linked to those of them that are no successors of others. The points are modules: one without
predecessors gets an unlimited source, one without successors a sink. Rates and weights are uniform
in (0, 1), and the budget is 1.

>>> import numpy as np
>>> network = draw(20, np.random.default_rng(1))
>>> len(network.modules), len(network.links), len(network.inflows), len(network.outflows)
(20, 37, 5, 5)
>>> len(draw(20, np.random.default_rng(1), graph=ORDER).links)  # links to all successors
88
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.experiment.reproduction import Floats
from penstock.policy.allocation.network import Inflow, Link, Network, Outflow

REDUCED: Final = "as written"
"""Links to immediate successors only: the generator's steps (3) and (4)."""
ORDER: Final = "all successors"
"""Links to all of them, which the paper's numbers of edges are nearer to."""
GRAPHS: Final = (REDUCED, ORDER)


def draw(nodes: int, rng: np.random.Generator, *, graph: str = REDUCED) -> Network:
    """A random graph with random rates."""
    after = _successors(rng.random((nodes, 2)))
    links = np.argwhere(after if graph == ORDER else after & ~_beyond(after))
    tops, ends = np.flatnonzero(~after.any(axis=0)), np.flatnonzero(~after.any(axis=1))
    produced, consumed = (_open(rng, len(links)) for _ in range(2))
    supplied = _open(rng, len(tops))
    made, weights = (_open(rng, len(ends)) for _ in range(2))
    return Network(
        budget=1.0,
        modules=tuple(f"m{i}" for i in range(nodes)),
        inflows=tuple(
            Inflow(name=f"s{i}", target=f"m{i}", consumes=consumes)
            for i, consumes in zip(tops, supplied, strict=True)
        ),
        links=tuple(
            Link(origin=f"m{i}", target=f"m{j}", produces=produces, consumes=consumes)
            for (i, j), produces, consumes in zip(links, produced, consumed, strict=True)
        ),
        outflows=tuple(
            Outflow(name=f"o{i}", origin=f"m{i}", produces=produces, weight=weight)
            for i, produces, weight in zip(ends, made, weights, strict=True)
        ),
    )


def _successors(points: Floats) -> NDArray[np.bool_]:
    """Whether the second is above and to the right of the first; never of a point itself.

    The paper's S_i holds i too, as it is written; then no link would be left in step (3).
    """
    after: NDArray[np.bool_] = np.all(points[:, None] <= points[None], axis=2)
    np.fill_diagonal(after, val=False)
    return after


def _beyond(after: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether there is one between: successors of successors."""
    paths: NDArray[np.bool_] = after.astype(np.float32) @ after.astype(np.float32) > 0
    return paths


def _open(rng: np.random.Generator, count: int) -> list[float]:
    """Uniform in (0, 1), without its ends."""
    drawn: list[float] = np.maximum(rng.random(count), np.finfo(float).tiny).tolist()
    return drawn
