"""Gradient ascent in the proportions of the outputs: Heuristic B.

The virtual final sink chooses how much flow of each sink goes into one unit of its own, which makes
the network one with a single output, and Algorithm 1 says what a unit takes: f(u), the value that
budget and sources allow in these proportions. It begins with the weights for proportions.

The gradient comes with the same question: the share of the value that a sink brings, less its share
of the cost, is the gradient of log f in the logarithms of the proportions. In logarithms, because
good proportions may lie orders of magnitude apart. The sink with the steepest slope changes by a
factor of `exp(step)`, the others in proportion to their slope. The step doubles when that was
better; when it was not, it shrinks and starts from the best point again. It ends when two questions
in a row changed the value by less than the tolerance.
"""

from math import exp, isfinite
from typing import Annotated, Final

from penstock.core.errors import SettingError
from penstock.core.schema import Bounds, Count, read
from penstock.policy.allocation.allocation import Allocation, agreed_allocation
from penstock.policy.allocation.messages import Answer, PricingQuery
from penstock.policy.allocation.network import Network

FIRST_STEP: Final = 3.0
LONGEST_STEP: Final = 50.0
LONGER: Final = 2.0
SHORTER: Final = 0.3
CONVERGED: Final = 2
"""Questions in a row that change little: one alone is often a step that went too far."""

_Tolerance = Annotated[float, Bounds(above=0, below=1)]


def solve(network: Network, *, tolerance: _Tolerance = 0.1, questions: Count = 100) -> Allocation:
    """A good allocation, without a bound on its distance from the optimum."""
    read(_Tolerance, tolerance, what="tolerance")
    read(Count, questions, what="questions")
    query, ascent = PricingQuery(network), _Ascent(network)
    for _ in range(questions):
        ascent.learn(query.ask(ascent.targets))
        if ascent.converged(tolerance):
            break
        ascent.move()
    return agreed_allocation(query, ascent.best, policy="heuristic-b", promised=ascent.value)


class _Ascent:
    """What the final sink knows: the best outputs yet, the slope there, and the step length."""

    def __init__(self, network: Network) -> None:
        self.budget = network.budget
        self.weights = network.weights
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
        most = max(self.value, value)
        self.changes.append(abs(value - self.value) / most if most > 0 else 0.0)
        if value > self.value:
            self.step = min(self.step * LONGER, LONGEST_STEP) if self.best else self.step
            self.best, self.value, self.slope = flows, value, self._slope(answer)
        else:
            self.step *= SHORTER

    def converged(self, tolerance: float) -> bool:
        """Whether the slope is zero, or the last questions changed the value little."""
        if not any(self.slope.values()):
            return True
        last = self.changes[1:][-CONVERGED:]
        return len(last) == CONVERGED and max(last) < tolerance

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
    """What each sink takes of the scarce resource: the budget, or the scarcest source."""
    if answer.total / budget >= answer.strain:
        return {sink: flow * answer.price(sink) for sink, flow in answer.targets.items()}
    scarce = max(answer.targets, key=lambda sink: answer.targets[sink] * answer.prices[sink].strain)
    return {scarce: 1.0}
