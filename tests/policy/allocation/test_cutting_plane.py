"""The optimum by agents: as good as it says, in few passes, on any network."""

from dataclasses import replace
from random import Random
from statistics import mean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.policy.allocation import optimum
from penstock.policy.allocation.cutting_plane import solve
from penstock.policy.allocation.network import (
    Link,
    Network,
    Outflow,
    feasible_factor,
    least_resource,
    outputs,
)
from tests.support.allocation import (
    anything,
    few,
    general,
    network_of,
    networks,
    series_parallel,
    single_link,
    single_output,
    tree,
)

TIME_TOLERANCE = 1e-8
every = st.one_of(
    *(networks(make) for make in (anything, general, tree, series_parallel, single_link))
)


def shares(size: int, graphs: int) -> tuple[list[float], list[int]]:
    """Of the optimum, and passes, on graphs by the paper's generator."""
    made = [general(np.random.default_rng([size, seed]), size) for seed in range(graphs)]
    found = [solve(network) for network in made]
    optima = [optimum(network) for network in made]
    values = [plan.value / best for plan, best in zip(found, optima, strict=True)]
    return values, [plan.passes for plan in found]


@given(every, st.sampled_from((0.2, 1e-3, 1e-5)))
def test_is_no_further_from_the_optimum_than_asked(network: Network, tolerance: float) -> None:
    best = optimum(network)
    found = solve(network, tolerance=tolerance)
    assert best * (1 - tolerance - TIME_TOLERANCE) <= found.value <= best * (1 + TIME_TOLERANCE)
    assert feasible_factor(network, found.resource) >= 1 - TIME_TOLERANCE


@given(every)
def test_comes_to_the_optimum_itself(network: Network) -> None:
    assert solve(network, tolerance=1e-7).value == pytest.approx(optimum(network), rel=1.1e-7)


@given(networks(anything))
def test_takes_no_more_than_its_outputs_need(network: Network) -> None:
    found = solve(network)
    least = least_resource(network, outputs(network, found.resource))
    assert found.resource == pytest.approx(least, rel=TIME_TOLERANCE)


@given(networks(anything, numbers=(few,)), st.randoms(use_true_random=False))
def test_the_order_of_names_is_of_no_value(network: Network, shuffle: Random) -> None:
    links, sinks = list(network.links), list(network.outflows)
    shuffle.shuffle(links)
    shuffle.shuffle(sinks)
    other = replace(network, links=tuple(links), outflows=tuple(sinks))
    one, two = (solve(each, tolerance=1e-7).value for each in (network, other))
    assert one == pytest.approx(two, rel=2e-7)


@given(networks(single_output))
def test_knows_at_once_what_a_single_sink_can_have(network: Network) -> None:
    assert solve(network).passes == 3


def test_reaches_its_figures_on_graphs_of_the_paper() -> None:
    values, passes = shares(100, 100)
    assert mean(values) >= 0.999
    assert min(values) >= 0.99
    assert mean(passes) <= 15


@pytest.mark.slow
@pytest.mark.parametrize("size", [20, 50, 100])
def test_reaches_its_figures_on_a_thousand_graphs(size: int) -> None:
    values, passes = shares(size, 1000)
    assert mean(values) >= 0.999
    assert min(values) >= 0.99
    assert mean(passes) <= 15


def test_each_agent_speaks_once_in_a_pass() -> None:
    network = general(np.random.default_rng(2), 60)
    found = solve(network)
    assert found.messages <= found.passes * (len(network.links) + len(network.outflows))


def test_hundreds_of_sinks_are_no_trouble() -> None:
    draw = np.random.default_rng(1)
    pairs = [(i, i + 1) for i in range(149)]
    for network in (network_of(draw, 150, pairs, sinks=range(150)), tree(draw, 800)):
        assert solve(network).value == pytest.approx(optimum(network), rel=1e-3)


def test_sinks_of_one_module_are_all_worth_their_weight() -> None:
    sinks = tuple(Outflow(name=name, origin="a", produces=1.0, weight=2.0) for name in "xyz")
    found = solve(Network(budget=5.0, modules=("a", "idle"), outflows=sinks))
    assert found.resource == {"a": 5.0, "idle": 0.0}
    assert found.value == pytest.approx(30.0)


def test_ties_are_no_trouble() -> None:
    links = tuple(Link(origin="a", target=n, produces=1.0, consumes=1.0) for n in "bcd")
    sinks = tuple(Outflow(name=n, origin=n, produces=1.0) for n in "bcd")
    found = solve(Network(budget=4.0, modules=tuple("abcd"), links=links, outflows=sinks))
    assert found.value == pytest.approx(3.0)


def test_nothing_is_divided_where_nothing_leaves() -> None:
    found = solve(Network(budget=1.0, modules=("a",)))
    assert (found.resource, found.value) == ({"a": 0.0}, 0.0)


@pytest.mark.parametrize("tolerance", [0.0, 1e-12, 1.0, float("nan")])
def test_refuses_a_tolerance_that_it_cannot_keep(tolerance: float) -> None:
    sink = Outflow(name="o", origin="a", produces=1.0)
    with pytest.raises(SettingError, match=r"tolerance must be in \[1e-08, 1\), got"):
        solve(Network(budget=1.0, modules=("a",), outflows=(sink,)), tolerance=tolerance)


def test_says_how_close_it_came_when_it_may_ask_no_more() -> None:
    network = general(np.random.default_rng(2), 60)
    with pytest.raises(SettingError, match=r"after 2 passes the value is within .* not 1e-06"):
        solve(network, tolerance=1e-6, most_passes=2)
