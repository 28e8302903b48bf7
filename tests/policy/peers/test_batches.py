"""The rules that go by processing time by interval: Spark's DStreams and Amadeus' library."""

from collections.abc import Callable

import pytest

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.core.signals import Decision
from penstock.policy import Amadeus, DStream
from penstock.testing import seen

GRAPH = FlowGraph(source="counter", modules=(Module(name="counter", trigger=2.0),))
ROW_BY_ROW = FlowGraph(source="counter", modules=(Module(name="counter"),))


def counter(decided: Decision) -> int:
    return decided.configuration.degrees["counter"]


def after_a_minute(policy: DStream, took: float, running: int, **more: int) -> Decision:
    reading = {"batch_duration": took, "running": running, **more}
    return policy(seen(at=60.0, step=60.0, counter=reading))


# DStream


@pytest.mark.parametrize(
    ("took", "running", "degree"),
    [
        (1.8, 2, 3),  # a ratio of 0.9: one more
        (1.78, 2, 2),  # 0.89
        (2.8, 2, 3),  # 1.4: round(1.4) = 1
        (3.0, 2, 4),  # 1.5: 2, half a one rounded up
        (5.0, 2, 5),  # 2.5: 3, not to the even number
        (0.6, 3, 2),  # 0.3: one fewer
        (0.62, 3, 3),
        (0.1, 1, 1),  # none can be spared
    ],
)
def test_dstream_is_sparks_rule(took: float, running: int, degree: int) -> None:
    assert counter(after_a_minute(DStream(GRAPH), took, running)) == degree


def test_dstream_says_why() -> None:
    assert after_a_minute(DStream(GRAPH), 0.5, 3).why == (
        "counter 25 % of the interval of 2 s, 30 % or less: 3 -> 2"
    )
    assert after_a_minute(DStream(GRAPH), 1.0, 3).why == (
        "counter holds at 3, 50 % of the interval of 2 s, between 30 % and 90 %"
    )


def test_dstream_adds_to_what_runs_and_takes_nothing_back() -> None:
    assert counter(after_a_minute(DStream(GRAPH), 2.0, 2, requested=4)) == 4
    assert counter(after_a_minute(DStream(GRAPH), 6.0, 2, requested=4)) == 5


def test_dstream_looks_once_a_minute_at_the_mean_since() -> None:
    policy = DStream(GRAPH)

    def see(at: float, took: float) -> Decision:
        return policy(seen(at=at, step=20.0, counter={"batch_duration": took, "running": 2}))

    assert see(20.0, 5.0).why == "counter holds at 2, next evaluation in 40 s"
    assert counter(see(40.0, 0.2)) == 2
    assert counter(see(60.0, 0.2)) == 3  # the mean of 5, 0.2 and 0.2 is 1.8
    assert counter(see(80.0, 1.0)) == 2
    assert counter(see(100.0, 1.0)) == 2
    assert counter(see(120.0, 1.0)) == 2  # what was before the last look is forgotten


def test_dstream_without_batches_changes_nothing() -> None:
    policy = DStream(GRAPH)
    silent = policy(seen(at=60.0, step=60.0, counter={"utilisation": 1.0, "running": 2}))
    assert silent.why == "counter holds at 2, no batch was measured in the last 1 min"


def test_dstream_holds_where_running_executors_are_unknown() -> None:
    decision = DStream(GRAPH)(
        seen(at=60.0, step=60.0, counter={"batch_duration": 9.0, "requested": 2})
    )
    assert decision.why == "counter holds at 2, running executors unknown"


@pytest.mark.parametrize("graph", [ROW_BY_ROW, None])
def test_dstream_goes_by_utilisation_without_an_interval(graph: FlowGraph | None) -> None:
    decision = DStream(graph)(seen(at=60.0, step=60.0, counter={"utilisation": 0.95, "running": 2}))
    assert decision.why == "counter 95 % busy, no interval is known, 90 % or more adds 1: 2 -> 3"


