"""The pace that costs all modules together the least, in one pass over the tree.

With no replica wasted, one number fixes every degree: the seconds between two rows of the source.
Where replicas are in inverse proportion to it, the cost of all is `delay * pace + work / pace`,
smallest at the root of `work / delay` or at the shortest pace that all can keep. Two sums and a
maximum are all that must be known. Other convex modules are asked what they would pay at many paces
at once.

`smallest` finds the minimum of a convex function, asking for many points at a time. Each question
goes once up and down the tree, so a few long questions are better than many short ones. Values at
neighbouring points also bound how much lower the function can be between them, so the search knows
when it is done.

>>> minimum = smallest(1.0, 100.0, lambda x: x + 9.0 / x)
>>> round(minimum.at, 4), minimum.questions
(3.0, 3)
"""

from collections.abc import Callable
from math import sqrt
from typing import Final, NamedTuple

import numpy as np

from penstock.model import FlowModel
from penstock.model.flow_graph import SAME_PACE
from penstock.policy.game.aggregate import Aggregation, Floats
from penstock.policy.game.costs import CostTerms
from penstock.policy.game.plan import AGENTS_UP_TO, Exchange, Plan, exchange_for, plan_of
from penstock.policy.game.topology import Topology

_POINTS: Final = 128
_QUESTIONS: Final = 8
_HALVINGS: Final = 24


class Minimum(NamedTuple):
    """Where it is, and how many questions it took."""

    at: float
    questions: int


def grid(low: float, high: float) -> Floats:
    """Points between two bounds, each by the same factor above the one before."""
    return np.geomspace(low, high, _POINTS)


def smallest(
    low: float, high: float, ask: Callable[[Floats], Floats], tolerance: float = 1e-9
) -> Minimum:
    """The point of the smallest value between two bounds, to within a share of that value."""
    points = grid(low, high)
    values, questions = ask(points), 1
    while questions < _QUESTIONS:
        bracket = _Bracket(points, values)
        if bracket.depth() <= tolerance * abs(bracket.value):
            break
        asked = bracket.next_points()
        points, values = bracket.joined(asked, ask(asked))
        questions += 1
    return Minimum(at=float(points[values.argmin()]), questions=questions)


class _Bracket:
    """The lowest of several points, with the neighbours that bound the minimum between them."""

    def __init__(self, points: Floats, values: Floats) -> None:
        best = int(values.argmin())
        near = slice(max(best - 2, 0), best + 3)
        self.points, self.values = points[near], values[near]
        self.best = int(self.values.argmin())
        self.value = float(self.values[self.best])

    def depth(self) -> float:
        """How much lower than the lowest point the function may be, at most."""
        return self.value - min((bound for _, bound in self._meetings()), default=self.value)

    def next_points(self) -> Floats:
        """Points closer and closer to where the smallest value may be expected."""
        first, last = max(self.best - 1, 0), min(self.best + 1, len(self.points) - 1)
        low, high = self.points[first], self.points[last]
        steps = (high - low) * 0.5 ** np.arange(1, _HALVINGS)
        likely = np.array([*(at for at, _ in self._meetings()), *self._vertex()])
        points = np.concatenate([likely, *(likely[:, None] + [*steps, *-steps])])
        inside = np.unique(points[(points > low) & (points < high)])
        return inside[~np.isin(inside, self.points)]

    def joined(self, points: Floats, values: Floats) -> tuple[Floats, Floats]:
        """What was known and what was asked, in order."""
        points, values = np.append(self.points, points), np.append(self.values, values)
        order = points.argsort()
        return points[order], values[order]

    def _meetings(self) -> list[tuple[float, float]]:
        """On either side, where the lines through the points beyond meet: nothing is below them."""
        at, last = self.best, len(self.points) - 1
        sides = [(at, at + 1)] * (at < last) + [(at - 1, at)] * (at > 0)
        return [self._meeting(left, right) for left, right in sides]

    def _meeting(self, left: int, right: int) -> tuple[float, float]:
        falling, rising = self._line(left - 1, left), self._line(right, right + 1)
        ends = self.points[left], self.points[right]
        if falling is None or rising is None:
            line, at = (rising, ends[0]) if falling is None else (falling, ends[1])
            return (float(at), line(at)) if line else (float(ends[0]), -np.inf)
        gap = [falling(end) - rising(end) for end in ends]
        share = gap[0] / (gap[0] - gap[1]) if gap[0] > 0.0 > gap[1] else float(gap[0] > 0.0)
        at = ends[0] + share * (ends[1] - ends[0])
        return float(at), max(falling(at), rising(at))

    def _line(self, left: int, right: int) -> Callable[[float], float] | None:
        """Through two neighbouring points; None where there are none."""
        if left < 0 or right >= len(self.points):
            return None
        x, y = self.points[left], self.values[left]
        slope = (self.values[right] - y) / (self.points[right] - x)
        return lambda at: float(y + slope * (at - x))

    def _vertex(self) -> list[float]:
        """Of the parabola through the lowest point and its neighbours."""
        if not 0 < self.best < len(self.points) - 1:
            return [float(self.points[self.best])]
        x, y = self.points[self.best - 1 :][:3], self.values[self.best - 1 :][:3]
        before, after = (y[1] - y[0]) / (x[1] - x[0]), (y[2] - y[1]) / (x[2] - x[1])
        if after <= before:
            return []
        bend = (after - before) / (x[2] - x[0])
        return [float((x[0] + x[1]) / 2.0 - before / (2.0 * bend))]


def social(
    model: FlowModel,
    *,
    topology: Topology | None = None,
    aggregation: str = "tree",
    iterations: int = 15,
    rounding: str = "nearest",
    agents_up_to: int = AGENTS_UP_TO,
) -> Plan:
    """What costs all modules together the least."""
    by = Aggregation(aggregation, iterations)
    exchange = exchange_for(model, topology, by, agents_up_to=agents_up_to)
    rounds = agree(exchange, by_gossip=by.by_gossip)
    return plan_of("social", model, exchange, rounds=rounds, rounding=rounding)


def agree(exchange: Exchange, *, by_gossip: bool) -> int:
    """Find the best pace and let all follow it; returns how often all were asked."""
    views = exchange.cost_terms()
    # No module gains from less than the quickest pace that any prefers, or from more than the
    # slowest. These are maxima, which all views agree on.
    low, high = (max(pace, views[0].limit) for pace in (-views[0].minus_quickest, views[0].slowest))
    if not any(view.curved > SAME_PACE for view in views):
        # Where the derivative is zero, if all can keep that pace.
        best = [max(sqrt(view.work / view.delay), view.limit) for view in views]
        exchange.settle(np.array(best))
        return 1
    if high <= low * (1.0 + SAME_PACE):
        exchange.settle(np.full(len(views), low))
        return 1
    if by_gossip:  # estimates that differ leave nothing to search more closely
        paces = grid(low, high)
        prices = exchange.prices_at(paces)
        costs = [_cost(view, paces, price) for view, price in zip(views, prices, strict=True)]
        exchange.settle(paces[np.argmin(costs, axis=1)])
        return 2
    minimum = smallest(
        low, high, lambda paces: _cost(views[0], paces, exchange.prices_at(paces)[0])
    )
    exchange.settle(np.array([minimum.at]))
    return 1 + minimum.questions


def _cost(view: CostTerms, paces: Floats, curved: Floats) -> Floats:
    cost: Floats = view.delay * paces + view.work / paces + view.standing + curved
    return cost
