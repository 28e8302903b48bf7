"""Procedures 1 and 2: a smaller network of the same optimum, and the way back (Theorems 6 to 9)."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import linprog

from penstock.core.errors import SettingError
from penstock.policy.allocation import lp
from penstock.policy.allocation.aggregation import aggregate, yields
from penstock.policy.allocation.aggregation import series_parallel as procedure_1
from penstock.policy.allocation.aggregation import single_link as procedure_2
from penstock.policy.allocation.network import (
    Inflow,
    Link,
    Network,
    Outflow,
    busy_resource,
    feasible_factor,
    value,
)
from tests.support.allocation import (
    Draw,
    anything,
    few,
    general,
    network_of,
    networks,
    series_parallel,
    series_parallel_part,
    single_link,
    tree,
    true_optimum,
    uniform,
)

every = pytest.mark.parametrize("procedure", ["series-parallel", "single-link", "both"])


def mixed(draw: Draw, size: int, **settings: Any) -> Network:
    """A network of any class."""
    makers = (series_parallel, single_link, tree, anything, general)
    return makers[int(draw.integers(len(makers)))](draw, size, **settings)


@every
@settings(max_examples=30)
@given(network=networks(mixed, most=7))
def test_the_smaller_network_has_the_same_optimum(network: Network, procedure: Any) -> None:
    made = aggregate(network, procedure=procedure)
    assert true_optimum(made.network) == pytest.approx(true_optimum(network), rel=1e-7)


@every
@settings(max_examples=30)
@given(network=networks(mixed, most=20))
def test_the_best_of_the_smaller_is_mapped_back_to_the_best(
    network: Network, procedure: Any
) -> None:
    made = aggregate(network, procedure=procedure)
    resource = made.expand(lp.solve(made.network).resource)
    assert resource.keys() == set(network.modules)
    assert feasible_factor(network, resource) >= 1 - 1e-9
    assert busy_resource(network, resource) == pytest.approx(resource, rel=1e-9)
    assert value(network, resource) == pytest.approx(lp.solve(network).value, rel=1e-6)


@every
@settings(max_examples=30)
@given(network=networks(mixed, most=15))
def test_super_nodes_hold_distinct_modules_and_all_others_stay(
    network: Network, procedure: Any
) -> None:
    made = aggregate(network, procedure=procedure)
    inside = {member for members in made.super_nodes.values() for member in members}
    assert inside <= set(network.modules)
    assert set(network.modules) - inside <= set(made.network.modules)
    assert made.super_nodes.keys() <= set(made.network.modules)
    assert len(made.network.modules) <= len(network.modules)


@settings(max_examples=40)
@given(networks(series_parallel, least=4, most=25))
def test_a_series_parallel_part_becomes_one_super_node(network: Network) -> None:
    made = procedure_1(network)
    part = max(len(network.modules) - 6, 2)
    holding = [members for members in made.super_nodes.values() if "m1" in members]
    assert len(holding) == 1
    assert {f"m{i}" for i in range(part)} <= set(holding[0])


@settings(max_examples=30)
@given(networks(mixed, most=20))
def test_nothing_is_left_to_join_after_procedure_1(network: Network) -> None:
    once = procedure_1(network)
    assert procedure_1(once.network).super_nodes == {}


def test_a_series_parallel_graph_of_a_thousand_becomes_one_module() -> None:
    draw = np.random.default_rng(1)
    network = network_of(draw, 1000, series_parallel_part(draw, 1000), sinks={1}, numbers=few)
    assert procedure_1(network).network.modules == ("m1",)


@settings(max_examples=20)
@given(networks(single_link, least=4, most=14, numbers=(uniform, few), limited=(0.0,)))
def test_all_behind_a_single_link_is_aggregated(network: Network) -> None:
    made = procedure_2(network)
    half = len(network.modules) // 2
    second = {f"m{i}" for i in range(half, len(network.modules))}
    kept = set(made.network.modules) - made.super_nodes.keys()
    assert not kept & second or len(second) == 1


@settings(max_examples=40)
@given(networks(single_link, least=2, most=14, numbers=(uniform,), limited=(0.0,)))
def test_theorem_8_what_is_behind_a_single_link_is_idle_or_takes_all(network: Network) -> None:
    half = max(len(network.modules) // 2, 1)
    link = network.inputs[f"m{half}"][0]
    choices = solved(network, idle=link.target), solved(network, tight=link)
    assert max(choices) == pytest.approx(solved(network), rel=1e-6)


def test_theorem_8_needs_unlimited_sources() -> None:
    network = Network(
        budget=1.5,
        modules=("a", "b"),
        inflows=(Inflow(name="s", target="a", consumes=1.0, rate=1.0),),
        links=(Link(origin="a", target="b", produces=1.0, consumes=1.0),),
        outflows=(
            Outflow(name="x", origin="a", produces=1.0, weight=100.0),
            Outflow(name="y", origin="b", produces=1.0, weight=1.0),
        ),
    )
    link = network.links[0]
    assert solved(network) == pytest.approx(100.5)
    assert max(solved(network, idle="b"), solved(network, tight=link)) == pytest.approx(100.0)


def test_theorem_9_fails_with_one_super_node_made_for_resource_in_plenty() -> None:
    network = poor_part(budget=1.0)
    plenty = yields(behind_a())[-1]
    published = replace(
        network,
        modules=("a", "s"),
        links=(Link(origin="a", target="s", produces=1.0, consumes=1.0 / plenty.total),),
        outflows=(Outflow(name="o", origin="s", produces=plenty.value / plenty.total),),
    )
    best = true_optimum(network)
    assert true_optimum(published) < 0.9 * best
    assert true_optimum(procedure_2(network).network) == pytest.approx(best)


def test_a_limited_source_behind_a_single_link_keeps_its_part_as_it_is() -> None:
    limited = Inflow(name="t", target="good", consumes=1.0, rate=0.1)
    network = replace(poor_part(budget=1.0), inflows=(limited,))
    assert procedure_2(network).network == network


def test_a_part_that_leads_to_no_sink_is_left_out_and_gets_nothing() -> None:
    network = replace(
        poor_part(budget=1.0), outflows=(Outflow(name="x", origin="a", produces=2.0),)
    )
    made = procedure_2(network)
    assert made.network.modules == ("a",)
    assert made.expand({"a": 1.0}) == {"a": 1.0, "b": 0.0, "good": 0.0, "poor": 0.0}


def test_names_the_procedures_there_are() -> None:
    with pytest.raises(SettingError, match="series-parallel, single-link, both, got 'all'"):
        aggregate(poor_part(budget=1.0), procedure="all")  # type: ignore[arg-type]


def behind_a() -> Network:
    """A unit of flow for `b`, which feeds a good and a poor leaf."""
    return Network(
        budget=1.0,
        modules=("b", "good", "poor"),
        inflows=(Inflow(name="a", target="b", consumes=1.0, rate=1.0),),
        links=(
            Link(origin="b", target="good", produces=1.0, consumes=1.0),
            Link(origin="b", target="poor", produces=1.0, consumes=1.0),
        ),
        outflows=(
            Outflow(name="x", origin="good", produces=1.0, weight=10.0),
            Outflow(name="y", origin="poor", produces=1.0, weight=0.1),
        ),
    )


def poor_part(*, budget: float) -> Network:
    """The same behind a module `a`."""
    part = behind_a()
    link = Link(origin="a", target="b", produces=1.0, consumes=1.0)
    return replace(
        part, budget=budget, modules=("a", *part.modules), inflows=(), links=(link, *part.links)
    )


def solved(network: Network, *, idle: str | None = None, tight: Link | None = None) -> float:
    """The paper's LP, with a module held idle or a link held to be used up."""
    at = {module: i for i, module in enumerate(network.modules)}
    goal, limits = np.zeros(len(at)), np.full(len(at), np.inf)
    for out in network.outflows:
        goal[at[out.origin]] -= out.weight * out.produces
    for inflow in network.inflows:
        limits[at[inflow.target]] = min(limits[at[inflow.target]], inflow.rate / inflow.consumes)
    if idle is not None:
        limits[at[idle]] = 0.0
    rows = np.zeros((len(network.links) + 1, len(at)))
    rows[-1] = 1.0
    for row, link in zip(rows, network.links, strict=False):
        row[at[link.target]], row[at[link.origin]] = link.consumes, -link.produces
    held = [network.links.index(tight)] if tight is not None else []
    found = linprog(
        goal,
        A_ub=rows,
        b_ub=np.append(np.zeros(len(network.links)), network.budget),
        A_eq=rows[held] if held else None,
        b_eq=np.zeros(len(held)) if held else None,
        bounds=np.column_stack([np.zeros(len(at)), limits]),
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return float(-found.fun)
