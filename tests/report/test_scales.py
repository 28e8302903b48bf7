"""Axes hold what they must, with round numbers; thinned lines keep peaks and gaps."""

from math import nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.words import clock, short_number
from penstock.report.plot import Column, Series, area, drawn, path, thin
from penstock.report.scales import (
    Axis,
    axis,
    narrow_axis,
    nice_step,
    time_axis,
    wide_axis,
)

sizes = st.floats(min_value=1e-6, max_value=1e12)


def series(values: Column, *, stepped: bool = False) -> Series:
    return Series(
        name="n", style="c1", at=np.arange(float(len(values))), values=values, stepped=stepped
    )


def columns(largest: int = 400) -> st.SearchStrategy[Column]:
    value = st.one_of(st.just(nan), st.integers(0, 9).map(float), st.floats(0, 1e6))
    return st.lists(value, min_size=1, max_size=largest).map(np.array)


@settings(deadline=None)  # a busy machine is no failure
@given(st.sampled_from(["s", "%", "rows", "rows/s", "executors"]), st.just(0.0) | sizes)
def test_an_axis_holds_its_highest_value_and_little_more(unit: str, highest: float) -> None:
    made = axis(unit, highest)
    values = [value for value, _ in made.labels]
    assert made.low == values[0] == 0
    assert made.high == values[-1]
    assert made.high >= highest * (1 - 1e-9)
    assert 2 <= len(values) <= 9
    assert values == sorted(set(values))
    labels = [label for _, label in made.labels]
    assert len(set(labels)) == len(labels)


@settings(deadline=None)  # a busy machine is no failure
@given(sizes)
def test_executors_are_counted_in_whole_numbers(highest: float) -> None:
    assert all(value == round(value) for value, _ in axis("executors", highest).labels)


@settings(deadline=None)  # a busy machine is no failure
@given(sizes, sizes)
def test_a_wide_axis_holds_both_ends(one: float, other: float) -> None:
    low, high = sorted((one, other))
    made = wide_axis(low, high)
    assert 0 <= made.share(low) <= made.share(high) <= 1
    assert made.share(0.0) == 0
    assert (made.labels[0][0], made.labels[-1][0]) == (made.low, made.high)


prices = st.floats(-1e12, 1e12, allow_subnormal=False)


@settings(deadline=None)  # a busy machine is no failure
@given(prices, prices | st.floats(0, 1e-12))
def test_a_narrow_axis_holds_both_ends_and_tells_its_labels_apart(one: float, more: float) -> None:
    low, high = sorted((one, more if abs(more) > 1 else one + more))
    made = narrow_axis(low, high)
    assert made.share(low) >= -1e-6
    assert made.share(high) <= 1 + 1e-6
    assert 2 <= len(made.labels) <= 9
    assert len({label for _, label in made.labels}) == len(made.labels)
    assert (made.labels[0][0], made.labels[-1][0]) == (made.low, made.high)


@settings(deadline=None)  # a busy machine is no failure
@given(st.floats(-1e4, 1e6), st.floats(1e-2, 1e7))
def test_moments_lie_on_the_time_axis_and_are_not_too_many(start: float, length: float) -> None:
    made = time_axis(start, start + length)
    assert len(made.labels) <= 12
    assert all(-1e-6 <= made.share(at) <= 1 + 1e-6 for at, _ in made.labels)


def test_a_run_of_one_moment_has_a_time_axis() -> None:
    assert time_axis(2.0, 2.0).share(2.0) == 0


@settings(deadline=None)  # a busy machine is no failure
@given(sizes, st.integers(2, 8))
def test_a_nice_step_has_one_or_two_digits(span: float, count: int) -> None:
    digits = f"{nice_step(span, count):e}".split("e")[0].rstrip("0").rstrip(".")
    assert digits in ("1", "2", "2.5", "5")


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


@settings(deadline=None)  # a busy machine is no failure
@given(columns(60), st.booleans())
def test_a_line_has_a_piece_for_every_stretch_without_gaps(values: Column, stepped: bool) -> None:
    time = Axis(0, 100, (), "")
    drawn_path = path(series(values, stepped=stepped), time, axis("rows", 1e6))
    known = np.concatenate([[False], ~np.isnan(values), [False]])
    starts, ends = (np.flatnonzero(np.diff(known.astype(int)) == way) for way in (1, -1))
    lasting = ends - starts > 1
    if stepped:
        lasting |= ends < len(values)  # a stepped value lasts until the gap begins
    assert drawn_path.count("M") == lasting.sum()
    assert "nan" not in drawn_path


def test_the_surface_under_a_line_is_closed_at_the_ground() -> None:
    one = Axis(0, 2, (), "")
    steps = series(np.array([1.0, 2.0, nan]), stepped=True)
    assert area(steps, one, one) == "M0 100H500V0H1000V200H0Z"


def test_the_points_for_the_script_are_plain_and_short() -> None:
    points = drawn(series(np.array([1 / 3, nan])))
    assert points == {"t": [0.0, 1.0], "v": [0.3333, None], "stepped": False}
