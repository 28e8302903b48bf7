"""Numbers far apart: a right answer or a refusal, never a wrong answer."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.policy.allocation import PLANNERS
from penstock.policy.allocation.network import (
    Inflow,
    Link,
    Network,
    Outflow,
    feasible_factor,
    value,
)
from tests.support.allocation import (
    anything,
    general,
    network_of,
    networks,
    single_output,
    true_optimum,
    wide,
)

RIGHT = 1e-6
TIME_TOLERANCE: dict[str, dict[str, Any]] = {"lp": {}, "cutting-plane": {"tolerance": 1e-7}}
"""Planners that find the optimum of any network, with settings."""
some = networks(anything, limited=(0.0, 0.5))
far_apart = networks(anything, most=7, numbers=(wide,))


def chain(ratios: Sequence[float], *, weight: float = 1.0, rate: float = inf) -> Network:
    """Modules of which each needs so many units of the one before."""
    names = tuple(f"m{i}" for i in range(len(ratios) + 1))
    links = tuple(
        Link(origin=a, target=b, produces=1.0, consumes=ratio)
        for a, b, ratio in zip(names, names[1:], ratios, strict=False)
    )
    return Network(
        budget=1.0,
        modules=names,
        inflows=(Inflow(name="s", target="m0", consumes=1.0, rate=rate),),
        links=links,
        outflows=(Outflow(name="o", origin=names[-1], produces=1.0, weight=weight),),
    )


def in_units(network: Network, flow: float, worth: float) -> Network:
    """The same network, with other units of flow and of what it is worth."""
    return replace(
        network,
        inflows=tuple(
            replace(inflow, consumes=inflow.consumes * flow, rate=inflow.rate * flow)
            for inflow in network.inflows
        ),
        links=tuple(
            replace(link, produces=link.produces * flow, consumes=link.consumes * flow)
            for link in network.links
        ),
        outflows=tuple(
            replace(sink, produces=sink.produces * flow, weight=sink.weight * worth)
            for sink in network.outflows
        ),
    )


@pytest.mark.parametrize("policy", TIME_TOLERANCE)
@given(network=far_apart)
def test_twelve_orders_of_magnitude_come_out_right(policy: str, network: Network) -> None:
    found = PLANNERS[policy](network, **TIME_TOLERANCE[policy])
    assert found.value == pytest.approx(true_optimum(network), rel=RIGHT)


@given(networks(single_output, most=7, numbers=(wide,)))
def test_a_single_sink_comes_out_right(network: Network) -> None:
    found = PLANNERS["single-output"](network)
    assert found.value == pytest.approx(true_optimum(network), rel=RIGHT)


@pytest.mark.parametrize("policy", [*TIME_TOLERANCE, "heuristic-b"])
@given(network=networks(general, most=40, numbers=(wide,)))
def test_what_is_planned_can_be_done(policy: str, network: Network) -> None:
    found = PLANNERS[policy](network)
    assert feasible_factor(network, found.resource) >= 1 - RIGHT
    assert value(network, found.resource) == pytest.approx(found.value, rel=RIGHT)


@pytest.mark.parametrize("policy", TIME_TOLERANCE)
@given(network=some, flow=st.floats(1e-12, 1e12), worth=st.floats(1e-12, 1e12))
def test_units_do_not_matter(policy: str, network: Network, flow: float, worth: float) -> None:
    """Rows or millions of rows, euros or cents: what is divided stays as it is."""
    both = (network, in_units(network, flow, worth))
    one, two = (PLANNERS[policy](each, **TIME_TOLERANCE[policy]).value for each in both)
    assert two == pytest.approx(one * flow * worth, rel=RIGHT)


@given(some, st.integers(-40, 40))
def test_units_do_not_matter_to_a_climb_that_rounding_could_send_elsewhere(
    network: Network, exponent: int
) -> None:
    flow = 2.0**exponent
    one, two = (PLANNERS["heuristic-b"](n) for n in (network, in_units(network, flow, 1.0)))
    assert two.value == pytest.approx(one.value * flow, rel=RIGHT)


@pytest.mark.parametrize("policy", [*TIME_TOLERANCE, "single-output", "heuristic-b"])
@pytest.mark.parametrize("ratio", [1e-6, 1e6])
def test_a_chain_of_thirty_such_steps_comes_out_right(policy: str, ratio: float) -> None:
    network = chain([ratio] * 30, weight=1e9)
    total = sum(ratio**i for i in range(31))
    assert PLANNERS[policy](network).value == pytest.approx(1e9 / total, rel=RIGHT)


@pytest.mark.parametrize("policy", [*TIME_TOLERANCE, "single-output", "heuristic-b"])
@pytest.mark.parametrize("ratio", [1e-6, 1e6])
def test_a_chain_beyond_all_numbers_is_refused(policy: str, ratio: float) -> None:
    with pytest.raises(SettingError, match=r"too far apart|other units"):
        PLANNERS[policy](chain([ratio] * 60))


@pytest.mark.parametrize("policy", TIME_TOLERANCE)
def test_a_sink_beyond_all_numbers_leaves_the_others_right(policy: str) -> None:
    far = chain([1e6] * 60)
    near = Outflow(name="near", origin="m0", produces=1.0, weight=3.0)
    network = replace(far, outflows=(*far.outflows, near))
    assert PLANNERS[policy](network).value == pytest.approx(3.0, rel=RIGHT)


@pytest.mark.parametrize("policy", TIME_TOLERANCE)
@pytest.mark.parametrize("seed", range(4))
def test_hundreds_of_modules_far_apart_agree(policy: str, seed: int) -> None:
    draw = np.random.default_rng(seed)
    pairs = {(int(draw.integers(max(0, j - 20), j)), j) for j in range(1, 300) for _ in range(2)}
    network = network_of(draw, 300, pairs, numbers=wide, limited=0.5)
    found = PLANNERS[policy](network, **TIME_TOLERANCE[policy]).value
    assert found == pytest.approx(PLANNERS["lp"](network).value, rel=RIGHT)


@pytest.mark.parametrize("policy", [*TIME_TOLERANCE, "single-output", "heuristic-b"])
def test_a_source_of_next_to_nothing_gives_next_to_nothing(policy: str) -> None:
    assert PLANNERS[policy](chain([2.0], rate=1e-12)).value == pytest.approx(5e-13, rel=RIGHT)
