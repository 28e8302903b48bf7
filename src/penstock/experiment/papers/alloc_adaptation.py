"""How well trees follow their rates: under one perturbation, and under one every few hops.

>>> import numpy as np
>>> course = play([tree := draw(20, np.random.default_rng(1)), tree], SHARED, hops=5)
>>> course.share  # nothing has changed, so nothing is lost
array([1., 1., 1., 1., 1.])
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from penstock.experiment.papers.alloc_trees import Tree, draw, perturbed
from penstock.experiment.reproduction import Floats
from penstock.policy.allocation.adaptation import SMOOTHING
from penstock.policy.allocation.adaptation_change import SLACK, THRESHOLD

HOPS: Final = 40
"""That a single perturbation is followed,"""
REACHED: Final = 0.95
"""and the share of the new optimum that counts as reached."""
EVERY: Final = 5
"""Hops from one perturbation to the next, where there are several,"""
PERTURBATIONS: Final = 20
"""and how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How the paper's text was taken."""

    name: str
    together: bool = True
    """Whether a plan takes effect everywhere at once; else each module acts when it hears."""
    lent: bool = True
    """Whether others have what a module cannot use for want of input; else it lies idle."""
    adapts: bool = True
    """Whether anything is done at all."""


SHARED: Final = Reading(name="adapting")
RESERVED: Final = Reading(name="idle resource is lost", lent=False)
PLAIN: Final = Reading(name="and each hop acts by itself", lent=False, together=False)
STILL: Final = Reading(name="no adaptation", adapts=False)
READINGS: Final = (SHARED, RESERVED, PLAIN, STILL)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Course:
    """The value of a tree, hop by hop."""

    optimum: Floats
    value: Floats

    @property
    def share(self) -> Floats:
        """Achieved of the optimum."""
        return self.value / self.optimum

    @property
    def reached(self) -> int | None:
        """The hop at which the share is first high enough; None where it never is."""
        enough = np.flatnonzero(self.share >= REACHED)
        return int(enough[0]) if enough.size else None


def once(modules: int, kind: str, seed: int) -> list[Tree]:
    """A tree before and after its only perturbation."""
    return _history(modules, kind, seed, 1)


def again(modules: int, kind: str, seed: int) -> list[Tree]:
    """A tree before and after each perturbation, which all add up."""
    return _history(modules, kind, seed, PERTURBATIONS)


def _history(modules: int, kind: str, seed: int, perturbations: int) -> list[Tree]:
    rng = np.random.default_rng([seed, modules, perturbations])
    trees = [draw(modules, rng)]
    for _ in range(perturbations):
        trees.append(perturbed(trees[-1], rng, kind))
    return trees


def play(trees: Sequence[Tree], reading: Reading, *, hops: int) -> Course:
    """Follow a tree that was perturbed every so often, first at hop 0, evenly over all hops."""
    from penstock.experiment.papers.alloc_trees_engine import follow

    first, modules = trees[0], len(trees[0].parents)
    truth = np.stack([tree.rates for tree in trees])
    history = np.empty((hops + 1, *first.rates.shape))
    history[0] = truth[0]
    optimum, value = np.empty(hops), np.empty(hops)
    follow(
        first.parents,
        first.depths,
        truth,
        -(-hops // (len(trees) - 1)),
        SMOOTHING,
        SLACK,
        THRESHOLD if reading.adapts else np.inf,
        reading.together,
        reading.lent,
        history,
        np.empty((hops + 1, modules)),
        np.zeros(hops + 1, np.int64),
        np.zeros((2, 3, modules)),
        np.empty((3, modules)),
        np.empty((4, modules)),
        optimum,
        value,
    )
    return Course(optimum=optimum, value=value)
