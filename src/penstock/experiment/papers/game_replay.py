"""What agents would have said and paid in the steps of a run, had they been set up differently.

Arrivals and running times do not depend on what is decided, so a run need not be repeated to learn
how incentives of another size, or gossip in place of the tree, would have fared: every decision is
made again with the model that it was made with.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.experiment.papers.game_runs import Course
from penstock.experiment.papers.game_service import player
from penstock.model import FlowModel
from penstock.policy.game import Plan, Topology, nash
from penstock.policy.game.conversation import Conversation
from penstock.policy.game.incentive import INCREMENT, MAX_ROUNDS, play
from penstock.policy.game.views import push_sum

Floats = NDArray[np.float64]
Models = Sequence[FlowModel]

INCREMENTS: Final = (1 / 2, 1 / 5, 1 / 10, 1 / 20, 1 / 50, 1 / 100)
"""Of the price, by which incentives grow: game, Fig. 16."""
ITERATIONS: Final = 30
"""Of gossip, at most: game, Fig. 17a."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tuning:
    """Means over the steps of a run, for each increment."""

    rounds: Floats
    stability: Floats
    """Cost with incentives by cost without, both with whole replicas."""


def incentives(course: Course) -> Floats:
    """What each module was paid for a replica when it was decided on, as a share of its price.

    The last round is the one that did not help, and the degrees are those of the round before; its
    incentives are those that the rounds before it had led to.
    """
    return np.array(
        [_incentives(m, p.rounds - 2) for m, p in zip(course.models, course.plans, strict=True)]
    )


def tuning(models: Models) -> Tuning:
    """Rounds and costs with incentives that grow faster or more slowly."""
    selfish = np.array([_cost(model, player("nash").plan(model)) for model in models])
    rounds, stability = [], []
    for increment in INCREMENTS:
        plans = [player("incentive", increment=increment).plan(model) for model in models]
        costs = np.array([_cost(m, p) for m, p in zip(models, plans, strict=True)])
        rounds.append(float(np.mean([plan.rounds for plan in plans])))
        stability.append(float(np.mean(costs / selfish)))
    return Tuning(rounds=np.array(rounds), stability=np.array(stability))


def gossip_messages(models: Models) -> float:
    """Messages of a step, on average, where the cost of all is added up by gossip."""
    gossiping = player("incentive", aggregation="gossip")
    return float(np.mean([gossiping.plan(model).messages for model in models]))


def gossip_errors(models: Models) -> Floats:
    """By how much the agent that is worst informed is off, after 1, 2, 3... iterations.

    As a share of the cost of all at the equilibrium, on average over the models.
    """
    topology = Topology.of(models[0].neighbours)
    own = np.array(
        [list(nash(m, topology=topology, agents_up_to=0).costs.values()) for m in models]
    )
    exact = own.sum(axis=1)
    after = [push_sum(own.T, topology, n) for n in range(1, ITERATIONS + 1)]
    return np.array([np.abs(told / exact - 1.0).max(axis=0).mean() for told in after])


def _incentives(model: FlowModel, rounds: int) -> list[float]:
    talk = Conversation(model)
    if rounds > 0:
        play(talk, increment=INCREMENT, max_rounds=min(rounds, MAX_ROUNDS))
    return [agent.incentive / agent.model.price for agent in talk.agents]


def _cost(model: FlowModel, plan: Plan) -> float:
    """Of one step, with whole replicas."""
    return sum(model.costs({name: float(n) for name, n in plan.rounded.items()}).values())
