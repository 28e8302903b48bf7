"""The optimum: beside a search by brute force, whatever the service-time models."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from penstock.core.graph import FlowGraph, Module, Stream
from penstock.model import FlowModel
from penstock.policy.game import incentive, social
from penstock.policy.game.bulk import ReplicasAtPace
from penstock.policy.game.costs import fit, preferred_replicas, shortest_interval
from penstock.policy.game.social import smallest
from penstock.policy.game.topology import Topology
from tests.support.game_graphs import models, random_graph

Floats = NDArray[np.float64]


def total(model: FlowModel, pace: float) -> float:
    """What all pay if every module fits a pace of the source."""
    costs = (m.cost(fit(m, pace / m.reach), pace / m.reach) for m in model.modules.values())
    return sum(costs)


def brute_force(model: FlowModel) -> float:
    """The least that all can pay: the cost is convex, so thirds of the room can be dropped."""
    modules = model.modules.values()
    low = max(shortest_interval(m) * m.reach for m in modules)
    high = max(low, *(m.service_time(preferred_replicas(m)) * m.reach for m in modules)) * 2.0
    for _ in range(150):
        left, right = low + (high - low) / 3.0, high - (high - low) / 3.0
        if total(model, left) <= total(model, right):
            high = right
        else:
            low = left
    return total(model, low)


@given(models(kinds=("ideal", "saturating")))
@settings(max_examples=100)
def test_the_closed_form_is_the_optimum(model: FlowModel) -> None:
    plan = social(model)
    assert plan.cost == pytest.approx(brute_force(model), rel=1e-9)
    assert plan.rounds == 1
    assert plan.messages <= 2 * (len(model.modules) - 1)


@given(models())
@settings(max_examples=100)
def test_any_convex_models_have_their_optimum_found_in_a_few_passes(model: FlowModel) -> None:
    plan = social(model)
    assert plan.cost <= brute_force(model) * (1 + 1e-6)
    assert plan.rounds <= 6
    assert plan.messages <= plan.rounds * 2 * (len(model.modules) - 1)


def curved_among_ideal() -> FlowModel:
    """A source that feeds one curved module and eight ideal ones."""
    common = {"price": 0.01, "delay_cost": 0.5, "max_replicas": 40}
    others = [Module(name=f"m{i}", service_time=1.0 + i, **common) for i in range(9)]  # type: ignore[arg-type]
    curved = Module(name="c", service_time=9.0, scaling="minimum", best_replicas=20, **common)  # type: ignore[arg-type]
    streams = [Stream(origin="m0", target=m.name, probability=1 / 9) for m in (*others[1:], curved)]
    return FlowModel.of(FlowGraph(source="m0", modules=(*others, curved), streams=tuple(streams)))


def test_only_curved_modules_are_asked_again() -> None:
    model = curved_among_ideal()
    plan = social(model)
    assert plan.rounds > 1
    assert plan.messages == 9 + 2 * (plan.rounds - 1) + 9
    assert plan.cost == pytest.approx(brute_force(model), rel=1e-6)


@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
@settings(max_examples=60)
def test_the_optimum_takes_a_tenth_of_the_messages_wherever_that_can_be(
    seed: int, size: int
) -> None:
    """Any sum that all learn takes 2(m - 1) messages, and a round at least D + 1 times that."""
    model = FlowModel.of(random_graph(seed, size, kinds=("ideal", "saturating")))
    best, encouraged = social(model), incentive(model)
    assert best.cost <= encouraged.cost * (1 + 1e-12)
    if encouraged.rounds * (Topology.of(model.neighbours).diameter + 1) >= 10:
        assert best.messages <= 0.1 * encouraged.messages


@given(models(), st.floats(0.1, 1e3))
@settings(max_examples=60)
def test_fitting_all_at_once_is_fitting_one_by_one(model: FlowModel, pace: float) -> None:
    modules = list(model.modules.values())
    assert ReplicasAtPace(modules).replicas(pace) == pytest.approx(
        np.array([fit(m, pace / m.reach) for m in modules]), rel=1e-6
    )


# The search


def bowl(at: float, left: float, right: float) -> Callable[[Floats], Floats]:
    """Two straight lines that meet, with or without a curve on top."""
    return lambda x: 10.0 + np.where(x < at, left * (at - x), right * (x - at))


@given(
    st.floats(1e-3, 1e3),
    st.floats(1.0, 1e6),
    st.floats(-0.2, 1.2),
    st.floats(0.01, 10.0),
    st.floats(0.01, 10.0),
    st.sampled_from([0.0, 1e-6, 1.0]),
)
def test_the_search_finds_kinks_and_curves_inside_and_at_the_ends(
    low: float, span: float, where: float, left: float, right: float, curve: float
) -> None:
    high = low * span * 1.01
    at = low * (high / low) ** where
    lines = bowl(at, left / at, right / at)

    def cost(x: Floats) -> Floats:
        curved: Floats = curve * (x / at + at / x)
        return lines(x) + curved

    found = smallest(low, high, cost)
    best = min(max(at, low), high)
    near = np.clip(best * np.linspace(0.9, 1.1, 2001), low, high)
    assert cost(np.array([found.at]))[0] <= cost(np.append(near, best)).min() * (1 + 1e-8)
    assert low <= found.at <= high
    assert found.questions <= 6


def test_the_search_asks_for_many_points_few_times() -> None:
    asked: list[int] = []

    def cost(x: Floats) -> Floats:
        asked.append(len(x))
        return x + 9.0 / x

    assert smallest(1e-3, 1e3, cost).at == pytest.approx(3.0, rel=1e-4)
    assert len(asked) <= 4
    assert max(asked) <= 250
