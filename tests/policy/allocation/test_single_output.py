"""Algorithm 1 and Theorem 1 by agents, and Lemma 4 of what they need."""

from dataclasses import replace

import pytest
from hypothesis import given

from penstock.core.errors import SettingError
from penstock.policy.allocation import optimum
from penstock.policy.allocation.messages import MessageBus
from penstock.policy.allocation.network import (
    Inflow,
    Link,
    Network,
    Outflow,
    feasible_factor,
    least_resource,
)
from penstock.policy.allocation.single_output import sole_sinks, solve
from tests.support.allocation import anything, networks, single_output

TIME_TOLERANCE = 1e-9
JOINED = Network(
    budget=10.0,
    modules=("left", "right", "join"),
    inflows=(
        Inflow(name="clicks", target="left", consumes=2.0, rate=3.0),
        Inflow(name="views", target="right", consumes=1.0),
    ),
    links=(
        Link(origin="left", target="join", produces=4.0, consumes=1.0),
        Link(origin="right", target="join", produces=1.0, consumes=2.0),
    ),
    outflows=(Outflow(name="o", origin="join", produces=5.0, weight=2.0),),
)
"""A unit of `join` takes a quarter of `left` and two of `right`, and `left` has 1.5 at most."""


@given(networks(single_output, most=25))
def test_is_the_optimum_of_a_single_sink(network: Network) -> None:
    """Theorem 1."""
    found = solve(network)
    assert found.value == pytest.approx(optimum(network), rel=TIME_TOLERANCE)
    assert feasible_factor(network, found.resource) == pytest.approx(1.0, rel=TIME_TOLERANCE)


@given(networks(single_output, most=9))
def test_no_module_can_do_with_less(network: Network) -> None:
    """Lemma 4: along some way to the sink, each module has to feed the next with all it has."""
    found = solve(network)
    flow = found.value / network.outflows[0].weight
    for module in network.modules:
        asked = max(_asked(network, module, flow), default=0.0)
        assert found.resource[module] == pytest.approx(asked, rel=TIME_TOLERANCE)


def _asked(network: Network, module: str, flow: float) -> list[float]:
    """What each way from a module to the sink asks of it."""
    own = [flow / outflow.produces for outflow in network.outflows_of[module]]
    return own + [
        link.consumes * asked / link.produces
        for link in network.outputs[module]
        for asked in _asked(network, link.target, flow)
    ]


@given(networks(anything))
def test_every_sink_learns_what_it_could_have_alone(network: Network) -> None:
    each = sole_sinks(MessageBus(network))
    for outflow in network.outflows:
        least = least_resource(network, {outflow.name: 1.0})
        assert each[outflow.name].unit == pytest.approx(sum(least.values()), rel=TIME_TOLERANCE)
        flow = min(network.budget / each[outflow.name].unit, each[outflow.name].most)
        assert flow == pytest.approx(feasible_factor(network, least), rel=TIME_TOLERANCE)


@given(networks(single_output))
def test_speaks_three_times_along_each_stream_at_most(network: Network) -> None:
    found = solve(network)
    assert found.passes == 3
    assert found.messages <= 3 * (len(network.links) + 1)


def test_a_limited_source_stops_the_whole() -> None:
    found = solve(JOINED)
    unit = 10.0 / 3.25
    assert found.resource == pytest.approx({"left": unit / 4, "right": 2 * unit, "join": unit})
    plenty = replace(JOINED, budget=100.0)
    assert solve(plenty).resource == {"left": 1.5, "right": 12.0, "join": 6.0}


def test_refuses_two_sinks_and_none() -> None:
    sinks = tuple(Outflow(name=name, origin="a", produces=1.0) for name in "xy")
    with pytest.raises(SettingError, match="one sink, and there are 2; take cutting-plane"):
        solve(Network(budget=1.0, modules=("a",), outflows=sinks))
    with pytest.raises(SettingError, match="one sink, and there are 0"):
        solve(Network(budget=1.0, modules=("a",)))
