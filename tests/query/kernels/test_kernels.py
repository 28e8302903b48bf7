"""The kernels of preference queries, against their definitions and against a public library."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from benchmarks.points import anti_correlated, correlated, uniform
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from paretoset import paretoset

from penstock.query.kernels import dominance_factors, skyline
from tests.query.kernels.points import tied

Floats = NDArray[np.float64]
Make = Callable[[int, int, np.random.Generator], Floats]

KINDS: dict[str, Make] = {
    "uniform": uniform,
    "correlated": correlated,
    "anti-correlated": anti_correlated,
    "of two levels": lambda n, d, rng: tied(n, d, rng, 2),
    "of five levels": lambda n, d, rng: tied(n, d, rng, 5),
    "all equal": lambda n, d, rng: tied(n, d, rng, 1),
    "in a rounding sum": lambda n, d, rng: 1e16 + tied(n, d, rng, 9),
    "on one plane": lambda n, d, rng: np.roll(np.indices((n, d)).sum(axis=0) % d, 1) + 0.0,
}
ODD = [0.0, -0.0, 5e-324, -5e-324, 1.0, np.nextafter(1.0, 2.0), 1e16, 1e300, 1.7e308, -1.7e308]
COORDINATES = st.sampled_from([*ODD, math.inf, -math.inf])


def brute_skyline(points: Floats) -> list[int]:
    """As it is defined."""
    found = []
    for row, point in enumerate(points):
        nowhere_above = (points <= point).all(axis=1)
        somewhere_below = (points < point).any(axis=1)
        if not (nowhere_above & somewhere_below).any():
            found.append(row)
    return found


def library_skyline(points: Floats) -> NDArray[np.int64]:
    """As paretoset finds it, which does not take tables without rows."""
    return np.flatnonzero(paretoset(points, distinct=False) if len(points) else [])


def brute_factors(points: Floats) -> list[int]:
    """As they are defined."""
    found = []
    for point in points:
        counts = (points <= point).sum(axis=1)
        counts[~(points < point).any(axis=1)] = 0
        found.append(int(counts.max()))
    return found


@st.composite
def drawn(draw: st.DrawFn) -> Floats:
    """Points of all kinds, up to a few hundred."""
    make = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    size = draw(st.integers(0, 400))
    dimensions = draw(st.integers(1, 32))
    return make(size, dimensions, np.random.default_rng(draw(st.integers(0, 2**32))))


@st.composite
def odd(draw: st.DrawFn) -> Floats:
    """Infinities, zeros of both signs, subnormals, and magnitudes whose sums round or overflow."""
    size, dimensions = draw(st.integers(1, 120)), draw(st.integers(1, 5))
    few = draw(st.lists(COORDINATES, min_size=1, max_size=6))
    choose = np.random.default_rng(draw(st.integers(0, 2**32)))
    return choose.choice(np.array(few), (size, dimensions))


@given(drawn())
def test_finds_the_skyline(points: Floats) -> None:
    found = skyline(points)
    assert found.dtype == np.int64
    assert found.tolist() == brute_skyline(points)


@given(odd())
def test_finds_the_skyline_of_odd_numbers(points: Floats) -> None:
    assert skyline(points).tolist() == brute_skyline(points)


@given(drawn())
def test_agrees_with_a_public_library(points: Floats) -> None:
    assert np.array_equal(skyline(points), library_skyline(points))


@given(drawn())
def test_finds_the_factors(points: Floats) -> None:
    found = dominance_factors(points)
    assert found.dtype == np.int64
    assert found.tolist() == brute_factors(points)


@given(odd())
def test_finds_the_factors_of_odd_numbers(points: Floats) -> None:
    assert dominance_factors(points).tolist() == brute_factors(points)


@given(drawn(), st.integers(0, 2**32))
def test_the_order_of_the_points_does_not_matter(points: Floats, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(points))
    assert sorted(order[skyline(points[order])]) == skyline(points).tolist()
    assert dominance_factors(points[order]).tolist() == dominance_factors(points)[order].tolist()


@given(drawn())
def test_does_not_touch_what_it_is_given(points: Floats) -> None:
    before = points.copy()
    points.flags.writeable = False
    skyline(points)
    dominance_factors(points)
    assert np.array_equal(points, before)


@given(drawn())
def test_factors_tell_the_skyline(points: Floats) -> None:
    below = dominance_factors(points) < points.shape[1]
    assert np.flatnonzero(below).tolist() == skyline(points).tolist()


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize(("size", "dimensions"), [(5_000, 8), (3_000, 3), (2_500, 32), (4_000, 2)])
def test_finds_the_skyline_in_many_blocks(kind: str, size: int, dimensions: int) -> None:
    points = KINDS[kind](size, dimensions, np.random.default_rng(1))
    assert np.array_equal(skyline(points), library_skyline(points))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_finds_the_factors_in_many_stretches(kind: str) -> None:
    points = KINDS[kind](1_500, 6, np.random.default_rng(2))
    assert dominance_factors(points).tolist() == brute_factors(points)


def test_finds_the_skyline_of_more_points_than_two_bytes_count() -> None:
    points = uniform(80_000, 5, np.random.default_rng(3))
    assert np.array_equal(skyline(points), library_skyline(points))


def test_finds_a_skyline_of_more_points_than_two_bytes_count() -> None:
    one = np.arange(70_000.0)
    points = np.stack([one, -one], axis=1)
    assert np.array_equal(skyline(points), np.arange(len(points)))
    factors = dominance_factors(points)
    assert (factors == 1).all()


@settings(max_examples=20)
@given(st.integers(2, 3_000))
def test_every_point_of_a_staircase_is_best(size: int) -> None:
    stairs = np.arange(float(size))
    assert len(skyline(np.stack([stairs, stairs[::-1]], axis=1))) == size
    assert skyline(np.stack([stairs, stairs], axis=1)).tolist() == [0]
