"""Random graphs and trees of the alloc paper, and what perturbs them.

**Graphs** (Section 7.2). Points in the unit square; those above and to the right of a point are its
successors, and it is linked to those of them that are no successors of others. The points are
modules: one without predecessors gets an unlimited source, one without successors a sink. Rates and
weights are uniform in (0, 1), and the budget is 1.

>>> import numpy as np
>>> network = draw_graph(20, np.random.default_rng(1))
>>> len(network.modules), len(network.links), len(network.inflows), len(network.outflows)
(20, 37, 5, 5)
>>> len(draw_graph(20, np.random.default_rng(1), graph=ORDER).links)  # links to all successors
88

**Trees** (Section 7.3). The paper says how many modules its trees have and how deep they are, and
no more. Here a tree begins with a chain of the full depth; each further module is fed by one drawn
from all that are not at the bottom. Rates and weights are uniform in (0, 1), as those of the other
graphs. Sinks are behind the leaves, the top has an unlimited source, and the budget is 1.

>>> tree = draw_tree(10, np.random.default_rng(1))
>>> int(tree.depths.max()), len(tree.network().modules)
(7, 10)
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.experiment.results import Floats
from penstock.policy.allocation.network import Inflow, Link, Network, Outflow

REDUCED: Final = "as written"
"""Links to immediate successors only: the generator's steps (3) and (4)."""
ORDER: Final = "all successors"
"""Links to all of them, which the paper's numbers of edges are nearer to."""
GRAPHS: Final = (REDUCED, ORDER)


def draw_graph(nodes: int, rng: np.random.Generator, *, graph: str = REDUCED) -> Network:
    """A random graph with random rates."""
    after = _successors(rng.random((nodes, 2)))
    links = np.argwhere(after if graph == ORDER else after & ~_beyond(after))
    tops, ends = np.flatnonzero(~after.any(axis=0)), np.flatnonzero(~after.any(axis=1))
    produced, consumed = _open(rng, 2, len(links)).tolist()
    [supplied] = _open(rng, 1, len(tops)).tolist()
    made, weights = _open(rng, 2, len(ends)).tolist()
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


def _open(rng: np.random.Generator, *shape: int) -> Floats:
    """Uniform in (0, 1), without its ends."""
    draws: Floats = np.maximum(rng.random(shape), np.finfo(float).tiny)
    return draws


DEPTH: Final = 7
"""Hops from the top to the deepest leaf."""
CHOSEN: Final = 0.5
"""Chance of a module to be perturbed: every subset of modules is as likely as any other."""
EXTENT: Final = 0.2
"""Share by which a rate of a perturbed module rises or falls, at most."""
WITHIN: Final = "up to 20 %"
"""Factors of a perturbation are uniform in [0.8, 1.2]."""
EXACTLY: Final = "exactly 20 %"
"""They are 0.8 or 1.2."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tree:
    """Modules, each after the one that feeds it. Arrays have a value for each."""

    parents: Ints
    """Of the top: itself."""
    depths: Ints
    """Hops from the top."""
    consumes: Floats
    """Of the parent's flow, by a unit of resource: alpha. Of the top 1, of no account."""
    fed: Floats
    """Flow that a unit of the parent's resource produces for it: beta. Likewise."""
    worth: Floats
    """What a unit of resource brings at its own sink: beta times weight; 0 where it has none."""

    @property
    def rates(self) -> Floats:
        """All three, row by row."""
        return np.stack([self.consumes, self.fed, self.worth])

    def network(self) -> Network:
        """As planners take it."""
        names = [f"m{index}" for index in range(len(self.parents))]
        links = (
            Link(
                origin=names[self.parents[index]],
                target=names[index],
                produces=float(self.fed[index]),
                consumes=float(self.consumes[index]),
            )
            for index in range(1, len(names))
        )
        sinks = np.flatnonzero(self.worth)
        return Network(
            budget=1.0,
            modules=tuple(names),
            inflows=(Inflow(name="s", target="m0", consumes=1.0),),
            links=tuple(links),
            outflows=tuple(
                Outflow(name=f"o{i}", origin=names[i], produces=float(self.worth[i])) for i in sinks
            ),
        )


def draw_tree(modules: int, rng: np.random.Generator, *, depth: int = DEPTH) -> Tree:
    """A random tree; of fewer modules than that takes, a chain."""
    parents, depths = _shape(modules, rng, depth)
    leaves = np.ones(modules, bool)
    leaves[parents[1:]] = False
    consumes, fed, produces, weights = _open(rng, 4, modules)
    consumes[0] = fed[0] = 1.0
    worth = np.where(leaves, produces * weights, 0.0)
    return Tree(parents=parents, depths=depths, consumes=consumes, fed=fed, worth=worth)


def perturbed(tree: Tree, rng: np.random.Generator, kind: str = WITHIN) -> Tree:
    """The same tree after a random subset of its modules has changed their rates."""
    chosen = rng.random(len(tree.parents)) < CHOSEN
    drawn = rng.uniform(-1.0, 1.0, (3, len(chosen)))
    moved = 1.0 + EXTENT * (np.sign(drawn) if kind == EXACTLY else drawn)
    own = np.where(chosen, moved, 1.0)
    feeding = np.where(chosen[tree.parents], moved[1], 1.0)  # what feeds a module is its parent's
    own[0, 0] = feeding[0] = 1.0  # the top's source gives whatever it takes
    return replace(
        tree, consumes=tree.consumes * own[0], fed=tree.fed * feeding, worth=tree.worth * own[2]
    )


def _shape(modules: int, rng: np.random.Generator, depth: int) -> tuple[Ints, Ints]:
    chain = min(depth + 1, modules)
    parents, depths = [0, *range(chain - 1)], list(range(chain))
    above = list(range(chain - 1)) or [0]
    for index, at in enumerate(rng.random(modules - chain), start=chain):
        parent = above[int(at * len(above))]
        parents.append(parent)
        depths.append(depths[parent] + 1)
        if depths[index] < depth:
            above.append(index)
    return np.array(parents, np.int64), np.array(depths, np.int64)
