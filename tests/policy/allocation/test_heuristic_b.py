"""Heuristic B: what it asks, how it climbs, and how far it gets."""

from statistics import mean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.policy.allocation import optimum
from penstock.policy.allocation.heuristic_b import solve
from penstock.policy.allocation.messages import PricingQuery
from penstock.policy.allocation.network import Network, Outflow, feasible_factor, least_resource
from tests.support.allocation import anything, few, general, networks, single_output, uniform

TIME_TOLERANCE = 1e-8
GRAPHS = 100
PAPER = {20: 0.824, 50: 0.689, 100: 0.590}
"""PipelineShare of the optimum, by modules: alloc, Tab. 2."""
QUESTIONS = {20: 5.2, 50: 10.1, 100: 10.0}
"""Iterations, by modules: alloc, Tab. 2."""
seeds = st.integers(0, 2**32 - 1)


def targets(network: Network, seed: int) -> dict[str, float]:
    """Some flow at some of the sinks, orders of magnitude apart."""
    draw = np.random.default_rng(seed)
    wanted = 10.0 ** draw.uniform(-3.0, 3.0, len(network.outflows))
    wanted[draw.random(len(wanted)) < 0.3] = 0.0
    names = (outflow.name for outflow in network.outflows)
    return dict(zip(names, wanted.tolist(), strict=True))


@given(networks(anything), seeds)
def test_a_question_is_answered_with_what_the_targets_take(network: Network, seed: int) -> None:
    wanted = targets(network, seed)
    query = PricingQuery(network)
    answer, least = query.ask(wanted), least_resource(network, wanted)
    assert query.resource == least
    assert answer.total == pytest.approx(sum(least.values()), rel=TIME_TOLERANCE)
    strains = [inflow.consumes * least[inflow.target] / inflow.rate for inflow in network.inflows]
    assert answer.strain == pytest.approx(max(strains), rel=TIME_TOLERANCE)


@given(networks(anything), seeds, seeds)
def test_a_bill_is_a_subgradient(network: Network, here: int, there: int) -> None:
    answer, elsewhere = (
        PricingQuery(network).ask(targets(network, here)),
        targets(network, there),
    )
    tangent = sum(flow * answer.price(sink) for sink, flow in elsewhere.items())
    assert sum(least_resource(network, elsewhere).values()) >= tangent * (1 - TIME_TOLERANCE)


@given(networks(anything), seeds)
def test_a_sink_gets_what_its_module_makes(network: Network, seed: int) -> None:
    wanted = targets(network, seed)
    prices, least = PricingQuery(network).ask(wanted).prices, least_resource(network, wanted)
    for outflow in network.outflows:
        flow = outflow.produces * least[outflow.origin]
        made = prices[outflow.name].made if outflow.name in prices else 0.0
        assert made == pytest.approx(flow, rel=TIME_TOLERANCE)
        assert flow >= wanted[outflow.name] * (1 - TIME_TOLERANCE)


@given(networks(anything))
def test_is_within_budget_sources_and_optimum(network: Network) -> None:
    found = solve(network)
    assert feasible_factor(network, found.resource) >= 1 - TIME_TOLERANCE
    assert 0 < found.value <= optimum(network) * (1 + TIME_TOLERANCE)


@given(networks(single_output))
def test_a_single_sink_is_asked_about_once(network: Network) -> None:
    found = solve(network)
    assert found.value == pytest.approx(optimum(network), rel=TIME_TOLERANCE)
    assert found.passes == 3


@given(networks(anything, numbers=(uniform, few)))
def test_is_never_worse_than_the_weights_as_proportions(network: Network) -> None:
    weights = {outflow.name: outflow.weight for outflow in network.outflows}
    start = feasible_factor(network, least_resource(network, weights)) * sum(
        w * w for w in weights.values()
    )
    assert solve(network).value >= start * (1 - TIME_TOLERANCE)


@pytest.mark.parametrize("size", PAPER)
def test_reaches_the_averages_of_the_paper_in_as_many_questions(size: int) -> None:
    made = [general(np.random.default_rng([size, seed]), size) for seed in range(GRAPHS)]
    found = [solve(network) for network in made]
    shares = [plan.value / optimum(network) for plan, network in zip(found, made, strict=True)]
    assert mean(shares) >= PAPER[size]
    assert mean((plan.passes - 1) / 2 for plan in found) <= QUESTIONS[size] * 1.5


def test_a_finer_tolerance_climbs_higher() -> None:
    made = [general(np.random.default_rng(seed), 30) for seed in range(20)]
    coarse, fine = (
        mean(solve(n, tolerance=t).value / optimum(n) for n in made) for t in (0.3, 1e-3)
    )
    assert fine > coarse + 0.01


def test_a_pass_is_a_sweep_and_each_module_speaks_once_in_it() -> None:
    network = general(np.random.default_rng(3), 40)
    found = solve(network)
    assert found.passes % 2 == 1
    assert found.messages <= found.passes * (len(network.links) + len(network.outflows))


def test_nothing_is_divided_where_nothing_leaves() -> None:
    assert solve(Network(budget=1.0, modules=("a",))).resource == {"a": 0.0}


@pytest.mark.parametrize("tolerance", [0.0, 1.0, -0.1, float("nan")])
def test_refuses_a_tolerance_that_is_no_share(tolerance: float) -> None:
    sink = Outflow(name="o", origin="a", produces=1.0)
    with pytest.raises(SettingError, match=r"tolerance must be in \(0, 1\), got"):
        solve(Network(budget=1.0, modules=("a",), outflows=(sink,)), tolerance=tolerance)


def test_refuses_to_ask_nothing() -> None:
    with pytest.raises(SettingError, match="questions must be 1 or more, got 0"):
        solve(Network(budget=1.0, modules=("a",)), questions=0)
