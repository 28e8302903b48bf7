"""The rules that came from the study of streams: DS2 and Dhalion."""

from collections.abc import Callable, Mapping

import pytest

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.signals import Decision
from penstock.policy import Dhalion, Ds2
from penstock.policy.peers.common import Flow
from penstock.testing import seen

GRAPH = FlowGraph(
    source="scan",
    modules=(Module(name="scan"), Module(name="match"), Module(name="rank"), Module(name="store")),
    streams=(
        Stream(origin="scan", target="match", selectivity=2.0, probability=0.75),
        Stream(origin="scan", target="rank", selectivity=2.0, probability=0.25),
        Stream(origin="match", target="store"),
        Stream(origin="rank", target="store"),
    ),
)


def counter(decided: Decision) -> int:
    return decided.configuration.degrees["counter"]


# The flow


def test_rows_are_followed_in_topological_order() -> None:
    flow = Flow(GRAPH, 60.0)
    flow.observe(seen(scan={"arrival_rate": 100.0}))
    assert flow.inflow() == {"scan": 100.0, "match": 150.0, "rank": 50.0, "store": 200.0}


def test_selectivities_are_those_measured() -> None:
    flow = Flow(GRAPH, 60.0)
    scan = {"arrival_rate": 100.0, "processed_rate": 50.0}
    # 75 rows/s should have come to match and 30 did: 0.4 times as many, on which store depends
    flow.observe(seen(scan=scan, match={"arrival_rate": 30.0, "processed_rate": 30.0}))
    expected = {"scan": 100.0, "match": 60.0, "rank": 50.0, "store": 110.0}
    assert flow.inflow() == pytest.approx(expected)


def test_selectivities_forget_what_is_out_of_the_window() -> None:
    flow = Flow(GRAPH, 10.0)
    for at, came in ((0.0, 1500.0), (20.0, 300.0)):
        scan = {"arrival_rate": 100.0, "processed_rate": 100.0}
        flow.observe(seen(at=at, scan=scan, match={"arrival_rate": came}))
    assert flow.inflow()["match"] == pytest.approx(300.0)


# DS2


def ds2(policy: Ds2, at: float, modules: Mapping[str, Mapping[str, float]]) -> Mapping[str, int]:
    return policy(seen(modules, at=at)).configuration.degrees


def test_ds2_decides_for_all_modules_at_once() -> None:
    wanted = ds2(
        Ds2(GRAPH),
        0.0,
        {
            "scan": {"arrival_rate": 100.0, "service_time": 0.015, "running": 1},  # 1.5
            "match": {"service_time": 0.02, "running": 1},  # 150 * 0.02 = 3
            "rank": {"service_time": 0.1, "running": 9},  # 50 * 0.1 = 5
            "store": {"service_time": 0.001, "running": 2},  # 0.2
        },
    )
    assert wanted == {"scan": 2, "match": 3, "rank": 5, "store": 1}


def test_ds2_overprovisions() -> None:
    reading = {"arrival_rate": 900.0, "service_time": 0.004, "running": 2}
    decision = Ds2(overprovisioning=1.2)(seen(counter=reading))
    assert counter(decision) == 5  # 1.2 * 3.6 = 4.32
    assert decision.why == ("counter needs 1.2 times 900 rows/s at 250 rows/s per executor: 2 -> 5")


def test_ds2_uses_busy_time_where_no_service_time_is_known() -> None:
    reading = {"arrival_rate": 300.0, "processed_rate": 100.0, "utilisation": 0.5, "running": 2}
    assert counter(Ds2()(seen(counter=reading))) == 3  # 100 rows/s of one busy executor


def test_ds2_averages_over_its_window() -> None:
    policy = Ds2(window=30.0)

    def see(at: float, rate: float) -> int:
        reading = {"arrival_rate": rate, "service_time": 0.01, "running": 2}
        return counter(policy(seen(at=at, counter=reading)))

    assert see(0.0, 200.0) == 2
    assert see(15.0, 500.0) == 4  # the mean of 200 and 500
    assert see(30.0, 500.0) == 5  # the 200 are out of the window


