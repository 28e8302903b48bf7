"""Effectiveness: a scale-up that did not help is taken back, and only such a one."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.core.loop import control
from penstock.core.roles import Policy
from penstock.core.settings import build
from penstock.core.signals import Decision, Tick
from penstock.guard import Clamp, Effectiveness
from penstock.policy import Static, Threshold
from penstock.testing import seen
from penstock.twin import Twin
from penstock.workload import Constant
from tests.guard.wishes import Wish, counter

MANY = 1e6


def after_growth(guard: Effectiveness, **readings: Any) -> Decision:
    """The last of two minutes at 4 executors with 400 rows/s, then two at 8 with what is given."""
    waits = {"arrival_rate": 2000.0, "backlog": MANY}
    before = {**waits, "running": 4, "requested": 4, "processed_rate": 400.0}
    after = {**waits, "running": 8, "requested": 8, **readings}
    for turn in range(24):
        reading = before if turn < 12 else after
        decided = guard(seen(at=10.0 * turn, step=10.0, counter=reading))
    return decided


def test_a_growth_that_brought_nothing_is_taken_back_with_the_reason() -> None:
    decided = after_growth(Effectiveness(Wish([8])), processed_rate=408.0)
    assert counter(decided) == 4
    assert decided.why == (
        "wishes for 8; growing counter from 4 to 8 raised its rate by 2 % instead of 100 %: "
        "back to 4, no growth beyond for 10 min"
    )


@pytest.mark.parametrize(("rate", "kept"), [(300.0, 4), (439.0, 4), (441.0, 8), (800.0, 8)])
def test_the_threshold_is_a_share_of_what_was_to_be_expected(rate: float, kept: int) -> None:
    assert counter(after_growth(Effectiveness(Wish([8])), processed_rate=rate)) == kept


@pytest.mark.parametrize(("rate", "kept"), [(419.0, 4), (421.0, 6)])
def test_less_is_expected_of_fewer_executors(rate: float, kept: int) -> None:
    """Of half as many more, half as much more: 5 % are a tenth of that."""
    readings = {"running": 6, "requested": 6, "processed_rate": rate}
    assert counter(after_growth(Effectiveness(Wish([6])), **readings)) == kept


def test_what_another_stretch_of_waiting_brought_is_forgotten() -> None:
    """Rows may have become heavier since."""
    guard = Effectiveness(Wish([8]))
    for turn in range(36):
        running, waits = (4 if turn < 24 else 8), (0.0 if 12 <= turn < 24 else MANY)
        reading = {"running": running, "backlog": waits, "processed_rate": 400.0}
        decided = guard(seen(at=10.0 * turn, step=10.0, counter=reading))
    assert counter(decided) == 8


def test_batches_longer_than_the_window_are_judged_in_the_end() -> None:
    guard = Effectiveness(Wish([8]), window=10.0)
    assert counter(after_growth(guard, processed_rate=400.0, batch_duration=30.0)) == 8
    late = {"running": 8, "backlog": MANY, "processed_rate": 400.0, "batch_duration": 30.0}
    for turn in range(24, 30):
        decided = guard(seen(at=10.0 * turn, step=10.0, counter=late))
    assert counter(decided) == 4


def test_the_batch_that_was_planned_for_fewer_executors_does_not_count() -> None:
    guard = Effectiveness(Wish([8]), window=20.0)
    waits = {"backlog": MANY, "batch_duration": 20.0}
    for turn in range(24):
        running, rate = (4, 400.0) if turn < 12 else (8, 0.0 if turn < 15 else 450.0)
        reading = {**waits, "running": running, "processed_rate": rate}
        decided = guard(seen(at=10.0 * turn, step=10.0, counter=reading))
    assert counter(decided) == 8


def test_a_rise_that_the_load_did_not_need_is_not_ineffective() -> None:
    """Rows no longer wait: the rate is that of the load, whatever executors could do."""
    decided = after_growth(Effectiveness(Wish([8])), processed_rate=410.0, backlog=100.0)
    assert (counter(decided), decided.why) == (8, "wishes for 8")


def test_a_module_that_kept_up_before_is_not_judged() -> None:
    guard = Effectiveness(Wish([8]))
    for turn in range(24):
        running, waits = (4, 0.0) if turn < 12 else (8, MANY)
        reading = {"running": running, "backlog": waits, "processed_rate": 400.0}
        decided = guard(seen(at=10.0 * turn, step=10.0, counter=reading))
    assert counter(decided) == 8


@pytest.mark.parametrize("unknown", ["backlog", "processed_rate", "running"])
def test_what_was_not_measured_is_not_judged(unknown: str) -> None:
    readings = {"processed_rate": 400.0, unknown: None}
    assert counter(after_growth(Effectiveness(Wish([8])), **readings)) == 8


def test_executors_that_did_not_come_are_not_judged() -> None:
    guard = Effectiveness(Wish([8]))
    assert counter(after_growth(guard, processed_rate=400.0, running=6)) == 8


def test_a_degree_is_measured_for_the_window_before_it_is_judged() -> None:
    short = after_growth(Effectiveness(Wish([8]), window=110.0), processed_rate=400.0)
    long = after_growth(Effectiveness(Wish([8]), window=120.0), processed_rate=400.0)
    assert (counter(short), counter(long)) == (4, 8)


def test_long_batches_are_waited_for() -> None:
    """Two minutes are too short to tell what batches of 50 s bring: the first was planned for 4."""
    guard = Effectiveness(Wish([8]))
    assert counter(after_growth(guard, processed_rate=400.0, batch_duration=50.0)) == 8
    guard = Effectiveness(Wish([8]))
    assert counter(after_growth(guard, processed_rate=400.0, batch_duration=20.0)) == 4


def test_a_batch_that_ends_in_one_step_is_not_taken_for_the_pace_of_the_executors() -> None:
    """4 executors cannot do 4,000 rows/s: what one step tells of a long batch is no rate."""
    guard = Effectiveness(Wish([8]), window=10.0)
    waits = {"backlog": MANY, "service_time": 0.01}
    for turn, (running, rate) in enumerate([(4, 400.0), (4, 4000.0), (8, 800.0), (8, 800.0)]):
        reading = {**waits, "running": running, "processed_rate": rate}
        decided = guard(seen(at=10.0 * turn, step=10.0, counter=reading))
    assert counter(decided) == 8


def test_growth_is_blocked_for_a_while_and_then_tried_again() -> None:
    guard = Effectiveness(Wish([8]), block=60.0)
    after_growth(guard, processed_rate=400.0)  # judged at 230 s
    back = {"running": 4, "backlog": MANY, "processed_rate": 400.0}
    found = [guard(seen(at=at, step=10.0, counter=back)) for at in (240.0, 289.0, 291.0)]
    assert [counter(decided) for decided in found] == [4, 4, 8]
    assert found[1].why.endswith("back to 4, no growth beyond for 1 s")


def test_blocked_growth_leaves_room_below() -> None:
    guard = Effectiveness(Wish([8] * 24 + [3, 2]))
    after_growth(guard, processed_rate=400.0)
    for at, degree in ((240.0, 3), (250.0, 2)):
        decided = guard(seen(at=at, step=10.0, counter={"running": 4}))
        assert counter(decided) == degree


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"threshold": 2}, r"threshold of guard effectiveness must be in \[0, 1\], got 2"),
        ({"window": "0s"}, "window of guard effectiveness must be above 0s, got 0s"),
        ({"block": "10"}, "block of guard effectiveness needs a unit, got 10"),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    written: Mapping[str, object], message: str
) -> None:
    with pytest.raises(SettingError, match=message):
        build(Effectiveness, written, of="guard effectiveness", policy=Static())


# On the twin


def played(policy: Policy, rate: float, **scaling: Any) -> Iterator[Tick]:
    module = Module(name="counter", service_time=0.01, service_cv=0.5, max_replicas=8, **scaling)
    graph = FlowGraph(source="counter", modules=(module,))
    return control(Twin(graph, Constant(rate), step=5.0, duration=600.0, seed=2), policy)


def running(tick: Tick) -> int:
    return tick.seen.modules["counter"].running or 0


def test_executors_that_a_saturating_module_cannot_use_are_given_back() -> None:
    """It is no faster with 8 executors than with 2, whatever its load: 300 rows/s are too many."""
    useless = {"scaling": "saturating", "best_replicas": 2, "start_up": 10.0}
    guard = Clamp(Effectiveness(Threshold()), high=8)
    ticks = list(played(guard, 300.0, **useless))
    assert max(running(tick) for tick in ticks) == 8
    assert running(ticks[-1]) == 2
    reversal = next(tick for tick in ticks if "back to 2" in tick.decided.why)
    assert "growing counter from 2 to 8 raised its rate by" in reversal.decided.why
    alone = list(played(Clamp(Threshold(), high=8), 300.0, **useless))
    assert running(alone[-1]) == 8


def test_executors_that_help_are_kept_though_rows_still_wait() -> None:
    """1,200 rows/s are too many even for 8, and yet each of them counts."""
    ticks = list(played(Clamp(Effectiveness(Threshold()), high=8), 1200.0, start_up=10.0))
    assert running(ticks[-1]) == 8
    assert not any("back to" in tick.decided.why for tick in ticks)
