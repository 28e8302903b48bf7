"""Expected sizes of skylines against closed forms, real skylines and the paper's measurements."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.model.skyline import comparisons, expected_sizes
from penstock.query.kernels import skyline
from penstock.twin import Costs
from tests.support.twins import SEEDS, assert_agrees

Floats = NDArray[np.float64]


def harmonic(most: int) -> Floats:
    return np.cumsum(1.0 / np.arange(1.0, most + 1.0))


# Sizes


def test_of_one_coordinate_one_tuple_is_the_best() -> None:
    assert expected_sizes(100, dimensions=1).tolist() == [0.0] + [1.0] * 100


def test_of_two_coordinates_the_size_is_a_harmonic_number() -> None:
    assert expected_sizes(1000, dimensions=2)[1:] == pytest.approx(harmonic(1000))


def test_of_three_coordinates_it_is_half_the_square_of_one_and_the_sum_of_squares() -> None:
    squares = np.cumsum(1.0 / np.arange(1.0, 501.0) ** 2)
    assert expected_sizes(500, dimensions=3)[1:] == pytest.approx(
        (harmonic(500) ** 2 + squares) / 2
    )


@given(st.integers(1, 32))
def test_of_two_tuples_one_dominates_the_other_with_a_known_chance(dimensions: int) -> None:
    sizes = expected_sizes(2, dimensions=dimensions)
    assert sizes[2] == pytest.approx(2.0 - 2.0 ** (1 - dimensions))


@given(st.integers(1, 31), st.integers(1, 300))
def test_more_tuples_and_more_coordinates_make_larger_skylines(dimensions: int, most: int) -> None:
    sizes, more = (expected_sizes(most, dimensions=d) for d in (dimensions, dimensions + 1))
    assert np.all(np.diff(sizes) >= 0)
    assert np.all(np.diff(sizes[1:] / np.arange(1, most + 1)) <= 1e-15)  # but a smaller share
    assert np.all(more >= sizes)
    assert np.all(sizes <= np.arange(most + 1))


@pytest.mark.parametrize(("dimensions", "precision"), [(2, 0.2), (4, 0.1), (8, 0.04)])
def test_real_skylines_have_that_size_in_the_mean(dimensions: int, precision: float) -> None:
    sizes = [
        float(len(skyline(np.random.default_rng(seed).random((700, dimensions))))) for seed in SEEDS
    ]
    assert_agrees(list(sizes), float(expected_sizes(700, dimensions=dimensions)[700]), precision)


def test_sizes_are_those_that_the_paper_measured() -> None:
    """Section 5.2: 27 % of a pane of 8,000 tuples, 58 % of the twelfths of it."""
    sizes = Costs(dimensions=8).sizes(8000)
    assert sizes[8000] / 8000 == pytest.approx(0.27, abs=0.02)
    assert sizes[8000 // 12] / (8000 // 12) == pytest.approx(0.58, abs=0.02)


# Comparisons


def nested_loop(points: Floats) -> list[int]:
    """Tuples that each is compared with, in turn: block nested loop, the skyline in memory."""
    best, counts = points[:0], []
    for point in points:
        dominating = np.flatnonzero((best <= point).all(axis=1))
        if dominating.size:
            counts.append(int(dominating[0]) + 1)
            continue
        counts.append(len(best))
        best = np.vstack([best[~(best >= point).all(axis=1)], point])
    return counts


@pytest.mark.parametrize(("rows", "seeds"), [(300, 40), (1000, 40), (3000, 8)])
def test_a_plain_nested_loop_compares_as_often(rows: int, seeds: int) -> None:
    """Eight coordinates, for which the share of a dominated tuple was counted."""
    counted = [sum(nested_loop(np.random.default_rng(s).random((rows, 8)))) for s in range(seeds)]
    expected = comparisons(rows - 1, dimensions=8).sum()
    assert expected == pytest.approx(np.mean(counted), rel=0.1)


@given(st.integers(2, 32), st.integers(1, 300))
def test_a_tuple_is_compared_with_no_more_than_the_skyline_of_those_before(
    dimensions: int, most: int
) -> None:
    compared = comparisons(most, dimensions=dimensions)
    assert compared[0] == 0.0
    assert len(compared) == most + 1
    assert np.all(compared <= expected_sizes(most, dimensions=dimensions))


def test_costs_are_comparisons_times_what_one_takes_beyond_what_each_tuple_takes() -> None:
    costs = Costs(tuple_time=1e-5, comparison=2e-7, task_time=1e-3, dimensions=5)
    assert costs.of_tuples(50) == pytest.approx(1e-5 + 2e-7 * comparisons(50, dimensions=5))
    assert costs.of_tasks == (1e-3, 2e-7)
    assert Costs(comparison=2e-7, window_comparison=0.0).of_tasks == (0.0, 0.0)


@pytest.mark.parametrize("dimensions", [0, -1])
def test_tuples_without_coordinates_are_refused(dimensions: int) -> None:
    for function in (expected_sizes, comparisons):
        with pytest.raises(SettingError, match=f"dimensions must be 1 or more, got {dimensions}"):
            function(3, dimensions=dimensions)
    with pytest.raises(SettingError, match="dimensions must be 1 or more"):
        Costs(dimensions=dimensions)
