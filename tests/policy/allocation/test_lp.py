"""The reference: the linear program by HiGHS, what Lemmas 1 to 3 say of it, and its proof."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.policy.allocation import PLANNERS, optimum
from penstock.policy.allocation.lp import bound, solve
from penstock.policy.allocation.messages import MessageBus
from penstock.policy.allocation.network import (
    Network,
    Outflow,
    feasible_factor,
    least_resource,
    outputs,
    value,
)
from penstock.policy.allocation.single_output import largest_flows
from tests.support.allocation import (
    anything,
    general,
    networks,
    scaled,
    single_link,
    tree,
    true_optimum,
)

TIME_TOLERANCE = 1e-8
some = st.one_of(
    networks(anything, most=6), networks(general, most=6), networks(single_link, most=6)
)
unlimited = networks(anything, limited=(0.0,))


@given(some)
def test_is_the_optimum_in_exact_arithmetic(network: Network) -> None:
    assert optimum(network) == pytest.approx(true_optimum(network), rel=TIME_TOLERANCE)


@given(networks(anything))
def test_can_be_afforded_and_brings_what_it_says(network: Network) -> None:
    found = solve(network)
    assert feasible_factor(network, found.resource) >= 1 - TIME_TOLERANCE
    assert found.value == value(network, found.resource)
    assert (found.policy, found.messages, found.passes) == ("lp", 0, 0)


@given(networks(anything))
def test_takes_no_more_than_its_outputs_need(network: Network) -> None:
    found = solve(network)
    least = least_resource(network, outputs(network, found.resource))
    assert found.resource == pytest.approx(least, rel=TIME_TOLERANCE)


@given(networks(anything))
def test_a_busy_module_has_all_before_it_busy(network: Network) -> None:
    """Lemma 1."""
    resource = solve(network).resource
    for link in network.links:
        assert resource[link.origin] > 0 or resource[link.target] == 0


@given(unlimited)
def test_unlimited_sources_leave_nothing_of_the_budget(network: Network) -> None:
    """Lemma 2."""
    assert sum(solve(network).resource.values()) == pytest.approx(
        network.budget, rel=TIME_TOLERANCE
    )


@given(unlimited, st.floats(1e-6, 1e6))
def test_unlimited_sources_make_value_grow_with_the_budget(network: Network, times: float) -> None:
    """Lemma 3."""
    assert optimum(scaled(network, times)) == pytest.approx(
        times * optimum(network), rel=TIME_TOLERANCE
    )


@given(networks(anything), st.integers(0, 2**32 - 1))
def test_no_split_of_prices_bounds_it_from_below(network: Network, seed: int) -> None:
    draw = np.random.default_rng(seed)
    most = largest_flows(MessageBus(network))
    split = {stream: draw.random() for stream in (*network.outflows, *network.links)}
    leading = {s: part for s, part in split.items() if isinstance(s, Outflow)} | {
        link: split[link]
        for link in network.links
        if least_resource(network, most)[link.target] > 0
    }
    assert bound(network, most, leading) >= optimum(network) * (1 - TIME_TOLERANCE)


@given(networks(anything))
def test_one_more_sink_adds_at_most_what_the_budget_buys_of_it(network: Network) -> None:
    least = min(outflow.produces * outflow.weight for outflow in network.outflows)
    sink = Outflow(name="late", origin="late", produces=least, weight=1e-6)
    more = replace(network, modules=(*network.modules, "late"), outflows=(*network.outflows, sink))
    bought = sink.produces * sink.weight * network.budget
    before, after = optimum(network), optimum(more)
    assert before * (1 - TIME_TOLERANCE) <= after <= (before + bought) * (1 + TIME_TOLERANCE)


def test_nothing_is_divided_where_nothing_leaves() -> None:
    found = solve(Network(budget=1.0, modules=("a", "b")))
    assert (found.resource, found.value) == ({"a": 0.0, "b": 0.0}, 0.0)


def test_a_module_that_leads_nowhere_is_idle() -> None:
    sink = Outflow(name="o", origin="a", produces=2.0)
    found = solve(Network(budget=3.0, modules=("a", "b"), outflows=(sink,)))
    assert found.resource == {"a": 3.0, "b": 0.0}


def test_ten_thousand_modules_are_no_trouble() -> None:
    network = tree(np.random.default_rng(1), 10_000, limited=0.5)
    assert PLANNERS["lp"](network).value == pytest.approx(
        PLANNERS["shrink"](network).value, rel=TIME_TOLERANCE
    )
