"""Dead band, step factors, delayed scale-down and pause: what they let through, and what not."""

from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.core.settings import build
from penstock.core.signals import Configuration
from penstock.guard import GUARDS, Clamp, DeadBand, DelayedScaleDown, Pause, StepFactor
from penstock.policy import Static
from penstock.testing import seen
from tests.guard.wishes import Wish, counter, followed

degrees = st.integers(1, 40)
wishes = st.lists(st.integers(1, 20), min_size=1, max_size=40)

# Dead band


@pytest.mark.parametrize(
    ("busy", "wish", "after"),
    [(0.49, 2, 2), (0.5, 2, 4), (0.7, 6, 4), (0.85, 6, 4), (0.86, 6, 6), (0.2, 6, 6)],
)
def test_dead_band_leaves_alone_what_is_busy_enough(busy: float, wish: int, after: int) -> None:
    decided = DeadBand(Wish([wish]))(seen(counter={"running": 4, "utilisation": busy}))
    assert counter(decided) == after
    assert (decided.proposed is None) == (after == wish)


def test_dead_band_lets_a_module_grow_where_rows_pile_up() -> None:
    busy = {"running": 4, "utilisation": 0.7, "service_time": 0.01}  # 400 rows/s
    guard = DeadBand(Wish([6]), backlog=30.0)
    assert counter(guard(seen(counter={**busy, "backlog": 12_000.0}))) == 4
    assert counter(guard(seen(counter={**busy, "backlog": 12_001.0}))) == 6


def test_dead_band_lets_no_module_shrink_where_rows_pile_up() -> None:
    busy = {"running": 4, "utilisation": 0.7, "service_time": 0.01, "backlog": 1e6}
    assert counter(DeadBand(Wish([2]))(seen(counter=busy))) == 4


def test_dead_band_uses_what_was_processed_where_no_service_time_is_known() -> None:
    busy = {"running": 4, "utilisation": 0.5, "processed_rate": 200.0}  # 400 rows/s when all busy
    guard = DeadBand(Wish([6]), backlog=10.0)
    assert counter(guard(seen(counter={**busy, "backlog": 3_999.0}))) == 4
    assert counter(guard(seen(counter={**busy, "backlog": 4_001.0}))) == 6


def test_dead_band_passes_on_what_it_cannot_judge() -> None:
    for reading in ({"running": 4}, {"running": 4, "utilisation": float("nan")}):
        decided = DeadBand(Wish([6]))(seen(counter=reading))
        assert (counter(decided), decided.why) == (6, "wishes for 6")


# Step factor


@given(degrees, degrees, st.floats(0.01, 3.0), st.floats(0.01, 1.0))
def test_step_factor_never_moves_by_more_than_its_share_or_one(
    now: int, wish: int, out: float, in_: float
) -> None:
    then = counter(StepFactor(Wish([wish]), out=out, in_=in_)(seen(counter={"running": now})))
    assert min(now, wish) <= then <= max(now, wish)
    assert then - now <= max(1, now * out + 1e-6)
    assert now - then <= max(1, now * in_ + 1e-6)
    assert (then == now) == (wish == now)  # one executor is always allowed


def test_step_factor_gets_there_in_the_end() -> None:
    assert followed(StepFactor(Wish([40]), out=1.0), 3, 5) == [3, 6, 12, 24, 40, 40]
    assert followed(StepFactor(Wish([1]), in_=0.5), 20, 6) == [20, 10, 5, 3, 2, 1, 1]


def test_step_factor_grows_without_limit_and_shrinks_by_sixty_percent_by_default() -> None:
    here = seen(counter={"running": 10})
    assert counter(StepFactor(Wish([100_000]))(here)) == 100_000
    assert counter(StepFactor(Wish([1]))(here)) == 4


def test_step_factor_is_exact_where_the_share_is_not_in_binary() -> None:
    assert counter(StepFactor(Wish([999]), out=0.15)(seen(counter={"running": 100}))) == 115
    assert counter(StepFactor(Wish([1]), in_=0.7)(seen(counter={"running": 10}))) == 3


# Delayed scale-down


def test_scale_down_waits_until_nothing_more_was_recommended_for_the_interval() -> None:
    guard = DelayedScaleDown(Wish([6, 3, 2, 2, 2, 2, 2, 2]), interval=3.0)
    assert followed(guard, start=6, steps=8) == [6, 6, 6, 6, 3, 2, 2, 2, 2]


def test_scale_down_grows_at_once() -> None:
    assert followed(DelayedScaleDown(Wish([9]), interval=600.0), 2, 1) == [2, 9]


def test_scale_down_takes_what_was_there_for_recommended() -> None:
    """Or the first thing that a controller does would be to shrink what it knows nothing of."""
    guard = DelayedScaleDown(Wish([1]), interval=3.0)
    assert followed(guard, start=5, steps=5) == [5, 5, 5, 5, 1, 1]


