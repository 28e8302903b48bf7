"""Catch-up: capacity for a backlog and for the time that a rescale costs."""

from collections.abc import Mapping
from itertools import pairwise
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.core.loop import control
from penstock.core.roles import Policy
from penstock.core.settings import build
from penstock.core.signals import Tick
from penstock.guard import CatchUp
from penstock.policy import Static, Threshold
from penstock.policy.common.estimates import RescaleTimes
from penstock.testing import seen
from penstock.twin import Twin
from penstock.workload import parse
from tests.guard.wishes import Wish, counter

late = {"running": 4, "requested": 4, "arrival_rate": 300.0, "service_time": 0.01}
rates = st.floats(0.0, 1e5)


# The target rate


@given(st.integers(1, 50), st.integers(1, 50), rates, st.floats(0.0, 1e8), st.floats(1e-4, 1.0))
def test_catch_up_never_lowers_a_degree(
    wish: int, now: int, arrives: float, waits: float, service: float
) -> None:
    reading = {"running": now, "arrival_rate": arrives, "backlog": waits, "service_time": service}
    assert counter(CatchUp(Wish([wish]))(seen(counter=reading))) >= wish


@given(rates, st.floats(0.0, 1e8), st.floats(1e-4, 1.0), st.floats(0.0, 60.0))
def test_catch_up_asks_for_the_target_rate_and_not_an_executor_more(
    arrives: float, waits: float, service: float, rescale: float
) -> None:
    guard = CatchUp(Wish([1]), duration=300.0, utilisation=0.8, backlog=0.0, rescale_time=rescale)
    reading = {"running": 2, "arrival_rate": arrives, "backlog": waits, "service_time": service}
    found = counter(guard(seen(counter=reading)))
    target = waits / 300.0 + arrives * rescale / 300.0 + arrives / 0.8
    fewest = 2 if waits > 0 else 1  # while rows wait it does not shrink
    if waits > 0 or rescale > 0:
        assert found == max(ceil(target * service - 1e-9), fewest)
    else:
        assert found == 1


def test_catch_up_says_what_waits_and_what_comes_meanwhile() -> None:
    guard = CatchUp(Wish([4]), rescale_time=20.0)
    assert guard(seen(counter={**late, "backlog": 60_000.0})).why == (
        "wishes for 4; counter raised to 5 for 300 rows/s at 90 % busy and, within 10 min, "
        "60,000 waiting rows and 6,000 rows that arrive during the 20 s rescale"
    )


def test_catch_up_includes_the_time_of_a_change_that_the_policy_makes() -> None:
    """Without a backlog, a change to 3 would leave no room for the rows of the change itself."""
    reading = {**late, "arrival_rate": 269.0, "backlog": 0.0}
    assert counter(CatchUp(Wish([3]), rescale_time=0.0)(seen(counter=reading))) == 3
    decided = CatchUp(Wish([3]), rescale_time=60.0)(seen(counter=reading))
    assert decided.why == (
        "wishes for 3; counter stays at 4 for 269 rows/s at 90 % busy and, within 10 min, "
        "16,140 rows that arrive during the 1 min rescale"
    )


def test_where_there_is_nothing_to_catch_up_on_utilisation_is_left_to_the_policy() -> None:
    reading = {**late, "arrival_rate": 380.0, "backlog": 0.0}
    assert counter(CatchUp(Wish([3]), rescale_time=0.0)(seen(counter=reading))) == 3
    assert counter(CatchUp(Wish([4]))(seen(counter=reading))) == 4


def test_catch_up_does_not_shrink_while_rows_wait() -> None:
    few = {**late, "arrival_rate": 50.0}
    assert counter(CatchUp(Wish([1]))(seen(counter={**few, "backlog": 501.0}))) == 4
    assert counter(CatchUp(Wish([1]))(seen(counter={**few, "backlog": 500.0}))) == 1


def test_rows_of_the_last_seconds_are_no_backlog() -> None:
    reading = {**late, "arrival_rate": 395.0, "backlog": 3_950.0}
    decided = CatchUp(Wish([4]), backlog=10.0)(seen(counter=reading))
    assert (counter(decided), decided.why) == (4, "wishes for 4")
    assert counter(CatchUp(Wish([4]), backlog=9.0)(seen(counter=reading))) == 5


def test_catch_up_uses_what_was_processed_where_no_service_time_is_known() -> None:
    reading = {"running": 2, "arrival_rate": 100.0, "backlog": 6e5, "utilisation": 1.0}
    decided = CatchUp(Wish([2]), rescale_time=0.0)(seen(counter={**reading, "processed_rate": 100}))
    assert counter(decided) == ceil((1000 + 100 / 0.9) / 50)


@pytest.mark.parametrize("missing", ["arrival_rate", "backlog", "service_time"])
def test_catch_up_passes_on_what_it_cannot_judge(missing: str) -> None:
    reading = {**late, "backlog": 1e6, missing: None}
    decided = CatchUp(Wish([2]))(seen(counter=reading))
    assert (counter(decided), decided.why) == (2, "wishes for 2")


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"duration": "0s"}, "duration of guard catch-up must be above 0s, got 0s"),
        ({"duration": "30"}, "duration of guard catch-up needs a unit, got 30"),
        ({"utilisation": 1.2}, r"utilisation of guard catch-up must be in \(0, 1\], got 1.2"),
        ({"rescale-time": "soon"}, "rescale_time of guard catch-up: cannot read the duration"),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    written: Mapping[str, object], message: str
) -> None:
    with pytest.raises(SettingError, match=message):
        build(CatchUp, written, of="guard catch-up", policy=Static())


