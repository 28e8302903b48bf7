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
    query, targets = PricingQuery(network), dict(network.weights)
    best, slope, value = dict[str, float](), dict[str, float](), 0.0
    step, changes = FIRST_STEP, list[float]()
    for _ in range(questions):
        answer = query.ask(targets)
        flows = _afforded(answer, network)
        brought = network.worth(flows)
        most = max(value, brought)
        changes.append(abs(brought - value) / most if most > 0 else 0.0)
        if brought > value:
            step = min(step * LONGER, LONGEST_STEP) if best else step
            best, value, slope = flows, brought, _slope(answer, network)
        else:
            step *= SHORTER
        little = len(changes) > CONVERGED and max(changes[-CONVERGED:]) < tolerance
        if little or not any(slope.values()):
            break
        steepest = max(abs(each) for each in slope.values())
        targets = {x: flow * exp(step * slope[x] / steepest) for x, flow in best.items()}
    return agreed_allocation(query, best, policy="heuristic-b", promised=value)


def _afforded(answer: Answer, network: Network) -> dict[str, float]:
    """The outputs in the proportions that were asked about that budget and sources allow."""
    taken = max(answer.total / network.budget, answer.strain)
    if network.weights and not (isfinite(taken) and taken > 0):
        raise SettingError(
            f"outputs in proportion to the weights take {answer.total:g} of resource, which "
            "cannot be computed with; give rates and weights in other units"
        )
    return {sink: flow / taken for sink, flow in answer.targets.items()}


def _slope(answer: Answer, network: Network) -> dict[str, float]:
    """By sink, its share of the value less its share of the cost."""
    value, cost = network.worth(answer.targets), _costs(answer, network.budget)
    total = sum(cost.values())
    return {
        sink: network.weights[sink] * flow / value - cost.get(sink, 0.0) / total
        for sink, flow in answer.targets.items()
    }


def _costs(answer: Answer, budget: float) -> dict[str, float]:
    """What each sink takes of the scarce resource: the budget, or the scarcest source."""
    if answer.total / budget >= answer.strain:
        return {sink: flow * answer.price(sink) for sink, flow in answer.targets.items()}
    scarce = max(answer.targets, key=lambda sink: answer.targets[sink] * answer.prices[sink].strain)
    return {scarce: 1.0}
