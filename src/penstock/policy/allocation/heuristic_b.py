"""Climbing from one proportion of outputs to a better one: Heuristic B.

The virtual final sink chooses how much flow of each sink goes into one unit of its own, which makes
the network one with a single output, and Algorithm 1 says what a unit takes: f(u), the value that
budget and sources allow in these proportions. It begins with the weights for proportions.

The gradient comes with the same question (`gradient`): the share of the value that a sink brings,
less the share of the cost that it is billed for, is the gradient of log f in the logarithms of the
proportions. In logarithms, because good proportions may lie orders of magnitude apart. The sink
with the steepest slope changes by a factor of `exp(step)`, the others by as much less as their
slope is less. The step doubles when that was better; when it was not, it shrinks and starts from
the best point again. It ends when two questions in a row changed the value by less than the
tolerance.
"""

from math import exp, isfinite
from typing import Final

from penstock.core.errors import SettingError
from penstock.policy.allocation.allocation import Allocation, checked_allocation
from penstock.policy.allocation.messages import Answer, PricingQuery
from penstock.policy.allocation.network import Network

FIRST_STEP: Final = 3.0
LONGEST_STEP: Final = 50.0
LONGER: Final = 2.0
SHORTER: Final = 0.3
CALM: Final = 2
"""Questions in a row that change little: one alone is often a step that went too far."""


def solve(network: Network, *, tolerance: float = 0.1, questions: int = 100) -> Allocation:
    """A good allocation, without a bound on its distance from the optimum.

    >>> from penstock.policy.allocation.network import Network, Outflow
    >>> network = Network(
    ...     budget=1.0,
    ...     modules=("a", "b"),
    ...     outflows=(
    ...         Outflow(name="x", origin="a", produces=1.0, weight=1.0),
    ...         Outflow(name="y", origin="b", produces=3.0, weight=1.0),
    ...     ),
    ... )
    >>> round(solve(network).value, 2), round(solve(network, tolerance=0.001).value, 2)
    (3.0, 3.0)
    """
    if not 0.0 < tolerance < 1.0:
        raise SettingError(f"tolerance must be between 0 and 1, got {tolerance:g}")
    if questions < 1:
        raise SettingError(f"questions must be at least 1, got {questions}")
    query = PricingQuery.of(network)
    climb = _Climb(network)
    for _ in range(questions):
        climb.learn(query.ask(climb.targets))
        if climb.calm(tolerance):
            break
        climb.move()
    resource = query.allocate(climb.best)
    return checked_allocation(
        network, resource, policy="heuristic-b", promised=climb.value, bus=query.bus
    )


class _Climb:
    """What the final sink knows: the best outputs yet, the slope there, and the step length."""

    def __init__(self, network: Network) -> None:
        self.budget = network.budget
        self.weights = {outflow.name: outflow.weight for outflow in network.outflows}
        self.targets = dict(self.weights)
        self.best: dict[str, float] = {}
        self.slope: dict[str, float] = {}
        self.value = 0.0
        self.step = FIRST_STEP
        self.changes: list[float] = []

    def learn(self, answer: Answer) -> None:
        """Keep what was asked about, if it is the best."""
        flows = self._afforded(answer)
        value = sum(self.weights[sink] * flow for sink, flow in flows.items())
        self.changes.append(_change(self.value, value))
        if value > self.value:
            self.step = min(self.step * LONGER, LONGEST_STEP) if self.best else self.step
            self.best, self.value, self.slope = flows, value, self._slope(answer)
        else:
            self.step *= SHORTER

    def calm(self, tolerance: float) -> bool:
        """Whether nothing is left to climb, or the last questions changed little."""
        if not any(self.slope.values()):
            return True
        last = self.changes[1:][-CALM:]
        return len(last) == CALM and max(last) < tolerance

    def move(self) -> None:
        """Step from the best point along the slope."""
        steepest = max(abs(slope) for slope in self.slope.values())
        self.targets = {
            sink: flow * exp(self.step * self.slope[sink] / steepest)
            for sink, flow in self.best.items()
        }

    def _afforded(self, answer: Answer) -> dict[str, float]:
        taken = max(answer.total / self.budget, answer.strain)
        if self.weights and not (isfinite(taken) and taken > 0):
            raise SettingError(
                f"outputs in proportion to the weights take {answer.total:g} of resource, which "
                "cannot be computed with; give rates and weights in other units"
            )
        return {sink: flow / taken for sink, flow in answer.targets.items()}

    def _slope(self, answer: Answer) -> dict[str, float]:
        value = sum(self.weights[sink] * flow for sink, flow in answer.targets.items())
        cost = _costs(answer, self.budget)
        total = sum(cost.values())
        return {
            sink: self.weights[sink] * flow / value - cost.get(sink, 0.0) / total
            for sink, flow in answer.targets.items()
        }


def _costs(answer: Answer, budget: float) -> dict[str, float]:
    """What each sink takes of that which is short: the budget, or the scarcest source."""
    if answer.total / budget >= answer.strain:
        return {sink: flow * answer.price(sink) for sink, flow in answer.targets.items()}
    scarce = max(answer.targets, key=lambda sink: answer.targets[sink] * answer.bills[sink].strain)
    return {scarce: 1.0}


def _change(before: float, after: float) -> float:
    most = max(before, after)
    return abs(after - before) / most if most > 0 else 0.0
