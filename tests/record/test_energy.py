"""Energy adds up over the steps that know their watts, and says what is modelled."""

import json
from collections.abc import Sequence
from math import inf, isclose, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.signals import (
    Configuration,
    Decision,
    ModuleReading,
    Observation,
    Power,
    Tick,
)
from penstock.core.words import quantity
from penstock.record import summarise
from penstock.record.codec import dumps
from penstock.record.results import describe_energy
from penstock.record.running import Energy
from penstock.record.summary import summary_from_json

HELD = Decision(configuration=Configuration(degrees={}), why="as it was")


def tick(
    step: float,
    watts: float | None = None,
    ghz: float | None = None,
    *,
    modelled: bool = True,
    rate: float | None = None,
) -> Tick:
    power = None if watts is None else Power(watts=watts, modelled=modelled)
    modules = {"count": ModuleReading(processed_rate=rate)}
    seen = Observation(at=step, step=step, modules=modules, frequency=ghz, power=power)
    return Tick(seen=seen, decided=HELD, asked=None)


def found(ticks: Sequence[Tick]) -> Energy:
    spending = summarise(ticks, None).energy
    assert spending is not None
    return spending


def test_joules_are_watts_times_the_seconds_of_each_step() -> None:
    spending = found([tick(2, 10.0, 2.0), tick(6, 20.0, 1.0)])
    assert (spending.joules, spending.seconds, spending.watts_mean) == (140.0, 8.0, 17.5)
    assert spending.frequency_mean == 1.25


def test_a_step_without_watts_is_no_step_at_zero_watts() -> None:
    spending = found([tick(4), tick(4, 10.0)])
    assert (spending.joules, spending.seconds, spending.watts_mean) == (40.0, 4.0, 10.0)
    assert spending.frequency_mean is None


def test_a_row_costs_what_the_steps_took_that_know_their_rows_and_their_watts() -> None:
    ticks = [
        tick(4, rate=250.0),
        tick(4, 10.0, rate=2.5),
        tick(4, 10.0),
        tick(4, 30.0, rate=7.5),
    ]
    assert found(ticks).joules_per_row == (40 + 120) / 40
    assert found([tick(4, 10.0, rate=0.0)]).joules_per_row is None


def test_a_run_that_knows_neither_power_nor_clock_has_no_energy() -> None:
    assert summarise([], None).energy is None
    assert summarise([tick(4)], None).energy is None


def test_a_clock_alone_leaves_the_energy_unknown() -> None:
    spending = found([tick(4, ghz=2.4)])
    assert (spending.joules, spending.watts_mean, spending.modelled_share) == (None, None, None)
    assert describe_energy(spending, 4) == "unknown, 2.4 GHz on average"


@pytest.mark.parametrize("watts", [nan, inf])
def test_watts_that_no_file_can_hold_are_unknown(watts: float) -> None:
    assert summarise([tick(4, watts)], None).energy is None
    assert found([tick(4, watts), tick(4, 10.0)]).joules == 40.0


@pytest.mark.parametrize(
    ("modelled", "origin", "text"),
    [
        ((True, True), "modelled", "80 J, 10 W on average, all modelled"),
        ((True, False), "partly modelled", "80 J, 10 W on average, partly modelled"),
        ((False, False), "measured", "80 J, 10 W on average, measured"),
    ],
)
def test_every_figure_says_whether_it_is_modelled(
    modelled: tuple[bool, bool], origin: str, text: str
) -> None:
    spending = found([tick(4, 10.0, modelled=which) for which in modelled])
    assert spending.origin == origin
    assert spending.modelled_share == sum(modelled) / 2
    assert describe_energy(spending, 8) == text


def test_energy_of_a_part_of_the_run_is_not_reported_as_that_of_all() -> None:
    spending = found([tick(4), tick(4, 10.0)])
    assert describe_energy(spending, 8).startswith("40 J in 4 s of 8 s, 10 W on average")


def test_a_step_of_no_length_adds_nothing() -> None:
    spending = found([tick(0, 10.0, 2.0)])
    assert (spending.joules, spending.watts_mean, spending.frequency_mean) == (None, None, None)
    assert describe_energy(spending, 0) == "unknown"


def test_energy_survives_the_way_to_the_summary_and_back() -> None:
    summary = summarise([tick(2, 10.0, 2.0), tick(6, 20.0, modelled=False)], None)
    assert summary_from_json(json.loads(dumps(summary.to_json()))) == summary
    assert summary.to_json()["energy"]["modelled_share"] == 0.25


def test_a_summary_from_before_energy_was_known_can_be_read() -> None:
    written = summarise([tick(2, 10.0)], None).to_json()
    for name in ("energy", "clock_changes", "reroutings"):
        del written[name]
    assert summary_from_json(written).energy is None


powers = st.lists(
    st.tuples(st.floats(0.01, 60), st.none() | st.floats(0, 500), st.booleans()), min_size=1
)


@given(powers)
def test_the_parts_of_a_run_have_the_energy_of_the_whole(
    steps: list[tuple[float, float | None, bool]],
) -> None:
    ticks = [tick(step, watts, 2.0, modelled=modelled) for step, watts, modelled in steps]
    whole, parts = found(ticks), [found([one]) for one in ticks]
    assert isclose(whole.joules or 0, sum(part.joules or 0 for part in parts), abs_tol=1e-9)
    assert whole.modelled_share is None or 0 <= whole.modelled_share <= 1
    if whole.watts_mean is not None:
        known = [watts for _, watts, _ in steps if watts is not None]
        assert min(known) - 1e-9 <= whole.watts_mean <= max(known) + 1e-9


@given(st.floats(1e-3, 9.99e11))
def test_a_quantity_has_one_to_three_digits_before_its_prefix(value: float) -> None:
    shown, unit = quantity(value, "J").split()
    assert 1 <= float(shown) < 1000
    scale = {"mJ": 1e-3, "J": 1.0, "kJ": 1e3, "MJ": 1e6, "GJ": 1e9}[unit]
    assert isclose(float(shown) * scale, value, rel_tol=0.006)
