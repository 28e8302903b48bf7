"""The loop and what flows round it, with a plant that follows a script."""

import pytest

from penstock.core.errors import PlantError, SettingError
from penstock.core.loop import control
from penstock.core.signals import Configuration, Decision, Observation, Tick, current
from penstock.policy import Static
from penstock.testing import Clock, ScriptedPlant, seen


def grow(seen: Observation) -> Decision:
    degrees = {name: degree + 1 for name, degree in current(seen).degrees.items()}
    return Decision(configuration=Configuration(degrees=degrees), why="more")


def test_a_tick_holds_what_was_seen_decided_and_asked() -> None:
    here = seen(at=1.0, counter={"running": 2})
    [tick] = control(ScriptedPlant([here]), grow)
    more = Configuration(degrees={"counter": 3})
    assert tick == Tick(seen=here, decided=Decision(configuration=more, why="more"), asked=more)


def test_each_decision_is_applied_before_the_next_reading() -> None:
    plant = ScriptedPlant([seen(at=at, counter={"running": 2}) for at in (1, 2, 3)])
    ticks = control(plant, grow)
    assert plant.decisions == []
    for count, tick in enumerate(ticks, 1):
        assert plant.decisions[-1] is tick.decided
        assert len(plant.decisions) == count


def test_the_loop_ends_with_the_plant() -> None:
    assert list(control(ScriptedPlant([]), Static())) == []


def test_a_fault_of_the_plant_comes_through_after_what_was_seen_before() -> None:
    plant = ScriptedPlant([seen(counter={"running": 2}), PlantError("the driver is gone")])
    ticks = control(plant, Static())
    assert next(ticks).asked is None
    with pytest.raises(PlantError, match="the driver is gone"):
        next(ticks)


def test_a_fault_of_the_policy_is_not_hidden() -> None:
    def broken(seen: Observation) -> Decision:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(control(ScriptedPlant([seen(counter={"running": 2})]), broken))


def test_what_is_in_force_is_what_was_requested_then_wanted_then_running() -> None:
    here = seen(
        a={"requested": 3, "wanted": 4, "running": 2},
        b={"wanted": 4, "running": 2},
        c={"running": 2},
        d={},
    )
    assert current(here) == Configuration(degrees={"a": 3, "b": 4, "c": 2})


def test_totals_are_unknown_where_a_part_is() -> None:
    here = seen(a={"running": 2, "requested": 3}, b={"running": 0})
    assert (here.running, here.requested, here.wanted) == (2, None, None)
    assert seen().running == 0


def test_a_script_refuses_what_no_plant_can_do() -> None:
    plant = ScriptedPlant([seen(counter={"running": 2})])
    next(plant.readings())
    for degrees, sentence in (
        ({"conter": 2}, "there is no module 'conter' to scale; did you mean 'counter'"),
        ({"counter": 0}, "module counter needs at least one executor, got 0"),
    ):
        with pytest.raises(SettingError, match=sentence):
            plant.apply(Decision(configuration=Configuration(degrees=degrees), why="to see"))
    assert plant.decisions == []


def test_a_clock_moves_only_when_it_is_advanced() -> None:
    clock = Clock(now=5.0)
    assert clock() == clock() == 5.0
    clock.advance(0.5)
    assert clock() == 5.5
