"""Thinned lines keep peaks and gaps, and their points are short."""

from math import nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.words import clock, short_number
from penstock.record.measures import Column
from penstock.report.figures import Plot, Series, plot_data, thin


def series(values: Column, *, stepped: bool = False) -> Series:
    return Series(
        name="n", style="c1", at=np.arange(float(len(values))), values=values, stepped=stepped
    )


def columns(largest: int = 400) -> st.SearchStrategy[Column]:
    value = st.one_of(st.just(nan), st.integers(0, 9).map(float), st.floats(0, 1e6))
    return st.lists(value, min_size=1, max_size=largest).map(np.array)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (999.6, "1,000"), (9_999.7, "10 k"), (999_700, "1 M"), (2e9, "2 G")],
)
def test_numbers_change_unit_without_a_fourth_digit(value: float, text: str) -> None:
    assert short_number(value) == text


def test_a_clock_counts_hours_only_when_there_are_some() -> None:
    assert [clock(at) for at in (0, 59.6, 3599.4, 3600)] == ["0:00", "1:00", "59:59", "1:00:00"]


@settings(deadline=None)  # a busy machine is no failure
@given(columns(), st.integers(30, 60), st.booleans())
def test_thinning_keeps_the_extremes_the_ends_and_whether_there_are_gaps(
    values: Column, most: int, stepped: bool
) -> None:
    slim = thin(series(values, stepped=stepped), most)
    assert len(slim.at) <= 2 * most
    assert set(slim.at) <= set(range(len(values)))
    assert (slim.at[0], slim.at[-1]) == (0, len(values) - 1)
    assert np.isnan(slim.values).any() == np.isnan(values).any()
    if not np.isnan(values).all():
        assert np.nanmax(slim.values) == np.nanmax(values)
        assert np.nanmin(slim.values) == np.nanmin(values)


@settings(deadline=None)  # a busy machine is no failure
@given(columns(100))
def test_a_stepped_line_loses_nothing_but_repetitions(values: Column) -> None:
    slim = thin(series(values, stepped=True), 1000)
    last = np.searchsorted(slim.at, np.arange(len(values)), side="right") - 1
    np.testing.assert_array_equal(slim.values[last], values)


def test_a_short_gap_in_a_long_line_stays_short() -> None:
    values = np.sin(np.arange(10_000.0))
    values[5_000] = nan
    slim = thin(series(values), 300)
    gap = int(np.flatnonzero(np.isnan(slim.values))[0])
    assert slim.at[gap - 1 : gap + 2].tolist() == [4_999, 5_000, 5_001]


def test_the_points_for_the_script_are_plain_and_short() -> None:
    plot = Plot(title="", unit="", start=0, end=1, series=(series(np.array([1 / 3, nan])),))
    [line] = plot_data(plot)["series"]
    assert (line["x"], line["y"], line["stepped"]) == ([0.0, 1.0], [0.3333, None], False)