def test_an_interval_that_is_given_takes_the_place_of_the_trigger() -> None:
    assert counter(after_a_minute(DStream(GRAPH, interval=10.0), 1.8, 2)) == 1
    decision = Amadeus(GRAPH, interval=10.0)(seen(counter={"batch_duration": 10.0, "running": 2}))
    assert "of the interval of 10 s" in decision.why


# Amadeus


def amadeus(policy: Amadeus, took: float | None, running: int, **more: int) -> int:
    reading = {"batch_duration": took, "running": running, **more}
    return counter(policy(seen(counter=reading)))


@pytest.mark.parametrize(
    ("took", "running", "degree"),
    [
        (3.2, 2, 3),  # (0.6 + 1.6) / 1.6 = 1.375: ceil(2.75)
        (2.0, 4, 4),  # 1
        (2.04, 4, 5),  # 1.0125: ceil(4.05)
        (1.2, 4, 4),  # (0.6 + 0.6) / 1.6 = 0.75, which is within
        (1.1, 4, 3),  # 0.71875: ceil(2.875)
        (1.1, 1, 1),  # ceil(0.72)
        (0.0, 8, 3),  # 0.375
    ],
)
def test_amadeus_is_the_librarys_rule(took: float, running: int, degree: int) -> None:
    assert amadeus(Amadeus(GRAPH), took, running) == degree


def test_amadeus_lets_the_past_count_less_and_less() -> None:
    policy = Amadeus(GRAPH)
    assert amadeus(policy, 2.0, 4) == 4  # (0.6 + 1) / (0.6 + 1) = 1
    assert amadeus(policy, 2.0, 4) == 4  # (0.96 + 1) / (0.96 + 1)
    assert amadeus(policy, None, 4) == 4  # a step without a batch is passed over
    # (1.176 + 2) / (1.176 + 1) = 1.4596: ceil(5.84)
    assert amadeus(policy, 4.0, 4) == 6


def test_amadeus_without_a_past_goes_by_the_newest() -> None:
    assert amadeus(Amadeus(GRAPH, smoothing=0.0), 3.2, 2) == 4  # 1.6: ceil(3.2)


def test_amadeus_waits_while_executors_come_or_go() -> None:
    assert amadeus(Amadeus(GRAPH), 6.0, 2, requested=4) == 4
    decision = Amadeus(GRAPH)(seen(counter={"batch_duration": 6.0, "running": 2, "requested": 4}))
    assert decision.why.endswith("but 2 of 4 executors run")


@pytest.mark.parametrize(
    ("graph", "reading", "why"),
    [
        (GRAPH, {"utilisation": 1.0, "running": 2}, "counter holds at 2, batch duration unknown"),
        (ROW_BY_ROW, {"running": 2}, "counter holds at 2, interval and utilisation unknown"),
        (
            GRAPH,
            {"batch_duration": 9.0, "requested": 2},
            "counter holds at 2, running executors unknown",
        ),
        (
            ROW_BY_ROW,
            {"utilisation": 0.2, "running": 2},  # (0.6 + 0.2) / 1.6
            "counter 50 % busy, no interval is known on average, below 75 %: 2 -> 1",
        ),
    ],
)
def test_amadeus_says_what_it_goes_by(
    graph: FlowGraph, reading: dict[str, float], why: str
) -> None:
    assert Amadeus(graph)(seen(counter=reading)).why == why


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DStream(scaling_up_ratio=0.2), "must be above its scaling_down_ratio, got 0.2"),
        (lambda: DStream(interval=0.0), "interval of policy dstream must be above 0"),
        (lambda: Amadeus(smoothing=1.5), r"smoothing of policy amadeus must be in \[0, 1\]"),
        (lambda: Amadeus(low=2.0), "low of policy amadeus is above its high, got 2 and 1"),
    ],
)
def test_what_cannot_be_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        make()