def test_ds2_looks_every_15_s_and_rests_after_a_change() -> None:
    policy = Ds2(window=0.0)

    def see(at: float, rate: float, running: int) -> Decision:
        reading = {"arrival_rate": rate, "service_time": 0.01, "running": running}
        return policy(seen(at=at, counter=reading))

    assert counter(see(0.0, 300.0, 2)) == 3
    assert see(10.0, 900.0, 3).why == (
        "counter holds at 3, a module changed 10 s ago, the cooldown is 2 min"
    )
    assert counter(see(119.0, 900.0, 3)) == 3
    assert counter(see(120.0, 900.0, 3)) == 9
    fresh = Ds2(window=0.0)
    fresh(seen(at=0.0, counter={"arrival_rate": 100.0, "service_time": 0.01, "running": 1}))
    waits = fresh(seen(at=6.0, counter={"arrival_rate": 900.0, "service_time": 0.01, "running": 1}))
    assert waits.why == "counter holds at 1, next evaluation in 9 s"


def test_ds2_needs_one_executor_for_no_rows() -> None:
    assert counter(Ds2()(seen(counter={"arrival_rate": 0.0, "running": 4}))) == 1


def test_ds2_holds_where_the_source_is_unknown_and_looks_again_at_once() -> None:
    policy = Ds2(GRAPH)
    blind = policy(seen(scan={"running": 1}, match={"service_time": 0.02, "running": 1}))
    assert blind.why == (
        "scan holds at 1, arrival rate of its source unknown; "
        "match holds at 1, arrival rate of its source unknown"
    )
    scan = {"arrival_rate": 100.0, "service_time": 0.03, "running": 1}
    partly = policy(seen(at=2.0, scan=scan, match={"running": 1}))
    assert partly.why == (
        "scan needs 100 rows/s at 33.3 rows/s per executor: 1 -> 3; "
        "match holds at 1, service time unknown"
    )


def test_ds2_holds_where_rates_are_too_small_to_divide_by() -> None:
    hardly = {"arrival_rate": 1.0, "processed_rate": 5e-324, "utilisation": 1.0, "running": 2}
    decision = Ds2()(seen(counter=hardly))
    assert decision.why == "counter holds at 2, service time unknown"


# Dhalion


def dhalion(policy: Dhalion, at: float, backlog: float, running: int, rate: float = 100.0) -> int:
    reading = {"arrival_rate": rate, "backlog": backlog, "running": running}
    return counter(policy(seen(at=at, step=10.0, counter=reading)))


@pytest.mark.parametrize(
    ("backlog", "running", "degree"),
    [
        (400.0, 3, 5),  # 40 of 100 rows/s are missed: 1 + 0.4 / 0.6 = 1.67, ceil(5)
        (200.0, 3, 4),  # 1.25: ceil(3.75)
        (2000.0, 2, 20),  # all are missed: 0.9 counts, ten times
        (100.0, 3, 2),  # 10 % is no pressure, and 100 rows come in a step: floor(2.4)
        (111.0, 3, 4),  # 11.1 %: 1.125, ceil(3.375)
    ],
)
def test_dhalion_grows_by_what_is_missed(backlog: float, running: int, degree: int) -> None:
    policy = Dhalion(period=0.0)
    assert dhalion(policy, 0.0, 0.0, running) == running
    assert dhalion(policy, 10.0, backlog, running) == degree


def test_dhalion_adds_no_more_than_allowed() -> None:
    policy = Dhalion(period=0.0, max_increase=5)
    dhalion(policy, 0.0, 0.0, 2)
    assert dhalion(policy, 10.0, 2000.0, 2) == 7


@pytest.mark.parametrize(("running", "degree"), [(10, 8), (4, 3), (2, 1), (1, 1)])
def test_dhalion_shrinks_what_is_idle(running: int, degree: int) -> None:
    policy = Dhalion(period=0.0)
    dhalion(policy, 0.0, 1110.0, running)
    assert dhalion(policy, 10.0, 1110.0, running) == running  # no growth, but rows wait
    assert dhalion(policy, 20.0, 1100.0, running) == degree  # what 10 s bring, and 10 % more


