"""Theorems 2 to 4 of the alloc paper as stated, where they hold, and where they do not."""

from dataclasses import replace
from itertools import permutations
from math import inf

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.policy.allocation.network import (
    Inflow,
    Link,
    Network,
    Outflow,
    feasible_factor,
    value,
)
from penstock.policy.allocation.reduction import (
    Branch,
    Stem,
    absorb,
    divide,
    dominates,
    merge,
    merge_all,
)
from tests.support.allocation import true_optimum

amounts = st.one_of(st.sampled_from((0.5, 1.0, 2.0)), st.floats(0.01, 1.0), st.floats(1e-6, 1e6))
branches = st.builds(Branch, fed=amounts, consumes=amounts, produces=amounts, weight=amounts)


def fork(*leaves: Branch, consumes: float, budget: float, rate: float = inf) -> Network:
    """A root with a source, and leaves: Fig. 2 with two, Fig. 3 with one."""
    names = [f"leaf{i}" for i in range(len(leaves))]
    pairs = list(zip(names, leaves, strict=True))
    return Network(
        budget=budget,
        modules=("root", *names),
        inflows=(Inflow(name="s", target="root", consumes=consumes, rate=rate),),
        links=tuple(
            Link(origin="root", target=name, produces=leaf.fed, consumes=leaf.consumes)
            for name, leaf in pairs
        ),
        outflows=tuple(
            Outflow(name=name, origin=name, produces=leaf.produces, weight=leaf.weight)
            for name, leaf in pairs
        ),
    )


def sole_sinks(stem: Stem, *, budget: float, rate: float) -> Network:
    """A single module: Fig. 4."""
    sink = Outflow(name="o", origin="root", produces=stem.produces, weight=stem.weight)
    source = Inflow(name="s", target="root", consumes=stem.consumes, rate=rate)
    return Network(budget=budget, modules=("root",), inflows=(source,), outflows=(sink,))


def divided(network: Network, one: Branch, other: Branch) -> dict[str, float]:
    source = network.inflows[0]
    parts = divide(one, other, consumes=source.consumes, budget=network.budget, rate=source.rate)
    return dict(zip(network.modules, parts, strict=True))


@settings(max_examples=50)
@given(branches, branches, amounts, amounts)
def test_theorem_2_divides_a_fork_best_while_its_source_is_unlimited(
    one: Branch, other: Branch, consumes: float, budget: float
) -> None:
    network = fork(one, other, consumes=consumes, budget=budget)
    found = divided(network, one, other)
    assert feasible_factor(network, found) == pytest.approx(1.0)
    assert value(network, found) == pytest.approx(true_optimum(network), rel=1e-9)


@settings(max_examples=50)
@given(branches, branches, amounts, amounts, amounts)
def test_theorem_2_divides_a_fork_best_where_the_budget_is_short(
    one: Branch, other: Branch, consumes: float, budget: float, rate: float
) -> None:
    network = fork(one, other, consumes=consumes, budget=budget, rate=rate)
    found = divided(network, one, other)
    assume(sum(found.values()) >= budget * (1 - 1e-12))
    assert value(network, found) == pytest.approx(true_optimum(network), rel=1e-9)


@settings(max_examples=50)
@given(branches, branches, amounts, amounts, amounts)
def test_theorem_2_is_right_for_any_source_if_it_keeps_both_leaves(
    one: Branch, other: Branch, consumes: float, budget: float, rate: float
) -> None:
    assume(not dominates(one, other) and not dominates(other, one))
    network = fork(one, other, consumes=consumes, budget=budget, rate=rate)
    found = divided(network, one, other)
    assert feasible_factor(network, found) >= 1 - 1e-12
    assert value(network, found) == pytest.approx(true_optimum(network), rel=1e-9)


def test_theorem_2_wastes_budget_where_the_source_is_short_and_it_drops_a_leaf() -> None:
    good, fair = (Branch(fed=1.0, consumes=1.0, produces=1.0, weight=w) for w in (10.0, 4.0))
    network = fork(good, fair, consumes=1.0, budget=10.0, rate=1.0)
    assert value(network, divided(network, good, fair)) == 10.0
    assert true_optimum(network) == 14.0


