"""Guards: what they let through, and what they say about the rest."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.core.roles import Policy
from penstock.core.settings import build, choose, option_names
from penstock.core.signals import Configuration, Decision, ModuleReading
from penstock.guard import GUARDS, Clamp, Cooldown, DryRun, Hold, StepLimit
from penstock.policy import Static, Threshold
from penstock.testing import seen, varied
from tests.guard.wishes import Wish, counter, followed

measured = ModuleReading(arrival_rate=100.0, utilisation=0.5, running=4, requested=4)


# Clamp


@given(st.integers(1, 50), st.integers(1, 10), st.integers(0, 10))
def test_clamp_never_leaves_the_bounds(wish: int, low: int, width: int) -> None:
    decided = Clamp(Wish((wish,)), low=low, high=low + width)(seen(counter={"running": 4}))
    degree = decided.configuration.degrees["counter"]
    assert degree == min(max(wish, low), low + width)
    assert decided.proposed == (
        None if degree == wish else Configuration(degrees={"counter": wish})
    )


def test_clamp_says_what_it_did() -> None:
    here = seen(counter={"running": 4})
    assert Clamp(Wish((9,)), high=8)(here).why == (
        "wishes for 9; counter limited to 8, the most allowed"
    )
    assert Clamp(Wish((1,)), low=2)(here).why == (
        "wishes for 1; counter raised to 2, the fewest allowed"
    )
    for wish in (2, 5, 8):
        assert Clamp(Wish((wish,)), low=2, high=8)(here).why == f"wishes for {wish}"


def test_clamp_has_bounds_by_module() -> None:
    guard = Clamp(Wish((9,)), low={"splitter": 2}, high={"counter": 3})
    decided = guard(seen(splitter={"running": 1}, counter={"running": 1}))
    assert decided.configuration.degrees == {"splitter": 9, "counter": 3}


def test_clamp_brings_back_what_is_out_of_bounds() -> None:
    assert counter(Clamp(Static(), high=8)(seen(counter={"running": 12}))) == 8


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"low": 0}, "low of guard clamp must be 1 or more, got 0"),
        ({"high": {"counter": 0}}, "high of guard clamp must be 1 or more for counter, got 0"),
        ({"low": 5, "high": 4}, "low of guard clamp is above its high, got 5 and 4"),
        ({"low": 5, "high": {"counter": 4}}, "got 5 and 4"),
        ({"low": {"counter": 5}, "high": 4}, "got 5 and 4"),
        ({"low": {"counter": 5}, "high": {"counter": 4}}, "got 5 and 4"),
    ],
)
def test_clamp_refuses_bounds_with_nothing_between(
    bounds: Mapping[str, object], message: str
) -> None:
    with pytest.raises(SettingError, match=message):
        build(Clamp, bounds, of="guard clamp", policy=Static())


# Cooldown


def test_cooldown_rests_longer_before_it_shrinks() -> None:
    guard = Cooldown(Wish((3, 4, 1)), out=2.0, in_=5.0)
    assert followed(guard, start=2, steps=9) == [2, 3, 3, 3, 3, 3, 1, 1, 1, 1]


def test_cooldown_rests_before_it_grows_again() -> None:
    guard = Cooldown(Wish((3, 4)), out=3.0, in_=0.0)
    assert followed(guard, start=2, steps=6) == [2, 3, 3, 3, 4, 4, 4]


@settings(deadline=None)  # a busy machine is no failure
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=40),
    st.floats(0.0, 10.0),
    st.floats(0.0, 10.0),
    st.sampled_from([0.1, 0.5, 1.0, 3.0]),
)
def test_cooldown_lets_no_two_changes_come_too_close(
    wishes: list[int], out: float, in_: float, step: float
) -> None:
    degrees = followed(Cooldown(Wish(tuple(wishes)), out=out, in_=in_), 4, len(wishes), step)
    changes = [turn for turn, (a, b) in enumerate(pairwise(degrees)) if a != b]
    for before, after in pairwise(changes):
        rest = out if degrees[after + 1] > degrees[after] else in_
        assert (after - before) * step >= rest - 1e-6


def test_cooldown_is_exact_over_steps_that_do_not_add_up() -> None:
    # three steps after the change, 0.1 * 9 - 0.1 * 6 is less than 0.3 in binary
    wishes = (1,) * 6 + (2,) + (1,) * 3
    guard = Cooldown(Wish(wishes), out=0.0, in_=0.3)
    assert followed(guard, start=1, steps=10, step=0.1)[-4:] == [2, 2, 2, 1]


def test_cooldown_says_how_long_ago_and_how_long_still() -> None:
    guard = Cooldown(Wish((3, 1)), in_=60.0)
    guard(seen(at=10.0, counter={"requested": 2}))
    decided = guard(seen(at=30.0, counter={"requested": 3}))
    assert decided.why == (
        "wishes for 1; counter stays at 3, it changed 20 s ago and may shrink after 1 min"
    )
    assert decided.proposed == Configuration(degrees={"counter": 1})


def test_cooldown_does_not_rest_after_a_change_that_another_guard_refused() -> None:
    guard = Clamp(Cooldown(Wish((9, 9, 1)), in_=60.0), high=2)
    assert followed(guard, start=2, steps=3) == [2, 2, 2, 1]


def test_cooldown_rests_after_a_change_that_somebody_else_made() -> None:
    guard = Cooldown(Wish((2,)), in_=60.0)
    guard(seen(at=0.0, counter={"requested": 2}))
    assert counter(guard(seen(at=1.0, counter={"requested": 6}))) == 6


def test_cooldown_of_one_module_is_not_that_of_another() -> None:
    guard = Cooldown(Wish((1,)), in_=60.0)
    guard(seen(at=0.0, splitter={"requested": 2}, counter={"requested": 2}))
    decided = guard(seen(at=1.0, splitter={"requested": 3}, counter={"requested": 2}))
    assert decided.configuration.degrees == {"splitter": 3, "counter": 1}


def test_cooldown_remembers_through_a_gap_in_the_readings() -> None:
    guard = Cooldown(Wish((3, 1)), in_=60.0)
    guard(seen(at=0.0, counter={"requested": 2}))
    guard(seen(at=1.0, counter={"requested": 3}))
    assert counter(guard(seen(at=2.0, counter={}))) == 3


# Step limit


@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 5), st.integers(0, 5))
def test_step_limit_never_moves_further_than_a_step(
    now: int, wish: int, out: int, in_: int
) -> None:
    decided = StepLimit(Wish((wish,)), out=out, in_=in_)(seen(counter={"running": now}))
    assert counter(decided) == min(max(wish, now - in_), now + out)


def test_step_limit_gets_there_in_the_end() -> None:
    assert followed(StepLimit(Wish((9,)), out=3), start=1, steps=4) == [1, 4, 7, 9, 9]


def test_step_limit_says_what_it_did() -> None:
    here = seen(counter={"running": 4})
    assert StepLimit(Wish((9,)))(here).why == (
        "wishes for 9; counter goes to 5, at most 1 more in a step"
    )
    assert StepLimit(Wish((1,)), in_=0)(here).why == (
        "wishes for 1; counter stays at 4, at most 0 fewer in a step"
    )


# Hold


@pytest.mark.parametrize("metric", ["arrival_rate", "utilisation", "running"])
def test_hold_keeps_a_module_of_which_something_is_missing(metric: str) -> None:
    whole = {"arrival_rate": 100.0, "utilisation": 0.1, "requested": 4, "running": 4}
    decided = Hold(Wish((1,)))(seen(splitter=whole, counter={**whole, metric: None}))
    assert decided.configuration.degrees == {"splitter": 1, "counter": 4}
    assert decided.why == f"wishes for 1; counter held at 4, {metric} unknown"
    assert decided.proposed == Configuration(degrees={"splitter": 1, "counter": 1})


def test_hold_takes_not_a_number_for_missing() -> None:
    reading = {"arrival_rate": float("nan"), "utilisation": 0.1, "running": 4}
    assert counter(Hold(Wish((1,)))(seen(counter=reading))) == 4


def test_hold_takes_zero_for_a_measurement() -> None:
    reading = {"arrival_rate": 0.0, "utilisation": 0.0, "running": 4}
    assert counter(Hold(Wish((1,)))(seen(counter=reading))) == 1


def test_hold_asks_nothing_of_a_module_of_which_nothing_is_known() -> None:
    decided = Hold(Wish((1,)))(seen(counter={}))
    assert decided.configuration.degrees == {}
    assert decided.why == (
        "wishes for 1; counter left alone, arrival_rate and utilisation and running unknown"
    )


def test_hold_holds_all_when_nothing_was_measured() -> None:
    decided = Hold(Threshold())(seen())
    assert decided.configuration.degrees == {}
    assert decided.why == "no module was seen; all held, nothing was measured"


def test_hold_needs_what_its_settings_name() -> None:
    reading = {"utilisation": 0.1, "running": 4}
    assert counter(Hold(Wish((1,)), needs=("utilisation",))(seen(counter=reading))) == 1
    with pytest.raises(SettingError, match="guard hold cannot need 'utilization'; did you mean"):
        Hold(Wish((1,)), needs=("utilization",))


# Dry run


def test_dry_run_asks_for_nothing_and_reports_all() -> None:
    decided = DryRun(Wish((9,), expects={"utilisation:counter": 0.4}))(seen(counter=measured))
    assert decided == Decision(
        configuration=Configuration(degrees={"counter": 4}),
        proposed=Configuration(degrees={"counter": 9}),
        why="dry run: counter would go from 4 to 9; wishes for 9",
    )


def test_dry_run_says_where_nothing_would_change() -> None:
    decided = DryRun(Wish((4,)))(seen(counter=measured))
    assert decided.why == "dry run: nothing would change; wishes for 4"


def test_dry_run_reports_the_target_of_an_unknown_module() -> None:
    decided = DryRun(Wish((4,)))(seen(counter={}))
    assert decided.why == "dry run: counter would go to 4; wishes for 4"


# Together


def test_the_innermost_wish_is_what_was_proposed() -> None:
    guard = Clamp(StepLimit(Wish((9,)), out=3), high=6)
    decided = guard(seen(counter=measured))
    assert decided.proposed == Configuration(degrees={"counter": 9})
    assert decided.why == (
        "wishes for 9; counter goes to 7, at most 3 more in a step; "
        "counter limited to 6, the most allowed"
    )


def test_a_dry_run_proposes_what_would_have_been_done_and_does_not_lose_the_wish() -> None:
    guard = DryRun(Clamp(StepLimit(Wish((9,)), out=3), high=6))
    decided = guard(seen(counter=measured))
    assert counter(decided) == 4
    assert decided.proposed == Configuration(degrees={"counter": 6})
    assert decided.why == (
        "dry run: counter would go from 4 to 6; wishes for 9; "
        "counter goes to 7, at most 3 more in a step; counter limited to 6, the most allowed; "
        "the policy wanted counter 9"
    )


@settings(deadline=None)  # a busy machine is no failure
@given(st.lists(st.integers(1, 9), min_size=1, max_size=20))
def test_a_dry_run_proposes_what_the_same_guards_decide_without_it(wishes: list[int]) -> None:
    """On a plant that stays as it is, as it does under a dry run."""
    dry = DryRun(Clamp(Cooldown(Hold(Wish(tuple(wishes))), in_=3.0), low=2, high=6))
    real = Clamp(Cooldown(Hold(Wish(tuple(wishes))), in_=3.0), low=2, high=6)
    for turn in range(len(wishes)):
        here = seen(at=float(turn), counter=measured)
        assert dry(here).proposed == real(here).configuration


def test_what_was_expected_of_another_degree_is_not_expected_any_more() -> None:
    expects = {"utilisation:counter": 0.4, "utilisation:splitter": 0.5, "cost": 3.0}
    guard = Clamp(Wish((9,), expects=expects), high={"counter": 8})
    decided = guard(seen(splitter=measured, counter=measured))
    assert decided.expects == {"utilisation:splitter": 0.5, "cost": 3.0}


wrappers: dict[str, Callable[[Policy], Policy]] = {
    "clamp": lambda policy: Clamp(policy, low=2, high=6),
    "cooldown": lambda policy: Cooldown(policy, out=2.0, in_=4.0),
    "step-limit": lambda policy: StepLimit(policy, out=2, in_=1),
    "hold": Hold,
    "dry-run": DryRun,
}


@settings(deadline=None)  # a busy machine is no failure
@given(st.permutations(sorted(wrappers)))
def test_guards_nest_in_any_order(order: list[str]) -> None:
    guard: Policy = Wish((9, 1, 4))
    for kind in order:
        guard = wrappers[kind](guard)
    fork = deepcopy(guard)
    for now in varied(20):
        decided = guard(now)
        assert decided == fork(now)
        assert "wishes for" in decided.why
        assert all(degree >= 1 for degree in decided.configuration.degrees.values())


@settings(deadline=None)  # a busy machine is no failure
@given(st.permutations(sorted(set(wrappers) - {"dry-run"})))
def test_a_dry_run_around_all_guards_changes_nothing(order: list[str]) -> None:
    guard: Policy = Wish((9, 1, 4))
    for kind in order:
        guard = wrappers[kind](guard)
    assert followed(DryRun(guard), start=3, steps=10) == [3] * 11


@pytest.mark.parametrize(
    ("kind", "settings", "guard"),
    [
        (
            "clamp",
            {"low": "2", "high": {"counter": 8}},
            Clamp(Static(), low=2, high={"counter": 8}),
        ),
        ("cooldown", {"out": "500ms", "in": "2m"}, Cooldown(Static(), out=0.5, in_=120.0)),
        ("step-limit", {"out": 2, "in": 1}, StepLimit(Static(), out=2, in_=1)),
        ("step_limit", {}, StepLimit(Static())),
        ("hold", {"needs": ["backlog"]}, Hold(Static(), needs=("backlog",))),
        ("dry-run", {}, DryRun(Static())),
    ],
)
def test_guards_are_built_from_settings(
    kind: str, settings: dict[str, object], guard: Policy
) -> None:
    part = choose(GUARDS, kind, of="guard")
    assert build(part, settings, of=f"guard {kind}", policy=Static()) == guard


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        ("cooldown", {"in": 60}, "in of guard cooldown needs a unit, got 60"),
        ("cooldown", {"In": "60s"}, "guard cooldown has no setting 'In'"),
        ("cooldown", {"policy": "x"}, "guard cooldown has no setting 'policy'"),
        ("step-limit", {"out": -1}, "out of guard step-limit must be 0 or more, got -1"),
        ("step-limit", {"in": 1.5}, "in of guard step-limit must be a whole number, got 1.5"),
        ("clamp", {"high": "lots"}, "high of guard clamp must be a whole number or"),
        ("hold", {"needs": 3}, "needs of guard hold must be a list, got 3"),
        ("dry-run", {"on": True}, "guard dry-run has no setting 'on'; it takes none"),
    ],
)
def test_wrong_settings_are_explained(kind: str, settings: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        build(GUARDS[kind], settings, of=f"guard {kind}", policy=Static())


def test_a_time_that_cannot_pass_is_refused() -> None:
    for value in (-1.0, float("nan")):
        with pytest.raises(SettingError, match="in of guard cooldown must be 0s or more"):
            Cooldown(Static(), in_=value)


def test_settings_are_listed_as_they_are_written() -> None:
    assert option_names(Cooldown) == ("policy", "out", "in")
