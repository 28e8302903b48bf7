"""The paper's object-recognition service: its figures, worked out by hand."""

import json
from typing import Any

import pytest

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module, Stream
from penstock.model import FlowModel
from penstock.policy.game import PLANNERS, Plan, incentive, nash, social
from penstock.policy.game.agents import MessageExchange
from penstock.policy.game.aggregate import Tally, gossip
from tests.support.game_graphs import SERVICE

MODEL = FlowModel.of(SERVICE)
BOTH = pytest.mark.parametrize("agents_up_to", [0, 5], ids=["at once", "by messages"])


def degrees(plan: Plan) -> list[float]:
    return [plan.replicas[name] for name in SERVICE.names()[1:]]


@BOTH
def test_the_equilibrium_is_set_by_the_recognizer(agents_up_to: int) -> None:
    plan = nash(MODEL, agents_up_to=agents_up_to)
    assert plan.inter_departure["dispatcher"] == pytest.approx(0.7150, abs=5e-5)
    assert degrees(plan) == pytest.approx([1.73, 2.56, 10.91, 20.20], abs=0.005)
    assert plan.replicas["dispatcher"] == 1.0
    assert plan.cost == pytest.approx(3.0785, abs=5e-5)
    assert plan.bottleneck == ("recognizer",)
    assert plan.messages == 3 * 2 * 5


@BOTH
def test_the_optimum_takes_every_core_of_the_recognizer(agents_up_to: int) -> None:
    plan = social(MODEL, agents_up_to=agents_up_to)
    assert plan.inter_departure["dispatcher"] == pytest.approx(0.45125)
    assert degrees(plan) == pytest.approx([2.75, 4.06, 17.29, 32.0], abs=0.005)
    assert plan.cost == pytest.approx(2.4894, abs=5e-5)
    assert plan.bottleneck == ("recognizer",)
    assert plan.cost / nash(MODEL).cost == pytest.approx(0.809, abs=5e-4)


@BOTH
def test_incentives_arrive_at_the_optimum_in_twelve_rounds(agents_up_to: int) -> None:
    plan = incentive(MODEL, agents_up_to=agents_up_to)
    assert plan.replicas == pytest.approx(social(MODEL).replicas)
    assert (plan.rounds, plan.messages) == (12, 12 * (30 + 8))


def test_smaller_increments_take_more_rounds_and_come_closer() -> None:
    """Game, Fig. 16: where rows from outside leave room between equilibrium and optimum."""
    model = MODEL.arriving_every(0.5)
    plans = [incentive(model, increment=step) for step in (0.4, 0.2, 0.1, 0.05, 0.01)]
    rounds = [plan.rounds for plan in plans]
    assert rounds == sorted(rounds)
    assert rounds[0] < rounds[-1]
    assert plans[-1].cost == pytest.approx(social(model).cost, rel=1e-3)


@pytest.mark.parametrize("kind", sorted(PLANNERS))
def test_where_few_rows_come_all_strategies_agree_and_the_source_sets_the_pace(kind: str) -> None:
    """Game, Section 6.2: phases in which the strategies take the same decisions."""
    plan = PLANNERS[kind](MODEL.arriving_every(0.9))
    assert plan.bottleneck == ("dispatcher",)
    assert plan.inter_departure == pytest.approx(
        {name: 0.9 / m.reach for name, m in MODEL.modules.items()}
    )
    assert list(plan.rounded.values()) == [1, 1, 2, 9, 16]


@pytest.mark.parametrize("inter_arrival", [0.0, 0.3, 0.46, 0.5, 0.6, 0.7, 0.9, 3.0])
def test_the_optimum_takes_at_most_a_tenth_of_the_messages(inter_arrival: float) -> None:
    model = MODEL.arriving_every(inter_arrival)
    best, encouraged = social(model), incentive(model)
    assert best.cost <= encouraged.cost * (1 + 1e-12)
    assert best.messages <= 0.1 * encouraged.messages