@settings(max_examples=50)
@given(branches, branches, amounts, amounts)
def test_theorem_3_makes_two_leaves_one_while_the_source_is_unlimited(
    one: Branch, other: Branch, consumes: float, budget: float
) -> None:
    two = fork(one, other, consumes=consumes, budget=budget)
    merged = fork(merge(one, other), consumes=consumes, budget=budget)
    assert true_optimum(merged) == pytest.approx(true_optimum(two), rel=1e-9)


@settings(max_examples=50)
@given(branches, branches, amounts, amounts, amounts)
def test_theorem_3_is_right_for_any_source_if_it_keeps_both_leaves(
    one: Branch, other: Branch, consumes: float, budget: float, rate: float
) -> None:
    assume(not dominates(one, other) and not dominates(other, one))
    two = fork(one, other, consumes=consumes, budget=budget, rate=rate)
    merged = fork(merge(one, other), consumes=consumes, budget=budget, rate=rate)
    assert true_optimum(merged) == pytest.approx(true_optimum(two), rel=1e-9)


@settings(max_examples=50)
@given(branches, branches)
def test_merging_two_leaves_is_the_same_either_way_round(one: Branch, other: Branch) -> None:
    forth, back = merge(one, other), merge(other, one)
    assert forth.worth == pytest.approx(back.worth)
    assert forth.reach == pytest.approx(back.reach)


@settings(max_examples=50)
@given(branches, amounts, amounts, st.one_of(st.just(inf), amounts))
def test_theorem_4_makes_a_parent_and_its_leaf_one_for_any_source(
    leaf: Branch, consumes: float, budget: float, rate: float
) -> None:
    two = fork(leaf, consumes=consumes, budget=budget, rate=rate)
    one = sole_sinks(absorb(consumes, leaf), budget=budget, rate=rate)
    assert true_optimum(one) == pytest.approx(true_optimum(two), rel=1e-9)


@settings(max_examples=50)
@given(st.lists(branches, min_size=1, max_size=5), amounts)
def test_a_fork_of_any_number_is_merged_from_the_most_worthwhile(
    leaves: list[Branch], budget: float
) -> None:
    merged = fork(merge_all(leaves), consumes=1.0, budget=budget)
    whole = fork(*leaves, consumes=1.0, budget=budget)
    assert true_optimum(merged) == pytest.approx(true_optimum(whole), rel=1e-9)


def test_the_order_of_merging_three_leaves_matters() -> None:
    small = Branch(fed=0.01, consumes=1.0, produces=1.0, weight=10.0)
    poor = Branch(fed=1.0, consumes=1.0, produces=1.0, weight=1.0)
    large = Branch(fed=100.0, consumes=1.0, produces=1.0, weight=5.0)
    orders = permutations((small, poor, large))
    found = {merge(merge(a, b), c).worth for a, b, c in orders}
    assert max(found) > min(found)
    best = merge_all((small, poor, large))
    assert absorb(1.0, best).worth == pytest.approx(
        true_optimum(fork(small, poor, large, consumes=1.0, budget=1.0))
    )


def test_theorem_5_fails_as_what_a_fork_drops_can_be_worth_having_in_a_larger_tree() -> None:
    good, fair = (Branch(fed=1.0, consumes=1.0, produces=1.0, weight=w) for w in (10.0, 4.0))
    below = absorb(1.0, merge(good, fair))
    published = absorb(
        1.0,
        Branch(fed=1.0, consumes=below.consumes, produces=below.produces, weight=below.weight),
    )
    network = fork(good, fair, consumes=1.0, budget=1.0)
    way = replace(
        network,
        modules=("way", *network.modules),
        links=(Link(origin="way", target="root", produces=1.0, consumes=1.0), *network.links),
    )
    assert published.worth == pytest.approx(10.0 / 3.0)
    assert true_optimum(way) == pytest.approx(14.0 / 4.0)