def test_scale_down_waits_again_after_a_gap() -> None:
    guard = DelayedScaleDown(Wish([1]), interval=10.0)
    guard(seen(at=0.0, counter={"requested": 5}))
    assert counter(guard(seen(at=100.0, counter={"requested": 5}))) == 5


def test_scale_down_counts_what_an_outer_guard_refused() -> None:
    """A module that is wanted far above its bounds does not shrink within them."""
    guard = Clamp(DelayedScaleDown(Wish([20, 3]), interval=60.0), high=8)
    assert followed(guard, start=8, steps=5) == [8] * 6


def test_scale_down_never_grows_to_what_was_recommended() -> None:
    guard = DelayedScaleDown(Wish([20, 3]), interval=60.0)
    for at in (0.0, 1.0):
        decided = guard(seen(at=at, counter={"requested": 8}))
    assert counter(decided) == 8
    assert decided.why == (
        "wishes for 3; counter stays at 8, 20 recommended 1 s ago: "
        "the highest of the last 1 min applies"
    )


def test_scale_down_says_which_recommendation_counts() -> None:
    guard = DelayedScaleDown(Wish([6, 3, 2]), interval=60.0)
    for at in (0.0, 10.0):
        guard(seen(at=at, counter={"requested": 8}))
    assert guard(seen(at=61.0, counter={"requested": 8})).why == (
        "wishes for 2; counter goes to 3, recommended 51 s ago: "
        "the highest of the last 1 min applies"
    )


@settings(deadline=None)  # a busy machine is no failure
@given(wishes, st.integers(1, 20), st.floats(0.0, 12.0))
def test_scale_down_never_goes_below_the_most_of_its_window(
    asked: list[int], start: int, interval: float
) -> None:
    found = followed(DelayedScaleDown(Wish(asked), interval=interval), start, len(asked))
    for turn, (before, after) in enumerate(pairwise(found)):
        recent = [w for t, w in enumerate(asked[: turn + 1]) if turn - t < interval - 1e-6]
        assert after >= min(before, max([*recent, asked[turn]]))
        assert after == asked[turn] or asked[turn] < after <= before


# Pause


@pytest.mark.parametrize(
    ("paused", "grows", "shrinks"),
    [
        ({"out": True}, False, True),
        ({"in_": True}, True, False),
        ({"out": True, "in_": True}, False, False),
        ({}, False, False),
        ({"out": False, "in_": False}, True, True),
    ],
)
@given(degrees, degrees)
def test_pause_never_moves_the_way_that_is_paused(
    paused: Mapping[str, bool], grows: bool, shrinks: bool, now: int, wish: int
) -> None:
    decided = Pause(Wish([wish]), **paused)(seen(counter={"running": now}))
    allowed = wish == now or (grows if wish > now else shrinks)
    assert counter(decided) == (wish if allowed else now)
    assert ("is paused" in decided.why) == (not allowed)


# Settings


@pytest.mark.parametrize(
    ("kind", "given_settings", "message"),
    [
        ("dead-band", {"low": "-0.1"}, r"low of guard dead-band must be in \[0, 1\], got -0.1"),
        ("dead-band", {"low": "0.9"}, "low of guard dead-band is above its high, got 0.9 and 0.85"),
        ("dead-band", {"backlog": "3"}, "backlog of guard dead-band needs a unit"),
        ("step-factor", {"out": 0}, "out of guard step-factor must be above 0, got 0"),
        ("step-factor", {"in": 1.5}, r"in of guard step-factor must be in \(0, 1\], got 1.5"),
        ("step-factor", {"in": "nan"}, r"in of guard step-factor must be in \(0, 1\], got nan"),
        ("scale-down", {"interval": "10"}, "interval of guard scale-down needs a unit"),
        ("pause", {"out": "perhaps"}, "out of guard pause must be true or false, got 'perhaps'"),
    ],
)
def test_settings_that_make_no_sense_are_refused_in_a_sentence(
    kind: str, given_settings: Mapping[str, object], message: str
) -> None:
    with pytest.raises(SettingError, match=message):
        build(GUARDS[kind], given_settings, of=f"guard {kind}", policy=Static())


def test_a_time_that_cannot_pass_is_refused_from_python_too() -> None:
    with pytest.raises(SettingError, match="interval of guard scale-down must be 0s or more"):
        DelayedScaleDown(Static(), interval=-1.0)
    with pytest.raises(SettingError, match="backlog of guard dead-band must be 0s or more"):
        DeadBand(Static(), backlog=-1.0)


def test_what_a_guard_changed_is_still_reported_as_proposed() -> None:
    decided = StepFactor(Wish([1]))(seen(counter={"running": 10}))
    assert decided.proposed == Configuration(degrees={"counter": 1})
