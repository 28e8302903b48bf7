"""How well trees follow their rates: under one perturbation, and under one every few hops.

>>> import numpy as np
>>> course = play([tree := draw_tree(20, np.random.default_rng(1)), tree], SHARED, hops=5)
>>> course.share  # nothing has changed, so nothing is lost
array([1., 1., 1., 1., 1.])

Trees adapt hop by hop in compiled code, so that thousands can be played.
`penstock.policy.allocation.adaptation` has the same as agents that send messages; a test holds the
two against each other. Here no messages are sent: the top knows of a module at depth d what that
announced d hops ago, and a module obeys a plan d hops after it was made.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.experiment.results import Floats
from penstock.model.compiling import compiled, entry
from penstock.papers.alloc.graphs import Tree, draw_tree, perturbed
from penstock.policy.allocation.adaptation import SLACK, SMOOTHING, THRESHOLD

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
    """Whether a plan takes effect everywhere at once; else in each module on receipt."""
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
    trees = [draw_tree(modules, rng)]
    for _ in range(perturbations):
        trees.append(perturbed(trees[-1], rng, kind))
    return trees


def play(trees: Sequence[Tree], reading: Reading, *, hops: int) -> Course:
    """Follow a tree that was perturbed every so often, first at hop 0, evenly over all hops."""

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


Ints = NDArray[np.int64]

CONSUMES, FED, WORTH = 0, 1, 2
"""Rows of rates."""


@compiled
def _sweep(parents: Ints, rates: Floats, price: float, value: Floats, resource: Floats) -> None:
    """What a unit of each module's resource brings and takes, with all below worth its price."""
    for j in range(len(parents)):
        value[j], resource[j] = rates[WORTH, j], 1.0
    for j in range(len(parents) - 1, 0, -1):
        if value[j] > price * resource[j]:
            ratio = rates[FED, j] / rates[CONSUMES, j]
            value[parents[j]] += ratio * value[j]
            resource[parents[j]] += ratio * resource[j]


@compiled
def _best(parents: Ints, rates: Floats, value: Floats, resource: Floats) -> float:
    """The price at which the budget is just used up: the value of the best division of 1.

    Each price is the value of a division, and better than the one before, so it ends.
    """
    price = 0.0
    while True:
        _sweep(parents, rates, price, value, resource)
        better = value[0] / resource[0]
        if better <= price:
            return price
        price = better


@compiled
def _divide(
    parents: Ints, depths: Ints, rates: Floats, plan: Floats, value: Floats, resource: Floats
) -> int:
    """The best division of 1; and how deep its furthest module is."""
    price = _best(parents, rates, value, resource)
    plan[0] = 1.0 / resource[0]
    furthest = 0
    for j in range(1, len(parents)):
        plan[j] = 0.0
        if plan[parents[j]] > 0.0 and value[j] > price * resource[j]:
            plan[j] = plan[parents[j]] * rates[FED, j] / rates[CONSUMES, j]
            furthest = max(furthest, depths[j])
    return furthest


@compiled
def _achieved(parents: Ints, rates: Floats, weights: Floats, busy: Floats, lent: bool) -> float:
    """Value of what the weights come to in a pool of 1."""
    busy[0] = weights[0]
    value, used, total = rates[WORTH, 0] * busy[0], busy[0], weights[0]
    for j in range(1, len(parents)):
        busy[j] = min(weights[j], busy[parents[j]] * rates[FED, j] / rates[CONSUMES, j])
        value += rates[WORTH, j] * busy[j]
        used += busy[j]
        total += weights[j]
    achieved: float = value / (used if lent else total)
    return achieved


@compiled
def _notice(
    earlier: Floats, announced: Floats, true: Floats, sums: Floats, slack: float, threshold: float
) -> None:
    """Measure all rates, and announce those that have changed."""
    for row in range(announced.shape[0]):
        for j in range(announced.shape[1]):
            before, measured = earlier[row, j], true[row, j]
            announced[row, j] = before
            if before <= 0.0 or (measured == before and sums[0, row, j] + sums[1, row, j] == 0.0):
                continue
            deviation = log(measured / before)
            sums[0, row, j] = max(0.0, sums[0, row, j] + deviation - slack)
            sums[1, row, j] = max(0.0, sums[1, row, j] - deviation - slack)
            if max(sums[0, row, j], sums[1, row, j]) > threshold:
                announced[row, j] = measured
                sums[0, row, j] = sums[1, row, j] = 0.0


@compiled
def _gather(depths: Ints, history: Floats, now: int, known: Floats) -> None:
    """What has reached the top; entry 0 of the history is from before the first hop."""
    for j in range(len(depths)):
        heard = max(0, now + 1 - depths[j])
        known[CONSUMES, j] = history[heard, CONSUMES, j]
        known[WORTH, j] = history[heard, WORTH, j]
        known[FED, j] = history[max(0, now + 1 - max(0, depths[j] - 1)), FED, j]


@compiled
def _assigned(j: int, depth: int, now: int, plans: Floats, delays: Ints) -> float:
    """What the latest plan that has reached a module, and is due, gives it."""
    made = now
    while made >= 0 and made + max(depth, delays[made + 1]) > now:
        made -= 1
    given: float = plans[made + 1, j]
    return given


@entry
def follow(
    parents: Ints,
    depths: Ints,
    truth: Floats,
    every: int,
    smoothing: float,
    slack: float,
    threshold: float,
    together: bool,
    lent: bool,
    history: Floats,
    plans: Floats,
    delays: Ints,
    sums: Floats,
    known: Floats,
    scratch: Floats,
    optima: Floats,
    values: Floats,
) -> None:
    """Let hops pass and write down the best and the achieved value at each.

    `truth` has the rates before the first hop and after each perturbation; the arrays after `lent`
    are written to; before that, `sums` is zero, and `history` begins with what `truth` begins with.
    """
    value, resource, weights, busy = scratch[0], scratch[1], scratch[2], scratch[3]
    _divide(parents, depths, truth[0], plans[0], value, resource)
    for j in range(len(parents)):
        weights[j] = plans[0, j]
    for now in range(len(values)):
        true = truth[1 + now // every]
        optima[now] = _best(parents, true, value, resource)
        values[now] = _achieved(parents, true, weights, busy, lent)
        _notice(history[now], history[now + 1], true, sums, slack, threshold)
        _gather(depths, history, now, known)
        furthest = _divide(parents, depths, known, plans[now + 1], value, resource)
        delays[now + 1] = furthest if together else 0
        for j in range(len(parents)):
            given = _assigned(j, depths[j], now, plans, delays)
            weights[j] = smoothing * weights[j] + (1.0 - smoothing) * given
