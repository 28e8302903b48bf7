"""What the paper proves of its games, on any graph: properties of Sections 4 and 5."""

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.model import FlowModel
from penstock.policy.game import PLANNERS, Plan, Topology, incentive, nash, social
from penstock.policy.game.agents import adapt, agents_of, find_pne
from penstock.policy.game.aggregate import Network
from penstock.policy.game.costs import preferred_replicas, shortest_interval
from tests.support.game_graphs import chain, models

EACH = pytest.mark.parametrize("kind", sorted(PLANNERS))


def free(model: FlowModel) -> list[str]:
    """The modules that have something to choose."""
    return [name for name, module in model.modules.items() if not module.fixed]


def limit(model: FlowModel) -> float:
    """The shortest seconds per row of the source that all can keep."""
    return max(shortest_interval(m) * m.reach for m in model.modules.values())


def pace_of(plan: Plan, model: FlowModel) -> float:
    return plan.inter_departure[model.source]


def e_vector(model: FlowModel, pace: float) -> dict[str, float]:
    fixed = {name: m.max_replicas for name, m in model.modules.items() if m.fixed}
    return {**model.fitting(pace), **fixed}


@EACH
@given(model=models())
@settings(max_examples=60)
def test_no_replica_is_wasted(kind: str, model: FlowModel) -> None:
    """The result is an E-vector: game, Def. 4.7."""
    plan = PLANNERS[kind](model)
    efficiency = model.pace(plan.replicas).efficiency
    for name in free(model):
        assert efficiency[name] == pytest.approx(1.0, rel=1e-6)
        assert 0.0 < plan.replicas[name] <= model.modules[name].most
    assert plan.inter_departure == pytest.approx(
        {name: pace_of(plan, model) / m.reach for name, m in model.modules.items()}
    )


@given(models())
@settings(max_examples=60)
def test_no_agent_gains_by_deviating_alone(model: FlowModel) -> None:
    """The result is a Nash equilibrium: game, Def. 4.4."""
    plan = nash(model)
    for name in free(model):
        module = model.modules[name]
        for share in (0.2, 0.7, 0.95, 0.999, 1.001, 1.05, 1.5, 4.0):
            other = min(share * plan.replicas[name], module.most)
            pace = model.pace({**plan.replicas, name: other}).inter_departure[name]
            assert module.cost(other, pace) >= plan.costs[name] * (1 - 1e-9)


@given(models())
@settings(max_examples=60)
def test_some_agent_has_the_degree_it_wishes_for_and_none_has_more(model: FlowModel) -> None:
    """Game, Prop. 4.9 and 4.15; where rows from outside set the pace, the source has too many."""
    plan = nash(model)
    wishes = {name: preferred_replicas(m) for name, m in model.modules.items()}
    assert all(plan.replicas[name] <= wishes[name] * (1 + 1e-9) for name in wishes)
    limited = model.modules[model.source].inter_arrival >= pace_of(plan, model) * (1 - 1e-9)
    content = [n for n in wishes if plan.replicas[n] == pytest.approx(wishes[n], rel=1e-7)]
    assert content or limited
    assert set(plan.bottleneck) <= {*content, *([model.source] if limited else [])}
    assert plan.bottleneck


@given(models(), st.floats(-3.0, 3.0))
@settings(max_examples=100)
def test_no_other_e_vector_is_better_for_all(model: FlowModel, away: float) -> None:
    """The equilibrium is Pareto-optimal: game, Def. 4.11 and Prop. 4.15."""
    plan = nash(model)
    here = pace_of(plan, model)
    pace = max(here * 10**away, limit(model))
    assume(free(model) and abs(pace / here - 1.0) > 1e-3)
    other = model.costs(e_vector(model, pace))
    assert any(other[name] > cost for name, cost in plan.costs.items())