# The time that a rescale costs


def learned(readings: list[tuple[float, int, int]], cap: float = 600.0) -> float:
    """From times, executors requested and executors running."""
    times = RescaleTimes(cap=cap)
    for at, requested, running in readings:
        times.observe(seen(at=at, counter={"requested": requested, "running": running}))
    return times.of("counter", prior=-1.0)


def test_the_time_is_unknown_until_executors_were_seen_to_come() -> None:
    assert learned([(0, 2, 2), (5, 4, 2), (10, 4, 3)]) == -1.0
    assert learned([(0, 2, 2), (5, 4, 2), (10, 4, 3), (15, 4, 4)]) == 12.5


def test_executors_that_come_within_a_step_take_half_of_it() -> None:
    assert learned([(0, 2, 2), (10, 4, 4)]) == 5.0


def test_each_request_counts_by_itself_and_one_that_is_withdrawn_teaches_nothing() -> None:
    # the third executor was asked for at 0 s, the others at 10 s; all came between 20 and 30 s
    assert learned([(0, 2, 2), (10, 3, 2), (20, 5, 2), (30, 5, 5)]) == (25.0 + 15.0) / 2
    assert learned([(0, 2, 2), (10, 3, 2), (20, 5, 2), (30, 3, 3)]) == 25.0
    assert learned([(0, 2, 2), (10, 5, 2), (20, 2, 2), (30, 2, 2)]) == -1.0


def test_executors_that_leave_teach_nothing() -> None:
    assert learned([(0, 4, 4), (10, 2, 4), (20, 2, 2)]) == -1.0


def test_executors_that_never_come_count_once_and_no_longer_than_the_cap() -> None:
    waiting = [(10.0 * i, 4, 2) for i in range(1, 30)]
    assert learned([(0, 2, 2), *waiting], cap=60.0) == 60.0


def test_one_slow_start_among_many_does_not_sway_the_time() -> None:
    times = RescaleTimes()
    at = 0.0
    for delay in (4, 4, 4, 400, 4, 4):
        for shift, requested, running in ((0, 2, 2), (2, 3, 2), (delay, 3, 2), (delay + 2, 3, 3)):
            here = {"requested": requested, "running": running}
            times.observe(seen(at=at + shift, counter=here))
        at += delay + 10
    assert times.of("counter", prior=0.0) == 5.0


def test_an_old_pace_of_the_cluster_is_forgotten() -> None:
    times = RescaleTimes()
    for turn in range(20):
        wait = 10.0 if turn < 10 else 50.0
        for at, requested, running in ((0.0, 2, 2), (wait - 1, 3, 2), (wait + 1, 3, 3)):
            here = {"requested": requested, "running": running}
            times.observe(seen(at=100 * turn + at, counter=here))
    assert times.of("counter", prior=0.0) == 50.0


# On the twin


def played(policy: Policy, workload: str, **settings: float) -> list[Tick]:
    module = Module(name="counter", service_time=0.01, service_cv=1.0, **settings)  # type: ignore[arg-type]
    graph = FlowGraph(source="counter", modules=(module,))
    plant = Twin(graph, parse(workload), step=2.0, duration=420.0, seed=3)
    return list(control(plant, policy))


def backlog(tick: Tick) -> float:
    return tick.seen.modules["counter"].backlog or 0.0


BURST = "step:100/s,800/s@30s,100/s@60s"


def test_a_backlog_after_a_burst_is_gone_within_the_duration() -> None:
    """The policy keeps two executors, which would take over three minutes for what has come."""
    guard = CatchUp(Static(degrees=2), duration=60.0)
    ticks = played(guard, BURST, initial_replicas=2, start_up=5.0)
    started = guard.rescale_time_of("counter")
    after = [tick for tick in ticks if tick.seen.at >= 60.0 + 60.0 + started]
    assert max(backlog(tick) for tick in ticks) > 5_000
    assert all(backlog(tick) < 1_000 for tick in after)
    alone = played(Static(degrees=2), BURST, initial_replicas=2, start_up=5.0)
    assert backlog(next(tick for tick in alone if tick.seen.at >= 125.0)) > 5_000


def test_no_executor_goes_before_the_backlog_has() -> None:
    guard = CatchUp(Static(degrees=2), duration=60.0)
    ticks = played(guard, BURST, initial_replicas=2, start_up=5.0)
    for before, after in pairwise(ticks):
        if after.decided.configuration.executors < before.decided.configuration.executors:
            assert backlog(after) <= 10.0 * (after.seen.modules["counter"].arrival_rate or 0.0)
    assert ticks[-1].decided.configuration.executors == 2


@pytest.mark.parametrize("start_up", [0.0, 9.0, 30.0])
def test_the_learned_time_approaches_the_start_up_of_the_module(start_up: float) -> None:
    guard = CatchUp(Threshold(), rescale_time=120.0)
    assert guard.rescale_time_of("counter") == 120.0
    played(guard, "step:100/s,500/s@20s", initial_replicas=1, start_up=start_up)
    assert abs(guard.rescale_time_of("counter") - start_up) <= 2.0  # a step
