"""The pace of an operator whose rows are routed by key: mpc, Expr. 1 to 5."""

from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.core.routing import Routing
from penstock.model.keyed import effective_service_time, replica_loads

KEYS = [f"K{i}" for i in range(30)]

rates = st.dictionaries(st.sampled_from(KEYS), st.floats(0.1, 1e4), min_size=1)
service_times = st.dictionaries(st.sampled_from(KEYS), st.floats(1e-6, 10.0))


@st.composite
def tables(draw: st.DrawFn) -> Routing:
    """Tables that name some keys and leave others to their checksum."""
    replicas = draw(st.integers(1, 12))
    owner = st.integers(0, replicas - 1)
    return Routing(replicas=replicas, owners=draw(st.dictionaries(st.sampled_from(KEYS), owner)))


@given(rates, service_times, tables())
def test_no_table_is_faster_than_a_balanced_one(
    rates: dict[str, float], service_times: dict[str, float], routing: Routing
) -> None:
    loads = replica_loads(rates, service_times, routing, default_time=0.01)
    balanced = float(loads.service_time @ loads.probability) / routing.replicas
    assert loads.ideal_service_time >= balanced * (1.0 - 1e-9)


@given(rates, service_times, tables())
def test_each_row_goes_to_one_replica_and_takes_its_keys_time(
    rates: dict[str, float], service_times: dict[str, float], routing: Routing
) -> None:
    loads = replica_loads(rates, service_times, routing, default_time=0.01)
    busy = sum(rate * service_times.get(key, 0.01) for key, rate in rates.items())
    assert loads.rate == pytest.approx(sum(rates.values()))
    assert loads.probability.sum() == pytest.approx(1.0)
    assert loads.utilisation.sum() == pytest.approx(busy)
    assert loads.service_time @ loads.probability == pytest.approx(busy / loads.rate)


@given(rates, service_times, tables())
def test_each_replica_is_as_the_paper_writes_it(
    rates: dict[str, float], service_times: dict[str, float], routing: Routing
) -> None:
    loads = replica_loads(rates, service_times, routing, default_time=0.01)
    for replica in range(routing.replicas):
        mine = {key: rate for key, rate in rates.items() if routing.owner(key) == replica}
        received = sum(mine.values())
        assert loads.probability[replica] == pytest.approx(received / sum(rates.values()))
        if received:
            mean = sum(r * service_times.get(k, 0.01) for k, r in mine.items()) / received
            assert loads.service_time[replica] == pytest.approx(mean)
            assert loads.utilisation[replica] == pytest.approx(mean * received)


@given(rates, service_times, tables())
def test_rows_as_fast_as_the_bottleneck_fill_it(
    rates: dict[str, float], service_times: dict[str, float], routing: Routing
) -> None:
    loads = replica_loads(rates, service_times, routing, default_time=0.01)
    most = loads.utilisation[loads.bottleneck]
    assert most == loads.utilisation.max()
    full = {key: rate / most for key, rate in rates.items()}
    at_capacity = replica_loads(full, service_times, routing, default_time=0.01)
    assert at_capacity.inter_arrival == pytest.approx(loads.ideal_service_time)


@given(st.integers(1, 12), st.integers(1, 5), st.floats(1e-6, 1.0))
def test_equal_shares_have_the_balanced_service_time(
    replicas: int, keys_each: int, time: float
) -> None:
    owners = {f"K{i}": i % replicas for i in range(replicas * keys_each)}
    loads = replica_loads(
        dict.fromkeys(owners, 3.0),
        dict.fromkeys(owners, time),
        Routing(replicas=replicas, owners=owners),
        default_time=99.0,
    )
    assert loads.ideal_service_time == pytest.approx(time / replicas)
    assert loads.imbalance == pytest.approx(1.0)


@given(rates, service_times, tables(), st.floats(0.5, 2.0))
def test_a_slower_clock_stretches_every_time(
    rates: dict[str, float], service_times: dict[str, float], routing: Routing, ratio: float
) -> None:
    now = replica_loads(rates, service_times, routing, default_time=0.01)
    then = replica_loads(rates, service_times, routing, default_time=0.01, frequency_ratio=ratio)
    assert then.service_time == pytest.approx(now.service_time * ratio)
    assert then.ideal_service_time == pytest.approx(now.ideal_service_time * ratio)
    assert then.probability == pytest.approx(now.probability)


def test_an_operator_without_rows_is_idle_and_balanced() -> None:
    loads = replica_loads({}, {}, Routing(replicas=3), default_time=0.02)
    assert loads.utilisation.tolist() == [0.0, 0.0, 0.0]
    assert loads.service_time.tolist() == [0.02, 0.02, 0.02]
    assert loads.inter_arrival == inf
    assert (loads.ideal_service_time, loads.imbalance) == (0.0, 1.0)
    assert effective_service_time(loads.inter_arrival, loads.ideal_service_time) == inf


def test_a_replica_without_rows_is_out_of_balance() -> None:
    routing = Routing(replicas=2, owners={"A": 0})
    assert replica_loads({"A": 1.0}, {"A": 0.5}, routing, default_time=0.1).imbalance == inf


def test_a_key_that_came_with_no_rows_counts_for_nothing() -> None:
    routing = Routing(replicas=2, owners={"A": 0, "B": 1})
    loads = replica_loads({"A": 4.0, "B": 0.0}, {"A": 0.1, "B": 9.0}, routing, default_time=0.2)
    assert loads.utilisation.tolist() == [0.4, 0.0]
    assert loads.service_time.tolist() == [0.1, 0.2]


def test_results_come_no_faster_than_rows() -> None:
    ideal = 0.012 / np.arange(1, 5)
    assert effective_service_time(0.005, ideal).tolist() == [0.012, 0.006, 0.005, 0.005]


@pytest.mark.parametrize("value", [-1.0, nan, inf])
def test_refuses_a_rate_or_time_that_cannot_be_and_names_the_key(value: float) -> None:
    routing = Routing(replicas=2)
    with pytest.raises(SettingError, match="rate of key 'A' must be 0 or more and finite, got"):
        replica_loads({"A": value}, {}, routing, default_time=0.1)
    with pytest.raises(SettingError, match="service time of key 'A' must be 0 or more"):
        replica_loads({"A": 1.0}, {"A": value}, routing, default_time=0.1)
    with pytest.raises(SettingError, match="default_time must be 0 or more and finite, got"):
        replica_loads({"A": 1.0}, {}, routing, default_time=value)


def test_refuses_a_clock_that_stands_still() -> None:
    with pytest.raises(SettingError, match="frequency_ratio must be above 0 and finite, got 0"):
        replica_loads({}, {}, Routing(replicas=1), default_time=0.1, frequency_ratio=0.0)
