"""Policies: what they decide, and what they say."""

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.core.loop import control
from penstock.core.settings import build, choose
from penstock.core.signals import Configuration, Decision
from penstock.policy import POLICIES, Static, Threshold
from penstock.testing import ScriptedPlant, seen
from penstock.testing.policies import example

# Static


def test_static_keeps_what_is_in_force() -> None:
    decided = Static()(seen(splitter={"requested": 3, "running": 2}, counter={"running": 4}))
    assert decided == Decision(
        configuration=Configuration(degrees={"splitter": 3, "counter": 4}),
        why="splitter keeps its 3; counter keeps its 4",
    )


def test_static_sets_what_it_was_given() -> None:
    busy = seen(splitter={"running": 2}, counter={"running": 2})
    assert Static(degrees=4)(busy).configuration.degrees == {"splitter": 4, "counter": 4}
    assert Static(degrees={"counter": 5})(busy).configuration.degrees == {
        "splitter": 2,
        "counter": 5,
    }


def test_static_says_which_name_is_no_module() -> None:
    decided = Static(degrees={"conter": 5})(seen(counter={"running": 2}))
    assert decided.why == "counter keeps its 2; conter is not among the modules seen"
    assert decided.configuration.degrees == {"counter": 2}


def test_static_leaves_alone_what_it_cannot_see() -> None:
    decided = Static()(seen(counter={}))
    assert decided.configuration.degrees == {}
    assert decided.why == "counter is left alone, its executors are unknown"


@pytest.mark.parametrize("degrees", [0, -1, {"counter": 0}])
def test_static_refuses_less_than_one_executor(degrees: int) -> None:
    with pytest.raises(SettingError, match="degrees of policy static must be 1 or more"):
        Static(degrees=degrees)


# Threshold


def decide(utilisation: float | None, running: int, **more: int) -> tuple[int, str]:
    decided = Threshold()(seen(counter={"utilisation": utilisation, "running": running, **more}))
    return decided.configuration.degrees["counter"], decided.why


@pytest.mark.parametrize(
    ("utilisation", "running", "degree", "why"),
    [
        (0.82, 2, 3, "counter 82 % busy, above 75 %: 2 -> 3"),
        (0.75, 2, 2, "counter holds at 2, 75 % busy"),
        (0.754, 2, 3, "counter 75.4 % busy, above 75 %: 2 -> 3"),
        (0.61, 4, 4, "counter holds at 4, 61 % busy"),
        (0.20, 4, 3, "counter 20 % busy, would be 26.7 % on 3, under 56.2 %: 4 -> 3"),
        (0.00, 1, 1, "counter holds at 1, 0 % busy"),
        (1.00, 1, 2, "counter 100 % busy, above 75 %: 1 -> 2"),
    ],
)
def test_threshold_moves_one_executor_and_says_why(
    utilisation: float, running: int, degree: int, why: str
) -> None:
    assert decide(utilisation, running) == (degree, why)


@given(st.floats(0.0, 1.0), st.integers(1, 20))
def test_threshold_is_the_papers_rule(utilisation: float, running: int) -> None:
    busy = [utilisation] * running
    degree, _ = decide(utilisation, running)
    if utilisation > 0.75:
        assert degree == running + 1
    elif running > 1 and sum(busy) / (running - 1) < 0.75 * 0.75 - 1e-12:
        assert degree == running - 1
    elif running == 1 or sum(busy) / (running - 1) > 0.75 * 0.75 + 1e-12:
        assert degree == running


@given(st.floats(0.0, 1.0), st.integers(2, 20))
def test_threshold_never_scales_out_what_it_has_just_scaled_in(
    utilisation: float, running: int
) -> None:
    degree, _ = decide(utilisation, running)
    if degree < running:
        assert decide(utilisation * running / degree, degree)[0] <= degree


@given(st.floats(0.1, 19.0))
def test_threshold_settles_where_every_executor_has_enough_to_do(load: float) -> None:
    running = 1
    for _ in range(100):
        degree, _why = decide(min(load / running, 1.0), running)
        if degree == running:
            break
        running = degree
    assert degree == running
    assert load / running <= 0.75
    assert running == 1 or load / (running - 1) >= 0.75 * 0.75 - 1e-9


def test_threshold_waits_for_executors_that_it_was_promised() -> None:
    assert decide(0.95, 2, requested=3) == (3, "counter holds at 3, 1 executor still to come")
    assert decide(0.95, 2, requested=4)[1] == "counter holds at 4, 2 executors still to come"
    assert decide(0.95, 2, wanted=3)[1] == "counter holds at 3, 1 executor still to come"
    assert decide(0.95, 3, requested=3)[0] == 4


