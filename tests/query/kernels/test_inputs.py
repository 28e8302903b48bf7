"""What the kernels of preference queries take and refuse; and groups, each by itself."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from benchmarks.points import anti_correlated, uniform
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from penstock.core.errors import SettingError
from penstock.query.kernels import (
    dominance_factors,
    dominance_factors_of_groups,
    skyline,
    skyline_of_groups,
)
from tests.query.kernels.points import tied

SIZES = st.lists(st.sampled_from([0, 1, 2, 3, 40, 48, 49, 64, 65, 200, 600]), max_size=12)


@given(SIZES, st.integers(1, 12), st.integers(0, 2**32), st.sampled_from(["free", "tied"]))
def test_groups_are_looked_at_each_by_itself(
    sizes: list[int], dimensions: int, seed: int, kind: str
) -> None:
    starts, draw = np.cumsum([0, *sizes]), np.random.default_rng(seed)
    size = int(starts[-1])
    points = (
        anti_correlated(size, dimensions, draw)
        if kind == "free"
        else tied(size, dimensions, draw, levels=3)
    )
    groups = [slice(*pair) for pair in pairwise(starts)]
    rows = [row for group in groups for row in (group.start + skyline(points[group])).tolist()]
    factors = [factor for group in groups for factor in dominance_factors(points[group]).tolist()]
    assert skyline_of_groups(points, starts).tolist() == rows
    assert dominance_factors_of_groups(points, starts).tolist() == factors


def test_a_hundred_thousand_small_groups() -> None:
    points = uniform(300_000, 8, np.random.default_rng(1))
    starts = np.arange(0, 300_001, 3)
    trios = points.reshape(-1, 3, 8)
    below = np.all(trios[:, :, None] <= trios[:, None], axis=3)
    wanted = np.flatnonzero(below.sum(axis=1) == 1)  # only the point itself: none are equal
    assert np.array_equal(skyline_of_groups(points, starts), wanted)
    factors = dominance_factors_of_groups(points, starts)
    assert np.array_equal(np.flatnonzero(factors < 8), wanted)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float32", "bool"])
def test_takes_numbers_of_any_type(dtype: str) -> None:
    points = tied(300, 4, np.random.default_rng(1), levels=2)
    assert np.array_equal(skyline(points.astype(dtype)), skyline(points))
    assert np.array_equal(dominance_factors(points.astype(dtype)), dominance_factors(points))


@pytest.mark.parametrize("dtype", ["int64", "uint64", "longdouble"])
def test_distinguishes_numbers_that_floats_cannot(dtype: str) -> None:
    points = np.array([[2**62 + 1, 5], [2**62, 5], [0, 6]], dtype)
    if points[0, 0] == points[1, 0]:
        pytest.skip("long doubles are doubles here")
    assert skyline(points).tolist() == [1, 2]
    assert dominance_factors(points).tolist() == [2, 1, 1]


def test_takes_arrays_that_are_not_in_one_piece() -> None:
    points = uniform(600, 10, np.random.default_rng(1))
    for view in (points[::3, ::2], points[::-1], points.T[:, :9], np.asfortranarray(points)):
        assert np.array_equal(skyline(view), skyline(view.copy(order="C")))
        assert np.array_equal(dominance_factors(view), dominance_factors(view.copy(order="C")))


@pytest.mark.parametrize("dimensions", [1, 7, 32])
def test_no_points_have_no_skyline(dimensions: int) -> None:
    assert skyline(np.empty((0, dimensions))).tolist() == []
    assert dominance_factors(np.empty((0, dimensions))).tolist() == []
    assert skyline_of_groups(np.empty((0, dimensions)), [0, 0, 0]).tolist() == []
    assert dominance_factors_of_groups(np.empty((0, dimensions)), [0]).tolist() == []


@pytest.mark.parametrize("find", [skyline, dominance_factors])
@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([[1.0, 2.0], [3.0, float("nan")]], "row 1 column 1"),
        ([1.0, 2.0], r"shape \(2,\)"),
        (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
        (np.zeros((3, 0)), "1 to 32 columns, got 0"),
        (np.zeros((3, 33)), "1 to 32 columns, got 33"),
        ([["a", "b"]], "real numbers, got an array of <U1"),
        (np.array([[None, 1]]), "real numbers, got an array of object"),
        (np.zeros((2, 2), complex), "real numbers, got an array of complex128"),
        (np.zeros((2, 2), "datetime64[us]"), "real numbers"),
        ([[1, 2], [3]], "rows of equal length"),
    ],
)
def test_refuses_what_cannot_be_compared(find: object, points: ArrayLike, message: str) -> None:
    assert callable(find)
    with pytest.raises(SettingError, match=message):
        find(points)


@pytest.mark.parametrize("find", [skyline_of_groups, dominance_factors_of_groups])
@pytest.mark.parametrize(
    ("starts", "message"),
    [
        ([0, 2], "end at 3, got 0 and 2"),
        ([1, 3], "begin at 0 and end at 3, got 1 and 3"),
        ([0, 2, 1, 3], "must not fall, got 1 after 2"),
        ([0, -5, 3], "must not fall, got -5 after 0"),
        ([], "list of integers"),
        ([0.0, 3.0], "list of integers"),
        ([[0, 3]], "list of integers"),
    ],
)
def test_refuses_groups_that_do_not_fit(find: object, starts: ArrayLike, message: str) -> None:
    assert callable(find)
    with pytest.raises(SettingError, match=message):
        find(np.zeros((3, 2)), starts)


def test_does_not_load_spark() -> None:
    code = "import sys, penstock.query.kernels; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
