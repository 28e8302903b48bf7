"""What one module wants and can do, from its own model alone: the arithmetic of an agent.

A module with one degree only has nothing to choose, is paid for as it is, and passes on what it
hears like any other.
"""

from typing import NamedTuple

from penstock.model import Ideal, Saturating
from penstock.model.flow_graph import SAME_PACE, ModuleModel


def preferred_replicas(module: ModuleModel, incentive: float = 0.0) -> float:
    """The replicas that it would choose alone, if this much of each one's price were paid for it.

    Game, `idealDegree` of Alg. 2: an incentive of the whole price makes it want all that help.
    """
    if module.fixed:
        return module.max_replicas
    rest = module.price - incentive
    return module.ideal(rest if rest > SAME_PACE * module.price else 0.0)


def fit(module: ModuleModel, inter_departure: float) -> float:
    """The replicas with which it is as slow as the rest: game, Expr. 11."""
    return module.max_replicas if module.fixed else module.replicas(inter_departure)


def most(module: ModuleModel) -> float:
    """The replicas with which it is fastest."""
    return module.max_replicas if module.fixed else module.most


def shortest_interval(module: ModuleModel) -> float:
    """The shortest time between its results that it can reach, rows from outside permitting."""
    return module.service_time(most(module))


def is_nonlinear(module: ModuleModel) -> bool:
    """Whether its replicas are something else than its work divided by the pace."""
    return not module.fixed and not isinstance(module.scalability, Ideal | Saturating)


class CostTerms(NamedTuple):
    """What must be known of all modules to find their best common pace: four sums, three maxima.

    Paces are those of the source: seconds between two rows that enter the graph.
    """

    delay: float
    """Cost of one more second at the source: the sum of delay_cost / reach."""
    work: float
    """Price of a pace of one second: the sum of price * running_time * reach, where replicas are
    in inverse proportion to the pace."""
    standing: float
    """Price of the replicas that are there at any pace."""
    curved: float
    """Modules of which none of the two is true, and which have to be asked pace by pace."""
    limit: float
    """The shortest pace that all can keep."""
    minus_quickest: float
    """Minus the shortest pace that any would choose alone, so that the largest counts."""
    slowest: float
    """The longest pace that any would choose alone."""

    @classmethod
    def of(cls, module: ModuleModel) -> "CostTerms":
        """What one module knows of it."""
        curved = is_nonlinear(module)
        alone = module.service_time(preferred_replicas(module)) * module.reach
        work = module.price * module.running_time * module.reach
        return cls(
            delay=module.delay_cost / module.reach,
            work=0.0 if module.fixed or curved else work,
            standing=module.price * module.max_replicas if module.fixed else 0.0,
            curved=float(curved),
            limit=shortest_interval(module) * module.reach,
            minus_quickest=-alone,
            slowest=alone,
        )
