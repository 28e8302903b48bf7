"""Trees whose rates drift: agents, and the compiled code that does the same."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.papers.alloc.adaptation import (
    EVERY,
    HOPS,
    PLAIN,
    READINGS,
    RESERVED,
    SHARED,
    STILL,
    Reading,
    again,
    once,
    play,
)
from penstock.papers.alloc.graphs import DEPTH, EXACTLY, WITHIN, Tree, draw_tree, perturbed
from penstock.policy.allocation import network as flow
from penstock.policy.allocation import shrink
from penstock.policy.allocation.adaptation import Adaptation, ChangeDetector, reserved, shared
from penstock.policy.allocation.network import Inflow, Link, Network, Outflow

SEEDS = st.integers(0, 10_000)
SIZES = st.integers(1, 60)


def drawn(modules: int, seed: int) -> Tree:
    return draw_tree(modules, np.random.default_rng(seed))


def follow(trees: list[Tree], reading: Reading, hops: int, every: int) -> list[float]:
    """What agents achieve, hop by hop."""
    divided = shared if reading.lent else reserved
    agents = Adaptation(trees[0].network(), together=reading.together)
    weights, achieved = agents.tick(trees[0].network()), []
    for hop in range(hops):
        network = trees[1 + hop // every].network()
        achieved.append(flow.value(network, divided(network, weights)))
        weights = agents.tick(network)
    return achieved


@pytest.mark.parametrize("reading", [SHARED, RESERVED, PLAIN], ids=lambda r: r.name)
@pytest.mark.parametrize("modules", [9, 40, 120])
@pytest.mark.parametrize("kind", [WITHIN, EXACTLY])
def test_compiled_code_does_what_agents_do(reading: Reading, modules: int, kind: str) -> None:
    trees = again(modules, kind, 5)[:5]
    course = play(trees, reading, hops=4 * EVERY)
    assert course.value == pytest.approx(follow(trees, reading, 4 * EVERY, EVERY), rel=1e-9)


@given(modules=SIZES, seed=SEEDS)
def test_agents_begin_at_the_optimum_and_stay_there_without_a_word(modules: int, seed: int) -> None:
    network = drawn(modules, seed).network()
    agents = Adaptation(network)
    weights = agents.tick(network)
    assert flow.value(network, weights) == pytest.approx(shrink.solve(network).value, rel=1e-9)
    assert sum(weights.values()) == pytest.approx(1.0)
    assert agents.messages == 0


@given(modules=SIZES, seed=SEEDS)
def test_after_long_enough_agents_are_at_the_new_optimum(modules: int, seed: int) -> None:
    before = drawn(modules, seed)
    network = perturbed(before, np.random.default_rng(seed), EXACTLY).network()
    agents = Adaptation(before.network())
    for _ in range(2 * DEPTH + 45):
        weights = agents.tick(network)
    best = shrink.solve(network).value
    assert flow.value(network, shared(network, weights)) == pytest.approx(best, rel=1e-9)


@given(modules=SIZES, seed=SEEDS)
def test_the_optimum_of_a_tree_is_that_of_the_planner(modules: int, seed: int) -> None:
    tree = drawn(modules, seed)
    found = play([tree, tree], SHARED, hops=1).optimum[0]
    assert found == pytest.approx(shrink.solve(tree.network()).value, rel=1e-9)


@given(modules=SIZES, seed=SEEDS, reading=st.sampled_from(READINGS))
def test_nothing_achieves_more_than_the_optimum(modules: int, seed: int, reading: Reading) -> None:
    share = play(again(modules, EXACTLY, seed)[:4], reading, hops=15).share
    assert ((share > 0) & (share <= 1 + 1e-9)).all()


@given(modules=st.integers(2, 40), seed=SEEDS)
def test_a_shared_pool_is_used_up_and_brings_no_less_than_reserved_shares(
    modules: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    network = draw_tree(modules, rng).network()
    weights = dict(zip(network.modules, rng.random(modules) + 0.01, strict=True))
    lent, kept = (divide(network, weights) for divide in (shared, reserved))
    assert sum(lent.values()) == pytest.approx(network.budget)
    assert flow.busy_resource(network, lent) == pytest.approx(lent)
    assert flow.value(network, lent) >= flow.value(network, kept) * (1 - 1e-12)


def chain(produces: float, *, length: int = 4) -> Network:
    """Modules in a row; the last feeds a sink."""
    names = tuple(f"m{i}" for i in range(length))
    return Network(
        budget=1.0,
        modules=names,
        links=tuple(
            Link(origin=a, target=b, produces=produces if b == names[-1] else 1.0, consumes=1.0)
            for a, b in pairwise(names)
        ),
        outflows=(Outflow(name="o", origin=names[-1], produces=1.0),),
    )


def test_news_takes_a_hop_a_unit_of_time_up_and_orders_one_down() -> None:
    """m2 notices at 0, the top knows at 2, the last of four hears at 5, and then all act."""
    agents = Adaptation(chain(1.0))
    moved = [agents.tick(chain(2.0)) for _ in range(6)]
    assert [m == moved[0] for m in moved] == [True] * 5 + [False]
    assert moved[5]["m0"] == pytest.approx(0.5 * 1 / 4 + 0.5 * 1 / 5)
    assert agents.messages == 2 + 3


def test_where_each_hop_acts_by_itself_the_top_is_first() -> None:
    agents = Adaptation(chain(1.0), together=False, smoothing=0.0)
    moved = [agents.tick(chain(2.0)) for _ in range(6)]
    first = {name: next(i for i, m in enumerate(moved) if m[name] != 0.25) for name in moved[0]}
    assert first == {"m0": 2, "m1": 3, "m2": 4, "m3": 5}
    assert moved[5] == pytest.approx({"m0": 0.2, "m1": 0.2, "m2": 0.2, "m3": 0.4})


def test_without_smoothing_the_new_assignment_is_there_at_once() -> None:
    agents = Adaptation(chain(1.0, length=1), smoothing=0.0)
    assert agents.tick(chain(1.0, length=1)) == {"m0": 1.0}


def test_noise_within_the_slack_is_never_a_change() -> None:
    watch, rng = ChangeDetector(rate=1.0), np.random.default_rng(1)
    assert not any(watch.detects(1.0 + noise) for noise in rng.uniform(-0.019, 0.019, 1000))


@given(share=st.floats(0.05, 3.0), rate=st.floats(1e-9, 1e9), up=st.booleans())
def test_a_large_change_is_seen_at_once_whatever_the_unit(
    share: float, rate: float, up: bool
) -> None:
    measured = rate * (1 + share) if up else rate / (1 + share)
    watch = ChangeDetector(rate=rate)
    assert watch.detects(measured)
    assert watch.rate == measured
    assert not watch.detects(measured)


def test_trees_have_the_depth_that_was_asked_for() -> None:
    for modules in (8, 9, 50, 300):
        tree = drawn(modules, modules)
        assert tree.depths.max() == DEPTH
        assert (tree.depths[1:] == tree.depths[tree.parents[1:]] + 1).all()
        assert (tree.parents[1:] < np.arange(1, modules)).all()


@pytest.mark.parametrize("kind", [WITHIN, EXACTLY])
def test_a_perturbation_changes_rates_by_a_fifth_at_most_and_not_all(kind: str) -> None:
    tree = drawn(400, 2)
    changed = perturbed(tree, np.random.default_rng(3), kind)
    factors = (changed.consumes / tree.consumes)[1:]
    assert (factors >= 0.8 - 1e-9).all()
    assert (factors <= 1.2 + 1e-9).all()
    assert 0.4 < (factors != 1).mean() < 0.6
    assert (len(set(factors.round(9))) == 3) == (kind == EXACTLY)


def means(kind: str, modules: int, reading: Reading, seeds: int = 60) -> tuple[float, float]:
    """Hops to 95 % after one perturbation, and the share under many."""
    trees = range(1, seeds + 1)
    reached = (play(once(modules, kind, s), reading, hops=HOPS).reached for s in trees)
    hops = np.mean([HOPS if hop is None else hop for hop in reached])
    many = (play(again(modules, kind, s), reading, hops=100).share.mean() for s in trees)
    return float(hops), float(np.mean(list(many)))


@pytest.mark.parametrize(("modules", "hops"), [(50, 4.1), (500, 5.4)])
def test_trees_follow_as_soon_and_as_closely_as_asked(modules: int, hops: float) -> None:
    found, share = means(WITHIN, modules, SHARED)
    assert found <= hops
    assert share >= 0.9


def test_doing_nothing_is_worse_than_adapting() -> None:
    (soon, close), (late, far) = (means(WITHIN, 200, reading) for reading in (SHARED, STILL))
    assert soon < 0.5 * late
    assert close > far + 0.05


def test_what_the_plainest_reading_costs() -> None:
    (soon, close), (late, far) = (means(WITHIN, 200, reading) for reading in (SHARED, PLAIN))
    assert soon < late
    assert close > far + 0.1


@pytest.mark.parametrize(
    ("network", "sentence"),
    [
        (
            replace(
                chain(1.0, length=3),
                links=tuple(
                    Link(origin=a, target="m2", produces=1.0, consumes=1.0) for a in ("m0", "m1")
                ),
            ),
            "module m2 has inputs from m0 and m1",
        ),
        (
            replace(chain(1.0), inflows=(Inflow(name="s", target="m0", consumes=1.0, rate=3.0),)),
            "source s gives 3 at most",
        ),
        (
            Network(budget=1.0, modules=("a", "b")),
            "only one tree adapts hop by hop, got 2 with the tops a, b",
        ),
    ],
)
def test_what_is_no_single_tree_of_unlimited_sources_is_refused(
    network: Network, sentence: str
) -> None:
    with pytest.raises(SettingError, match=sentence):
        Adaptation(network)


@pytest.mark.parametrize("wrong", [{"smoothing": 1.0}, {"slack": -0.1}, {"threshold": 1.5}])
def test_settings_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    [(name, value)] = wrong.items()
    with pytest.raises(SettingError, match=rf"{name} must be in \[0, 1\), got {value:g}"):
        Adaptation(chain(1.0), **wrong)
