"""What configurations cost, against the expressions of the mpc paper."""

from math import exp, inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.policy.mpc import STRATEGIES, Mpc, Options, Outlook, Prices

OPTIONS = Options.of(least=1, most=12, clocks=(1.2, 1.6, 2.0))


def outlook(*rates: float, service_time: float = 0.01, options: Options = OPTIONS) -> Outlook:
    return Outlook(
        rates=np.array(rates),
        service_times=service_time * 2.0 / options.clocks,
        parallel=options.replicas,
    )


def test_the_strategies_are_those_of_the_paper() -> None:
    assert {name: s.alpha for name, s in STRATEGIES.items()} == {
        "th-node": 200.0,
        "th-power": 200.0,
        "lat-node": 2.0,
        "lat-power": 2.0,
    }


@given(st.floats(1e-6, 1e3), st.floats(0.05, 11.0))
def test_throughput_takes_the_least_that_is_no_bottleneck_whatever_rows_cost(
    service_time: float, load: float
) -> None:
    """`load` is how many replicas would be full; an overload of up to 0.25 % is worth a replica."""
    options = Options.of(least=1, most=12, clocks=(2.0,))
    seen = outlook(load / service_time, service_time=service_time, options=options)
    costs = Prices(strategy="th-node", headroom=1.0).stages(options, seen)
    least = int(costs[0].argmin()) + 1
    assert least in {max(int(np.ceil(load / slack)), 1) for slack in (1.0 - 1e-9, 1.0, 1.0026)}


def test_with_a_scale_the_throughput_cost_is_the_papers() -> None:
    prices = Prices(strategy="th-node", scale=0.001, headroom=1.0, beta=0.5)
    costs = prices.stages(OPTIONS, outlook(250.0))
    one, twelve = OPTIONS.index(1, 2.0), OPTIONS.index(12, 2.0)
    assert costs[0, one] == pytest.approx(200 * 10.0 + 0.5)  # 10 ms by the row
    assert costs[0, twelve] == pytest.approx(200 * 4.0 + 6.0)  # a row every 4 ms


def test_where_no_rows_come_the_cheapest_is_best() -> None:
    for scale in (None, 0.001):
        costs = Prices(strategy="th-power", scale=scale).stages(OPTIONS, outlook(0.0))
        assert np.isfinite(costs).all()
        assert int(costs[0].argmin()) == OPTIONS.index(1, 1.2)


def test_the_latency_cost_grows_with_the_exponent_of_the_response() -> None:
    prices = Prices(strategy="lat-node", threshold=0.02, beta=0.5)
    seen = outlook(250.0)
    costs, three = prices.stages(OPTIONS, seen), OPTIONS.index(3, 2.0)
    assert three is not None
    rho = 250.0 * 0.01 / 3 / 0.95
    response = rho / (1 - rho) * 0.01 / 3 + 0.01
    assert costs[0, three] == pytest.approx(2 * exp(response / 0.02) + 1.5)
    assert costs[0, OPTIONS.index(2, 2.0)] == inf


def test_power_is_volts_squared_times_clock_times_cores() -> None:
    costs = Prices(strategy="th-power").stages(OPTIONS, outlook(1.0))
    dear, cheap = OPTIONS.index(5, 2.0), OPTIONS.index(5, 1.2)
    assert costs[0, dear] - costs[0, cheap] == pytest.approx(
        0.5 * 8 * (1.05**2 * 2.0 - 0.85**2 * 1.2)
    )


def test_changes_cost_by_the_square_of_replicas_and_tenths_of_a_gigahertz() -> None:
    prices = Prices(strategy="th-power")
    here, there = OPTIONS.index(3, 2.0), OPTIONS.index(5, 1.6)
    assert here is not None and there is not None  # noqa: PT018
    assert prices.switching(OPTIONS)[here, there] == pytest.approx(0.4 * (2**2 + 4**2))
    assert prices.start(OPTIONS, 3, 2.0)[there] == pytest.approx(0.4 * (2**2 + 4**2))
    assert not Prices(strategy="th-power", gamma=0.0).switching(OPTIONS).any()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strategy": "th-nod"}, "strategy of policy mpc must be th-node, .*, got 'th-nod'"),
        ({"strategy": "lat-node"}, "strategy lat-node of policy mpc needs a threshold"),
        ({"strategy": "lat-node", "threshold": 0.0}, "threshold of policy mpc must be above 0s"),
        ({"strategy": "th-node", "alpha": 0.0}, "alpha of policy mpc must be above 0"),
        ({"strategy": "th-node", "beta": -1.0}, "beta of policy mpc must be above 0"),
        ({"strategy": "th-node", "gamma": -1.0}, "gamma of policy mpc must be 0 or more"),
        ({"strategy": "th-node", "scale": -1.0}, "scale of policy mpc must be above 0s"),
        ({"strategy": "th-node", "headroom": 1.2}, "headroom of policy mpc must be in"),
    ],
)
def test_prices_that_nothing_can_have_are_refused(
    settings: dict[str, object], message: str
) -> None:
    graph = FlowGraph(source="count", modules=(Module(name="count"),))
    with pytest.raises(SettingError, match=message):
        Mpc(graph, **settings)  # type: ignore[arg-type]