def test_threshold_gives_up_executors_that_never_come_once_it_can_do_without() -> None:
    after, why = decide(0.3, 3, requested=5)
    assert after == 4
    assert "30 % busy, would be 22.5 % on 4" in why


def test_threshold_counts_the_work_of_executors_that_are_about_to_leave() -> None:
    # four at 35 % do the work of 1.4: two would be 70 % busy, and not 53 % as for three at 35 %
    assert decide(0.35, 4, requested=3) == (3, "counter holds at 3, 35 % busy")
    assert decide(0.90, 4, requested=3)[0] == 4


@pytest.mark.parametrize("utilisation", [None, float("nan")])
def test_threshold_holds_a_module_of_unknown_utilisation(utilisation: float | None) -> None:
    assert decide(utilisation, 4) == (4, "counter holds at 4, utilisation unknown")


def test_threshold_holds_where_it_cannot_tell_what_runs() -> None:
    decided = Threshold()(seen(counter={"utilisation": 0.1, "requested": 4}))
    assert decided.configuration.degrees == {"counter": 4}
    assert decided.why == "counter holds at 4, running executors unknown"


def test_threshold_judges_each_module_alone_and_reports_changes_first() -> None:
    decided = Threshold()(
        seen(
            splitter={"utilisation": None, "running": 2},
            filter={"utilisation": 0.6, "running": 3},
            counter={"utilisation": 0.9, "running": 4},
            consumer={},
        )
    )
    assert decided.configuration.degrees == {"splitter": 2, "filter": 3, "counter": 5}
    assert decided.why == (
        "counter 90 % busy, above 75 %: 4 -> 5; splitter holds at 2, utilisation unknown; "
        "filter holds at 3, 60 % busy; consumer is left alone, its executors are unknown"
    )
    assert decided.expects == {"utilisation:counter": pytest.approx(0.72)}


def test_threshold_says_so_when_there_is_nothing_to_decide() -> None:
    assert Threshold()(seen()).why == "no module was seen"


@pytest.mark.parametrize("share", [0.0, -0.5, 1.3, float("nan")])
def test_threshold_refuses_a_share_that_cannot_be_passed(share: float) -> None:
    with pytest.raises(SettingError, match=r"max_utilisation .* must be in \(0, 1\]"):
        Threshold(max_utilisation=share)
    with pytest.raises(SettingError, match=r"scale_in_factor .* must be in \[0, 1\)"):
        Threshold(scale_in_factor=share or 1.0)


# All of them


def test_policies_are_built_from_settings() -> None:
    kind = choose(POLICIES, "threshold", of="policy")
    built = build(kind, {"max-utilisation": "0.6", "scale_in_factor": 0.5}, of="policy threshold")
    assert built == Threshold(max_utilisation=0.6, scale_in_factor=0.5)
    assert build(POLICIES["static"], {"degrees": "4"}, of="policy static") == Static(degrees=4)
    by_module = build(POLICIES["static"], {"degrees": {"counter": "4"}}, of="policy static")
    assert by_module == Static(degrees={"counter": 4})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"degrees": "many"}, "degrees of policy static must be a whole number or a whole number"),
        ({"degrees": {"counter": 2.5}}, "degrees of policy static must be a whole number"),
        ({"degree": 3}, "policy static has no setting 'degree'; did you mean 'degrees'"),
    ],
)
def test_wrong_settings_are_explained(settings: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        build(POLICIES["static"], settings, of="policy static")


@pytest.mark.parametrize("kind", sorted(POLICIES))
def test_a_copy_of_a_policy_is_equal_to_it(kind: str) -> None:
    made = example(POLICIES[kind])
    assert deepcopy(made()) == made()


def test_threshold_drives_a_plant_through_the_loop() -> None:
    plant = ScriptedPlant(
        [
            seen(at=1, counter={"utilisation": 0.9, "running": 2}),
            seen(at=2, counter={"utilisation": 0.9, "requested": 3, "running": 2}),
            seen(at=3, counter={"utilisation": 0.6, "requested": 3, "running": 3}),
            seen(at=4, counter={"utilisation": 0.1, "requested": 3, "running": 3}),
        ]
    )
    asked = [tick.asked and dict(tick.asked.degrees) for tick in control(plant, Threshold())]
    assert asked == [{"counter": 3}, None, None, {"counter": 2}]
