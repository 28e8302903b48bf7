"""Whole cores: the best division among modules that each keep their bounds."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.policy.allocation import lp
from penstock.policy.allocation.network import Inflow, Link, Network, Outflow, value
from penstock.policy.allocation.rounding import (
    Bounds,
    best_division,
    even_division,
    exact_division,
    local_search,
    with_spare_cores,
)
from penstock.policy.allocation.single_output import SinkNeeds, sink_needs

SEEDS = st.integers(0, 2**32 - 1)


def drawn(seed: int, *, most: int = 6) -> tuple[Network, Bounds]:
    """Modules with random streams from earlier to later ones, and random bounds."""
    draw = np.random.default_rng(seed)
    count = int(draw.integers(2, most + 1))
    names = [f"m{i}" for i in range(count)]
    dense = draw.uniform(0.0, 0.5)  # a graph or several side by side
    pairs = [(i, j) for j in range(count) for i in range(j) if draw.random() < dense]
    fed, feeding = {j for _, j in pairs}, {i for i, _ in pairs}

    def some() -> float:
        return float(10 ** draw.uniform(-1, 1))

    network = Network(
        budget=1.0,
        modules=tuple(names),
        inflows=tuple(
            Inflow(name=names[i], target=names[i], consumes=some(), rate=5 * some())
            for i in range(count)
            if i not in fed
        ),
        links=tuple(
            Link(origin=names[i], target=names[j], produces=some(), consumes=some())
            for i, j in pairs
        ),
        outflows=tuple(
            Outflow(name=names[i], origin=names[i], produces=some(), weight=some())
            for i in range(count)
            if i not in feeding
        ),
    )
    low = {name: int(draw.integers(1, 3)) for name in names}
    high = {name: low[name] + int(draw.integers(0, 5)) for name in names}
    cores = sum(low.values()) + int(draw.integers(0, 6))
    return network, Bounds(cores=cores, low=low, high=high)


def worth(network: Network, division: dict[str, int]) -> float:
    return value(network, {name: float(cores) for name, cores in division.items()})


def best_of_all(network: Network, bounds: Bounds) -> float:
    """By trying every division."""
    ranges = [range(bounds.low[name], bounds.high[name] + 1) for name in network.modules]
    tried = (dict(zip(network.modules, cores, strict=True)) for cores in product(*ranges))
    return max(worth(network, division) for division in tried if bounds.admits(division))


@given(seed=SEEDS)
def test_no_division_at_all_brings_more_than_the_one_that_is_packed(seed: int) -> None:
    network, bounds = drawn(seed)
    found = exact_division(sink_needs(network), bounds)
    assert found is not None
    assert bounds.admits(found)
    assert worth(network, found) == pytest.approx(best_of_all(network, bounds), rel=1e-9)


@given(seed=SEEDS)
def test_no_core_of_it_could_be_left_out(seed: int) -> None:
    network, bounds = drawn(seed)
    found = best_division(network, bounds, start=dict)
    for name, cores in found.items():
        if cores > bounds.low[name]:
            fewer = {**found, name: cores - 1}
            assert worth(network, fewer) < worth(network, found)


@given(seed=SEEDS, start=st.lists(st.floats(0, 9), min_size=12, max_size=12))
def test_climbing_keeps_the_bounds_from_wherever_it_begins(seed: int, start: list[float]) -> None:
    network, bounds = drawn(seed, most=12)
    begun = dict(zip(network.modules, start, strict=False))
    found = local_search(sink_needs(network), bounds, start=begun)
    assert bounds.admits(found)
    if bounds.admits(bounds.within(begun)):
        assert worth(network, found) >= worth(network, bounds.within(begun)) * (1 - 1e-9)


def test_climbing_comes_close_to_the_best_division() -> None:
    shares = []
    for seed in range(150):
        network, _ = drawn(seed, most=8)
        low = dict.fromkeys(network.modules, 1)
        bounds = Bounds(cores=len(low) + seed % 20, low=low, high=dict.fromkeys(low, 12))
        network = replace(network, budget=float(bounds.cores))
        found = local_search(sink_needs(network), bounds, start=lp.solve(network).resource)
        best = exact_division(sink_needs(network), bounds)
        if best is not None:
            shares.append(worth(network, found) / worth(network, best))
    assert len(shares) > 100
    assert np.mean(shares) > 0.999
    assert min(shares) > 0.95


def test_too_many_divisions_are_left_to_climbing_from_the_plan() -> None:
    network, bounds = star(sinks=9, cores=60)
    asked = []

    def start() -> dict[str, float]:
        asked.append(True)
        return dict(lp.solve(network).resource)

    assert exact_division(sink_needs(network), bounds) is None
    found = best_division(network, bounds, start=start)
    assert asked
    assert bounds.admits(found)
    assert 0.95 * lp.solve(network).value < worth(network, found) <= lp.solve(network).value


def test_few_divisions_need_no_plan() -> None:
    network, bounds = star(sinks=2, cores=20)

    def start() -> dict[str, float]:
        raise AssertionError("nobody needs it")

    assert bounds.admits(best_division(network, bounds, start=start))


@given(seed=SEEDS, grown=st.floats(1.0, 20.0))
def test_a_pipeline_never_loses_cores_when_its_demand_grows(seed: int, grown: float) -> None:
    draw = np.random.default_rng(seed)
    names = ("a", "b", "c")
    chains = [_chain(name, draw) for name in names]
    low = dict.fromkeys((m for chain in chains for m in chain.unit), 1)
    bounds = Bounds(cores=12, low=low, high=dict.fromkeys(low, 9))
    before = exact_division(chains, bounds)
    after = exact_division([replace(chains[0], most=chains[0].most * grown), *chains[1:]], bounds)
    assert before is not None
    assert after is not None
    mine = chains[0].unit
    assert sum(after[m] for m in mine) >= sum(before[m] for m in mine)


@given(seed=SEEDS)
def test_spare_cores_are_all_given_out_and_change_nothing_for_the_worse(seed: int) -> None:
    network, bounds = drawn(seed)
    found = best_division(network, bounds, start=dict)
    filled = with_spare_cores(found, network, bounds)
    assert bounds.admits(filled)
    assert sum(filled.values()) == min(bounds.cores, sum(bounds.high.values()))
    assert all(filled[name] >= cores for name, cores in found.items())


def test_spare_cores_go_to_the_busiest_first() -> None:
    network = Network(
        budget=9.0,
        modules=("idle", "busy"),
        inflows=(
            Inflow(name="i", target="idle", consumes=10.0, rate=3.0),
            Inflow(name="b", target="busy", consumes=10.0, rate=9.0),
        ),
        outflows=(
            Outflow(name="i", origin="idle", produces=10.0),
            Outflow(name="b", origin="busy", produces=10.0),
        ),
    )
    one = {"idle": 1, "busy": 1}
    for cores, busiest in ((3, 2), (4, 3), (5, 3)):
        bounds = Bounds(cores=cores, low=one, high=dict.fromkeys(one, 9))
        assert with_spare_cores(one, network, bounds)["busy"] == busiest


@given(seed=SEEDS)
def test_an_even_division_keeps_the_bounds_and_uses_what_it_may(seed: int) -> None:
    _, bounds = drawn(seed)
    division = even_division(bounds)
    assert bounds.admits(division)
    assert sum(division.values()) == min(bounds.cores, sum(bounds.high.values()))


@given(seed=SEEDS, power=st.integers(-6, 6))
def test_numbers_of_any_size_bring_the_same_division(seed: int, power: int) -> None:
    """Flow in thousandths of rows or in millions of them."""
    network, bounds = drawn(seed)
    sinks, scale = sink_needs(network), 2.0 ** (power * 3)
    scaled = [
        replace(
            sink,
            weight=sink.weight / scale,
            most=sink.most * scale,
            unit={name: need / scale for name, need in sink.unit.items()},
        )
        for sink in sinks
    ]
    assert exact_division(scaled, bounds) == exact_division(sinks, bounds)
    assert local_search(scaled, bounds, start={}) == local_search(sinks, bounds, start={})


def _chain(name: str, draw: np.random.Generator) -> SinkNeeds:
    unit = {f"{name}{i}": float(10 ** draw.uniform(-1, 0)) for i in range(2)}
    most, weight = float(10 ** draw.uniform(0, 1.5)), float(10 ** draw.uniform(-1, 1))
    return SinkNeeds(sink=name, weight=weight, unit=unit, most=most)


def star(*, sinks: int, cores: int) -> tuple[Network, Bounds]:
    """One module that feeds many."""
    leaves = [f"leaf{i}" for i in range(sinks)]
    network = Network(
        budget=float(cores),
        modules=("root", *leaves),
        inflows=(Inflow(name="s", target="root", consumes=3.0, rate=90.0),),
        links=tuple(
            Link(origin="root", target=leaf, produces=2.0, consumes=1.0 + 0.3 * i)
            for i, leaf in enumerate(leaves)
        ),
        outflows=tuple(
            Outflow(name=leaf, origin=leaf, produces=1.0 + 0.1 * i, weight=1.0)
            for i, leaf in enumerate(leaves)
        ),
    )
    low = dict.fromkeys(network.modules, 1)
    return network, Bounds(cores=cores, low=low, high=dict.fromkeys(low, cores))
