"""Watts of a configuration: mpc, Expr. 9."""

from collections.abc import Mapping
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.model.power import VOLTAGES, VoltageTable, power

frequencies = st.sampled_from(VOLTAGES.frequencies)


def test_twelve_replicas_at_two_gigahertz_take_what_the_paper_measured() -> None:
    assert power(12, 2.0) == pytest.approx(68.25)


def test_the_table_has_the_nine_frequencies_of_the_papers_processor() -> None:
    assert VOLTAGES.frequencies == (1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0)
    assert (VOLTAGES.at(1.2), VOLTAGES.at(1.6), VOLTAGES.at(2.0)) == (0.85, 0.95, 1.05)


@given(st.integers(1, 64), frequencies)
def test_without_a_capacitance_it_is_the_bare_formula(replicas: int, frequency: float) -> None:
    bare = VOLTAGES.at(frequency) ** 2 * frequency * (replicas + 3)
    assert power(replicas, frequency, capacitance=1.0) == pytest.approx(bare)


@given(st.integers(0, 64), frequencies, frequencies)
def test_more_replicas_and_a_faster_clock_take_more(
    replicas: int, one: float, other: float
) -> None:
    assert power(replicas + 1, one) > power(replicas, one)
    slow, fast = sorted((one, other))
    assert power(replicas, slow) <= power(replicas, fast)


@given(st.integers(1, 30))
def test_as_much_work_on_more_and_slower_cores_takes_less(replicas: int) -> None:
    """Why it pays to slow down before replicas are given up."""
    many_slow, few_fast = power(5 * replicas, 1.2), power(3 * replicas, 2.0)
    assert many_slow < few_fast


def test_a_grid_holds_what_single_calls_tell() -> None:
    grid = power(np.arange(1, 13)[:, None], np.array(VOLTAGES.frequencies))
    assert grid.shape == (12, 9)
    for i, j in np.ndindex(grid.shape):
        assert grid[i, j] == power(i + 1, VOLTAGES.frequencies[j])


def test_frequencies_are_distinguished_to_the_megahertz() -> None:
    assert VOLTAGES.at(1.2 + 0.1) == VOLTAGES.at(1.3)  # 1.3 is not 1.2 + 0.1 for a computer
    assert 1.2999999 in VOLTAGES
    assert 1.295 not in VOLTAGES


def test_entries_may_be_given_in_any_order() -> None:
    table = VoltageTable({2.0: 1.05, 1.2: 0.85})
    assert table.frequencies == (1.2, 2.0)
    assert table == VoltageTable({1.2: 0.85, 2.0: 1.05})


@pytest.mark.parametrize("asked", [1.25, 2.1, 0.0, -1.2, nan, inf])
def test_a_frequency_that_the_table_lacks_is_named_with_those_it_has(asked: float) -> None:
    table = VoltageTable({1.2: 0.85, 2.0: 1.05})
    message = rf"has nothing for {asked:g} GHz; add it, or use one of 1\.2, 2$"
    with pytest.raises(SettingError, match=message):
        power(4, asked, table)
    with pytest.raises(SettingError, match=message):
        power(4, np.array([1.2, asked]), table)


@pytest.mark.parametrize("volts", [None, nan, 0.0, -0.9, inf])
def test_a_hole_in_a_table_is_named(volts: Any) -> None:
    with pytest.raises(SettingError, match=r"has a hole at 1\.3 GHz, got .*; give its volts or"):
        VoltageTable({1.2: 0.85, 1.3: volts, 1.4: 0.9})
    with pytest.raises(SettingError, match=r"has a hole at 1\.3 GHz"):
        VoltageTable.parse({"1.2": 0.85, "1.3": volts})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "needs at least one frequency"),
        ({"0": 0.8}, "must be above 0 GHz and finite, got 0"),
        ({"nan": 0.8}, "must be above 0 GHz and finite, got nan"),
        ({"fast": 0.8}, "frequency of a voltage table must be a number, got 'fast'"),
        ({"1.2": "low"}, r"voltage of a voltage table must be a number, got 'low' for 1\.2 GHz"),
        ({"1.2": True}, "voltage of a voltage table must be a number, got True"),
        ({"1.2": [0.8]}, "voltage of a voltage table must be a number"),
        ({"1.2": 0.8, "1.20": 0.9}, "has a frequency twice, got 1.2, 1.20 GHz; leave one out"),
        ({"1.2": 0.8, "1.20001": 0.9}, "has a frequency twice"),
        ({"1.2": 0.9, "1.3": 0.8}, r"must not fall .* got 0\.9 V at 1\.2 GHz and 0\.8 V at 1\.3"),
    ],
)
def test_refuses_tables_that_no_processor_has(given: Mapping[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        VoltageTable.parse(given)


@pytest.mark.parametrize(
    ("setting", "value"), [("replicas", -1), ("capacitance", -1.0), ("extra_cores", nan)]
)
def test_refuses_what_would_make_no_watts(setting: str, value: float) -> None:
    with pytest.raises(SettingError, match=f"{setting} must be 0 or more and finite, got"):
        power(**{"replicas": 1, "frequency": 2.0, setting: value})  # type: ignore[arg-type]