def test_dhalion_leaves_rows_that_wait_in_any_case_out_of_account() -> None:
    graph = FlowGraph(source="counter", modules=(Module(name="counter", trigger=20.0),))
    reading = {"arrival_rate": 100.0, "backlog": 3250.0, "batch_duration": 10.0, "running": 4}
    for wanted, known in ((3, graph), (4, None)):  # 3,000 rows and 10 % more, or 1,000
        policy = Dhalion(known, period=0.0)
        for at in (0.0, 10.0):
            decided = policy(seen(at=at, step=10.0, counter=reading))
        assert counter(decided) == wanted


def test_dhalion_shrinks_no_module_under_pressure() -> None:
    policy = Dhalion(GRAPH, period=0.0)
    for at, rows in ((0.0, 0.0), (10.0, 500.0)):
        idle = {"arrival_rate": 10.0, "backlog": 0.0, "running": 4}
        slow = {"arrival_rate": 100.0, "backlog": rows, "running": 2}
        decided = policy(seen(at=at, step=10.0, scan=idle, match=slow))
    assert decided.configuration.degrees == {"scan": 4, "match": 4}
    assert decided.why == (
        "match leaves 50 % of its 100 rows/s, needs 2 times as many executors: 2 -> 4; "
        "scan holds at 4, match under back-pressure, so no module shrinks"
    )


def test_dhalion_forgets_growth_that_is_out_of_its_window() -> None:
    policy = Dhalion(period=0.0, window=20.0)
    for at, rows in ((0.0, 0.0), (10.0, 5000.0)):
        assert dhalion(policy, at, rows, 1) == (1 if at == 0 else 10)
    assert dhalion(policy, 30.0, 5000.0, 1) == 1  # only this reading is left: unknown
    assert dhalion(policy, 40.0, 5000.0, 1) == 1  # no growth


def test_dhalion_looks_every_15_s_and_rests_after_a_change() -> None:
    policy = Dhalion()
    dhalion(policy, 0.0, 0.0, 3)
    assert dhalion(policy, 10.0, 400.0, 3) == 5  # nothing was known at first: looks again at once
    assert dhalion(policy, 20.0, 900.0, 5) == 5
    assert dhalion(policy, 120.0, 9000.0, 5) == 5
    assert dhalion(policy, 130.0, 9900.0, 5) > 5
    steady = Dhalion()
    for at in (0.0, 10.0):
        dhalion(steady, at, 5000.0, 3)
    reading = {"arrival_rate": 100.0, "backlog": 9900.0, "running": 3}
    decision = steady(seen(at=12.0, counter=reading))
    assert decision.why == "counter holds at 3, next evaluation in 3 s"


@pytest.mark.parametrize("lacks", ["arrival_rate", "backlog"])
def test_dhalion_holds_what_it_knows_too_little_of(lacks: str) -> None:
    policy = Dhalion(period=0.0)
    for at, rows in ((0.0, 0.0), (10.0, 500.0), (20.0, 2000.0)):
        reading = {"arrival_rate": 100.0, "backlog": rows, "running": 2}
        if at == 20.0:
            del reading[lacks]
        decided = policy(seen(at=at, step=10.0, counter=reading))
    assert decided.why == "counter holds at 2, backlog growth or arrival rate unknown"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Ds2(overprovisioning=0.5), "overprovisioning of policy ds2 must be 1 or more"),
        (lambda: Ds2(window=-1.0), "window of policy ds2 must be 0s or more, got -1s"),
        (lambda: Dhalion(scale_down_factor=0.0), r"scale_down_factor of policy dhalion must be in"),
        (lambda: Dhalion(pressure=2.0), r"pressure of policy dhalion must be in \[0, 1\], got 2"),
    ],
)
def test_what_cannot_be_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        make()
