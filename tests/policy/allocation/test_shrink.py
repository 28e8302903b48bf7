"""Algorithm 2, as corrected: the optimum of every tree, and of nothing else."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from penstock.core.errors import SettingError
from penstock.policy.allocation import lp, shrink
from penstock.policy.allocation.network import Inflow, Link, Network, Outflow, busy_resource
from tests.support.allocation import (
    Draw,
    network_of,
    networks,
    scaled,
    tree,
    true_optimum,
    uniform,
    wide,
)


def undirected_tree(draw: Draw, size: int, **settings: Any) -> Network:
    """A tree, or up to three, whose links lead either way, with sinks anywhere."""
    pieces = int(draw.integers(1, 4))
    ends = [(int(draw.integers(0, i)), i) for i in range(1, size) if i % 8 >= pieces - 1]
    pairs = [(i, j) if draw.random() < 0.5 else (j, i) for i, j in ends]
    origins = {origin for origin, _ in pairs}
    sinks = {i for i in range(size) if i not in origins or draw.random() < 0.3}
    return network_of(draw, size, pairs, sinks=sinks, **settings)


@given(networks(tree, most=9, inner=0.3))
def test_finds_the_optimum_of_trees_that_fan_out(network: Network) -> None:
    assert shrink.solve(network).value == pytest.approx(true_optimum(network), rel=1e-9)


@given(networks(undirected_tree, most=9))
def test_finds_the_optimum_of_trees_with_joins_and_of_several_trees(network: Network) -> None:
    assert shrink.solve(network).value == pytest.approx(true_optimum(network), rel=1e-9)


@settings(max_examples=40)
@given(networks(undirected_tree, most=60))
def test_takes_no_more_than_sources_and_budget_give(network: Network) -> None:
    made = shrink.solve(network)
    busy = busy_resource(network, made.resource)
    assert min(made.resource.values()) >= 0
    assert sum(made.resource.values()) <= network.budget * (1 + 1e-12)
    assert busy == pytest.approx(made.resource, rel=1e-9)


@pytest.mark.parametrize("make", [tree, undirected_tree])
@pytest.mark.parametrize("limited", [0.0, 0.3])
def test_equals_the_lp_on_a_thousand_modules(make: Any, limited: float) -> None:
    network = make(np.random.default_rng(8), 1000, limited=limited)
    assert shrink.solve(network).value == pytest.approx(lp.solve(network).value, rel=1e-9)


@pytest.mark.parametrize("make", [tree, undirected_tree])
@pytest.mark.parametrize("numbers", [uniform, wide])
def test_asks_ten_thousand_modules_a_few_times_only(make: Any, numbers: Any) -> None:
    made = shrink.solve(make(np.random.default_rng(3), 10_000, numbers=numbers))
    assert made.passes <= 40
    assert made.messages == 10_000 * made.passes


def test_is_not_misled_where_the_published_algorithm_is() -> None:
    # By Theorem 3 `fair` is dropped below `fork`, which leaves 10 a root, a fork and a good one.
    network = dear_way(budget=4.0)
    assert shrink.solve(network).value == pytest.approx(14.0)
    assert lp.solve(network).value == pytest.approx(14.0)
    assert 10.0 / 3.0 * network.budget == pytest.approx(13.333333333333334)


def test_sees_what_is_small_beside_a_part_that_breaks_even() -> None:
    # A unit of `root` could feed 1e27 of `vast`, which at its own price gains and costs the same:
    # rounding that leaves nothing of what `small` brings, which is hundreds of times better.
    links = (
        ("root", "first", 1.5e5, 1.8e-6),
        ("root", "small", 3.8e5, 7.9),
        ("first", "next", 5.8e5, 9.3e-3),
        ("next", "vast", 9.8e2, 5.9e-6),
    )
    network = Network(
        budget=1.9e-4,
        modules=("root", "first", "small", "next", "vast"),
        links=tuple(Link(origin=i, target=j, produces=b, consumes=a) for i, j, b, a in links),
        outflows=(
            Outflow(name="o1", origin="small", produces=2.4e4, weight=2.3e-6),
            Outflow(name="o2", origin="vast", produces=8.5e-2, weight=1.5e-3),
        ),
    )
    assert shrink.solve(network).value == pytest.approx(true_optimum(network), rel=1e-9)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.8, 1.0])
def test_uses_what_a_limited_source_gives_for_all_that_brings_anything(rate: float) -> None:
    network = dear_way(budget=4.0, rate=rate)
    assert shrink.solve(network).value == pytest.approx(14.0 * rate)


def test_leaves_over_what_brings_nothing() -> None:
    made = shrink.solve(dear_way(budget=4.0, rate=0.25))
    assert made.resource == pytest.approx(dict.fromkeys(made.resource, 0.25))


def test_goes_through_a_chain_of_thousands() -> None:
    names = tuple(f"m{i}" for i in range(5000))
    chain = Network(
        budget=5000.0,
        modules=names,
        links=tuple(
            Link(origin=one, target=next_, produces=1.0, consumes=1.0)
            for one, next_ in pairwise(names)
        ),
        outflows=(Outflow(name="o", origin=names[-1], produces=3.0),),
    )
    assert shrink.solve(chain).value == pytest.approx(3.0)


def test_gives_nothing_where_nothing_is_of_worth() -> None:
    made = shrink.solve(Network(budget=1.0, modules=("a", "b")))
    assert made.resource == {"a": 0.0, "b": 0.0}
    assert made.value == 0.0


@settings(max_examples=30)
@given(networks(tree, most=30, limited=(0.0,)))
def test_is_worth_twice_with_twice_the_budget(network: Network) -> None:
    """Lemma 3: while sources are unlimited."""
    twice = shrink.solve(scaled(network, 2.0)).value
    assert twice == pytest.approx(2.0 * shrink.solve(network).value, rel=1e-9)


def test_names_the_ring_of_what_is_no_tree() -> None:
    ring = (("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("z", "a"))
    network = Network(
        budget=1.0,
        modules=("z", "a", "b", "c", "d"),
        links=tuple(Link(origin=i, target=j, produces=1.0, consumes=1.0) for i, j in ring),
        outflows=(Outflow(name="o", origin="d", produces=1.0),),
    )
    with pytest.raises(SettingError) as caught:
        shrink.solve(network)
    assert "lp, cutting-plane or heuristic-a" in str(caught.value)
    named = str(caught.value).split("between ")[1].split(" form")[0].split(", ")
    assert sorted(named) == ["a", "b", "c", "d"]


def test_refuses_flow_that_no_number_holds() -> None:
    names = tuple(f"m{i}" for i in range(40))
    network = Network(
        budget=1.0,
        modules=names,
        links=tuple(
            Link(origin=one, target=next_, produces=1e6, consumes=1e-6)
            for one, next_ in pairwise(names)
        ),
        outflows=(Outflow(name="o", origin=names[-1], produces=1.0),),
    )
    with pytest.raises(SettingError, match="multiply flow beyond"):
        shrink.solve(network)


def dear_way(*, budget: float, rate: float = float("inf")) -> Network:
    """A root and a fork before two leaves, of which one is worth more than twice the other."""
    pairs = (("root", "fork"), ("fork", "good"), ("fork", "fair"))
    return Network(
        budget=budget,
        modules=("root", "fork", "good", "fair"),
        inflows=(Inflow(name="s", target="root", consumes=1.0, rate=rate),),
        links=tuple(Link(origin=i, target=j, produces=1.0, consumes=1.0) for i, j in pairs),
        outflows=(
            Outflow(name="o1", origin="good", produces=1.0, weight=10.0),
            Outflow(name="o2", origin="fair", produces=1.0, weight=4.0),
        ),
    )