@given(models(), st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_the_order_and_the_numbers_of_agents_do_not_matter(
    model: FlowModel, chance: object
) -> None:
    """The equilibrium is unique: game, Prop. 4.16."""
    names = list(model.modules)
    chance.shuffle(names)  # type: ignore[attr-defined]
    shuffled = FlowModel(
        source=model.source,
        modules={name: model.modules[name] for name in names},
        neighbours={name: tuple(sorted(model.neighbours[name])) for name in names},
    )
    for planner in (nash, incentive, social):
        one, other = planner(model), planner(shuffled)
        assert other.replicas == pytest.approx(one.replicas, rel=1e-6)
        assert other.rounds == one.rounds


@given(models())
@settings(max_examples=60)
def test_agents_agree_within_as_many_iterations_as_the_diameter(model: FlowModel) -> None:
    """Game, Prop. 4.17: afterwards there is no news."""
    agents = agents_of(model)
    network = Network({agent.model.name: agent.mailbox for agent in agents})
    find_pne(agents, network, Topology.of(model.neighbours).diameter)
    agreed = [agent.pace for agent in agents]
    adapt(agents, network, 3)
    assert [agent.pace for agent in agents] == pytest.approx(agreed, rel=1e-12)


@EACH
@pytest.mark.parametrize("aggregation", ["tree", "gossip"])
@given(model=models(most=20))
@settings(max_examples=25)
def test_agents_and_arithmetic_arrive_at_the_same(
    kind: str, aggregation: str, model: FlowModel
) -> None:
    how = {} if kind == "nash" else {"aggregation": aggregation}
    talk = PLANNERS[kind](model, agents_up_to=10**6, **how)
    bulk = PLANNERS[kind](model, agents_up_to=0, **how)
    assert bulk.replicas == pytest.approx(talk.replicas, rel=1e-6)
    assert bulk.costs == pytest.approx(talk.costs, rel=1e-7)  # a minimum is flat: so many digits
    counted = ("bottleneck", "messages", "rounds", "iterations")
    assert [getattr(bulk, n) for n in counted] == [getattr(talk, n) for n in counted]


@given(models())
@settings(max_examples=100)
def test_the_optimum_costs_no_more_than_incentives_and_those_no_more_than_selfishness(
    model: FlowModel,
) -> None:
    best, encouraged, selfish = social(model), incentive(model), nash(model)
    assert best.cost <= encouraged.cost * (1 + 1e-9)
    assert encouraged.cost <= selfish.cost * (1 + 1e-9)


@given(models(), st.sampled_from(["tree", "gossip"]))
@settings(max_examples=60)
def test_messages_are_as_many_as_the_paper_counts(model: FlowModel, aggregation: str) -> None:
    """D * 2|A| for a game; 2(m - 1) up and down the tree; by gossip 2|A| an iteration, and D
    further ones to agree whether to stop."""
    shape = Topology.of(model.neighbours)
    game = shape.diameter * sum(len(near) for near in model.neighbours.values())
    assert nash(model).messages == game
    summed = {"tree": 2 * (shape.size - 1), "gossip": 15 * shape.links + game}[aggregation]
    plan = incentive(model, aggregation=aggregation)
    assert plan.messages == plan.rounds * (game + summed)
    time = {"tree": 2 * shape.height, "gossip": 15 + shape.diameter}[aggregation]
    assert plan.iterations == plan.rounds * (shape.diameter + time)


@given(models(), st.integers(1, 4))
@settings(max_examples=40)
def test_rounds_are_never_more_than_allowed_and_never_make_it_worse(
    model: FlowModel, rounds: int
) -> None:
    few, one_more = (incentive(model, max_rounds=n) for n in (rounds, rounds + 1))
    assert few.rounds <= rounds
    assert one_more.cost <= few.cost * (1 + 1e-12)
    assert incentive(model, max_rounds=1).replicas == nash(model).replicas


@given(models(), st.floats(0.02, 20.0))
@settings(max_examples=60)
def test_slower_arrivals_never_ask_for_more_replicas(
    model: FlowModel, inter_arrival: float
) -> None:
    for planner in (nash, social):
        fast = planner(model.arriving_every(inter_arrival)).replicas
        slow = planner(model.arriving_every(2 * inter_arrival)).replicas
        assert all(slow[name] <= fast[name] * (1 + 1e-6) for name in fast)


@EACH
@given(model=models(), rounding=st.sampled_from(["nearest", "up"]))
@settings(max_examples=40)
def test_rounded_degrees_are_near_and_within_bounds(
    kind: str, model: FlowModel, rounding: str
) -> None:
    plan = PLANNERS[kind](model, rounding=rounding)
    for name, module in model.modules.items():
        whole, real = plan.rounded[name], plan.replicas[name]
        assert isinstance(whole, int)
        assert module.min_replicas <= whole <= module.max_replicas
        low = 0.0 if rounding == "up" else -0.5
        assert low - 1e-6 <= whole - max(real, 1.0) <= 1.0


@given(models(most=12))
@settings(max_examples=30)
def test_costs_scale_with_the_currency_and_degrees_do_not(model: FlowModel) -> None:
    dearer = replace(
        model,
        modules={
            name: replace(m, price=7.0 * m.price, delay_cost=7.0 * m.delay_cost)
            for name, m in model.modules.items()
        },
    )
    for kind in PLANNERS:
        one, other = PLANNERS[kind](model), PLANNERS[kind](dearer)
        assert other.replicas == pytest.approx(one.replicas, rel=1e-6)
        assert other.cost == pytest.approx(7.0 * one.cost, rel=1e-6)


def test_ten_thousand_modules_are_counted_as_agents_would_have_spoken() -> None:
    """No agent could: there would be two hundred million messages in each game."""
    model = FlowModel.of(chain([0.1 + i % 7 for i in range(10_000)], max_replicas=1000))
    shape = Topology.of(model.neighbours)
    plans = {kind: PLANNERS[kind](model, topology=shape) for kind in PLANNERS}
    assert plans["nash"].messages == 9_999 * 2 * 9_999
    assert plans["social"].messages == 2 * 9_999
    rounds = plans["incentive"].rounds
    assert plans["incentive"].messages == rounds * (9_999 * 2 * 9_999 + 2 * 9_999)
    assert plans["social"].cost < plans["incentive"].cost < plans["nash"].cost