def test_a_module_without_a_choice_is_asked_but_gets_no_answer() -> None:
    assert social(MODEL).messages == 4 + 3


@pytest.mark.parametrize("inter_arrival", [0.0, 0.6, 1.5])
def test_gossip_is_within_two_percent_after_fifteen_iterations_at_every_agent(
    inter_arrival: float,
) -> None:
    """Game, Fig. 17a."""
    talk = MessageExchange(MODEL.arriving_every(inter_arrival))
    talk.find_pne()
    own = {agent.model.name: Tally((agent.cost,)) for agent in talk.agents}
    exact = sum(tally.sums[0] for tally in own.values())
    estimates = gossip(talk.neighbours, own, talk.network, 15)
    assert len(estimates) == 5
    for estimate in estimates:
        assert estimate.sums[0] == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize("kind", ["incentive", "social"])
@pytest.mark.parametrize("inter_arrival", [0.0, 0.5, 0.62, 1.0])
def test_gossip_comes_to_the_same_whole_degrees_as_the_tree(
    kind: str, inter_arrival: float
) -> None:
    model = MODEL.arriving_every(inter_arrival)
    tree, gossiped = (PLANNERS[kind](model, aggregation=by) for by in ("tree", "gossip"))
    assert gossiped.rounded == tree.rounded
    assert gossiped.cost == pytest.approx(tree.cost, rel=0.02)
    assert gossiped.messages > tree.messages


def test_a_plan_is_reported_in_the_shape_that_others_script_against() -> None:
    document = json.loads(json.dumps(nash(MODEL).to_json()))
    assert list(document) == [
        "policy",
        "replicas",
        "rounded",
        "inter_departure",
        "bottleneck",
        "cost",
        "messages",
        "rounds",
    ]
    assert document["policy"] == "nash"
    assert document["rounded"] == {
        "dispatcher": 1,
        "denoiser-1": 2,
        "denoiser-2": 3,
        "edge-detector": 11,
        "recognizer": 20,
    }
    assert document["bottleneck"] == ["recognizer"]
    assert document["cost"]["total"] == pytest.approx(sum(document["cost"]["modules"].values()))
    assert (document["messages"], document["rounds"]) == (30, 1)
    for by_module in ("replicas", "inter_departure"):
        assert list(document[by_module]) == list(SERVICE.names())


def test_a_single_module_needs_no_agreement() -> None:
    alone = FlowModel.of(FlowGraph(source="recognizer", modules=SERVICE.modules[-1:]))
    for planner in PLANNERS.values():
        plan = planner(alone)
        assert plan.replicas["recognizer"] == pytest.approx(20.197, abs=1e-3)
        assert plan.messages == 0


@pytest.mark.parametrize("kind", sorted(PLANNERS))
@pytest.mark.parametrize("setting", ["service_time", "price", "delay_cost"])
def test_a_module_without_stakes_is_refused_by_name(kind: str, setting: str) -> None:
    stakes = {"service_time": 1.0, "price": 1.0, "delay_cost": 1.0}
    modules = Module(name="a", **stakes), Module(name="b", **{**stakes, setting: 0.0})  # type: ignore[arg-type]
    graph = FlowGraph(source="a", modules=modules, streams=(Stream(origin="a", target="b"),))
    with pytest.raises(SettingError, match="of module b must be above 0 and finite, got 0"):
        PLANNERS[kind](FlowModel.of(graph))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_rounds": 0}, "max_rounds of policy incentive must be 1 or more, got 0"),
        ({"increment": -0.1}, r"increment of policy incentive must be in \(0, 1\], got -0.1"),
        ({"aggregation": "sum"}, "kind of aggregation must be tree or gossip, got 'sum'"),
        ({"rounding": "half"}, "rounding must be nearest or up, got 'half'"),
    ],
)
def test_planners_refuse_what_policies_refuse(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        incentive(MODEL, **settings)
