"""Heuristic A: feasible everywhere, best on trees that fan out, and no worse than published."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from penstock.core.errors import SettingError
from penstock.policy.allocation import heuristic_a, lp, shrink
from penstock.policy.allocation.network import (
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
    general,
    network_of,
    networks,
    scaled,
    single_output,
)


def forest(draw: Draw, size: int, **settings: Any) -> Network:
    """Several trees that fan out, with sinks at some inner modules too."""
    pairs = [(int(draw.integers(0, i)), i) for i in range(1, size) if draw.random() < 0.8]
    origins = {origin for origin, _ in pairs}
    sinks = {i for i in range(size) if i not in origins or draw.random() < 0.2}
    return network_of(draw, size, pairs, sinks=sinks, **settings)


@settings(max_examples=60)
@given(networks(anything, most=30))
def test_takes_no_more_than_sources_and_budget_give(network: Network) -> None:
    made = heuristic_a.solve(network)
    assert min(made.resource.values()) >= 0
    assert feasible_factor(network, made.resource) >= 1 - 1e-12
    assert busy_resource(network, made.resource) == pytest.approx(made.resource, rel=1e-9)
    assert made.value == pytest.approx(value(network, made.resource))


@settings(max_examples=60)
@given(networks(anything, most=20))
def test_brings_something_and_never_more_than_the_optimum(network: Network) -> None:
    made = heuristic_a.solve(network)
    assert 0 < made.value <= lp.solve(network).value * (1 + 1e-7)


@settings(max_examples=60)
@given(networks(forest, most=30, limited=(0.0,)))
def test_is_the_optimum_of_trees_that_fan_out_from_unlimited_sources(network: Network) -> None:
    best = shrink.solve(network).value
    assert heuristic_a.solve(network, rounds=50).value == pytest.approx(best, rel=1e-9)


@settings(max_examples=30)
@given(networks(single_output, most=20))
def test_is_the_optimum_of_a_single_output(network: Network) -> None:
    best = lp.solve(network).value
    assert heuristic_a.solve(network).value == pytest.approx(best, rel=1e-6)


@settings(max_examples=30)
@given(networks(general, most=25))
def test_further_rounds_never_bring_less(network: Network) -> None:
    values = [heuristic_a.solve(network, rounds=rounds).value for rounds in (1, 2, 3, 10)]
    assert values == sorted(values)


@settings(max_examples=30)
@given(networks(general, most=25, limited=(0.0,)))
def test_is_worth_twice_with_twice_the_budget(network: Network) -> None:
    twice = heuristic_a.solve(scaled(network, 2.0)).value
    assert twice == pytest.approx(2.0 * heuristic_a.solve(network).value, rel=1e-9)


@pytest.mark.parametrize(("size", "published"), [(20, 0.744), (50, 0.576), (100, 0.543)])
def test_reaches_the_share_of_the_optimum_that_the_paper_reports(
    size: int, published: float
) -> None:
    draw = np.random.default_rng(size)
    made = [general(draw, size) for _ in range(25)]
    shares = [heuristic_a.solve(one).value / lp.solve(one).value for one in made]
    assert np.mean(shares) > published


def test_counts_a_message_for_each_receiver() -> None:
    network = Network(
        budget=2.0,
        modules=("a", "b"),
        links=(Link(origin="a", target="b", produces=1.0, consumes=1.0),),
        outflows=(Outflow(name="o", origin="b", produces=1.0),),
    )
    made = heuristic_a.solve(network, rounds=1)
    # Told what is worth it, offered, asked, counted, fitted: on the link and at the sink each time.
    assert (made.passes, made.messages) == (5, 10)


def test_counts_modules_with_several_ways_to_the_end_once() -> None:
    ring = (("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"))
    network = Network(
        budget=4.0,
        modules=("a", "b", "c", "d"),
        links=tuple(Link(origin=i, target=j, produces=1.0, consumes=1.0) for i, j in ring),
        outflows=(Outflow(name="o", origin="d", produces=1.0),),
    )
    assert heuristic_a.solve(network).resource == pytest.approx(dict.fromkeys("abcd", 1.0))


def test_gives_nothing_where_nothing_is_of_worth() -> None:
    made = heuristic_a.solve(Network(budget=1.0, modules=("a", "b")))
    assert (made.resource, made.value) == ({"a": 0.0, "b": 0.0}, 0.0)


def test_needs_a_round() -> None:
    with pytest.raises(SettingError, match="rounds must be 1 or more, got 0"):
        heuristic_a.solve(Network(budget=1.0, modules=("a",)), rounds=0)
