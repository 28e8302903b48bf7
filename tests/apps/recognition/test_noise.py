"""Measuring noise, and taking it away."""

import cv2
import numpy as np
import pytest
from cv2.typing import MatLike
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from penstock.apps.recognition.denoise import (
    GAUSSIAN,
    IMPULSE,
    Image,
    Noise,
    deviation,
    impulses,
    measure,
    non_local_means,
    restored,
    weighted_median,
)
from penstock.apps.recognition.images import OUTLINES, filled, placed

SCENE = 60 + filled(placed(OUTLINES["star"], (32, 32), 20, 0.4), 64) // 2
SEEDS = st.integers(0, 2**32)


def gaussian(scene: Image, sigma: float, seed: int) -> Image:
    noise = np.random.default_rng(seed).normal(0, sigma, scene.shape)
    return np.clip(np.rint(scene + noise), 0, 255).astype(np.uint8)


def salted(scene: Image, share: float, seed: int) -> Image:
    lots, spoiled = np.random.default_rng(seed).random(scene.shape), scene.copy()
    spoiled[lots < share] = 255
    spoiled[lots < share / 2] = 0
    return spoiled


def error(image: MatLike, truth: Image) -> float:
    return float(np.abs(image.astype(float) - truth).mean())


# What a picture has


def near(sigma: float) -> object:
    """Within five standard errors of an estimate from 4,096 pixels."""
    return pytest.approx(sigma, abs=0.4 + 0.15 * sigma)


@given(st.floats(3, 30), SEEDS)
def test_gaussian_noise_is_measured(sigma: float, seed: int) -> None:
    flat = np.full((64, 64), 128, np.uint8)
    assert deviation(gaussian(flat, sigma, seed)) == near(sigma)


@given(st.floats(3, 30), SEEDS)
def test_a_slope_is_no_noise(sigma: float, seed: int) -> None:
    slope = np.tile(np.linspace(100, 150, 64), (64, 1)).astype(np.uint8)
    assert deviation(gaussian(slope, sigma, seed)) == near(sigma)


@given(st.floats(0.02, 0.5), SEEDS)
def test_the_share_of_impulses_is_measured(share: float, seed: int) -> None:
    found = measure(salted(SCENE, share, seed))
    assert found.kind == IMPULSE
    assert found.amount == pytest.approx(share, abs=0.04)


@given(st.floats(5, 50), SEEDS)
def test_gaussian_noise_that_reaches_black_and_white_is_still_gaussian(
    sigma: float, seed: int
) -> None:
    assert measure(gaussian(SCENE, sigma, seed)).kind == GAUSSIAN


@pytest.mark.parametrize("level", [0, 128, 255])
def test_a_blank_picture_has_no_noise(level: int) -> None:
    assert measure(np.full((64, 64), level, np.uint8)) == Noise(kind=GAUSSIAN, amount=0.0)


def test_black_and_white_areas_are_no_impulses() -> None:
    halves = np.zeros((64, 64), np.uint8)
    halves[:, 32:] = 255
    assert not impulses(halves).any()


# Weighted median

rows_of_nine = arrays(np.uint8, (4, 9))
weights_of_nine = arrays(np.uint8, (4, 9), elements=st.integers(1, 9))


@given(rows_of_nine, weights_of_nine)
def test_a_weight_counts_as_so_many_copies(
    values: NDArray[np.uint8], weights: NDArray[np.uint8]
) -> None:
    copies = [np.sort(np.repeat(row, times)) for row, times in zip(values, weights, strict=True)]
    expected = [row[(len(row) - 1) // 2] for row in copies]
    assert weighted_median(values, weights.astype(np.float32)).tolist() == expected


@given(rows_of_nine)
def test_with_equal_weights_it_is_the_median(values: NDArray[np.uint8]) -> None:
    found = weighted_median(values, np.ones(values.shape, np.float32))
    assert (found == np.median(values, axis=1)).all()


def test_nothing_has_no_medians() -> None:
    assert weighted_median(np.empty((0, 9), np.uint8), np.empty((0, 9), np.float32)).size == 0


# Denoisers


@given(st.floats(0.0, 1.0), SEEDS)
def test_pixels_that_are_no_impulses_stay(share: float, seed: int) -> None:
    spoiled = salted(SCENE, share, seed)
    kept = ~impulses(spoiled)
    assert (restored(spoiled)[kept] == spoiled[kept]).all()


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_the_weighted_median_beats_the_plain_one(share: float) -> None:
    spoiled = salted(SCENE, share, seed=1)
    plain = min(error(cv2.medianBlur(spoiled, side), SCENE) for side in (3, 5))
    assert error(restored(spoiled), SCENE) < plain / 2


def test_non_local_means_spares_the_edges_that_a_blur_does_not() -> None:
    noisy = gaussian(SCENE, 12, seed=2)
    blurred = min(error(cv2.GaussianBlur(noisy, (0, 0), sigma), SCENE) for sigma in (0.7, 1.0, 1.5))
    smooth = non_local_means(noisy, measure(noisy).amount)
    assert error(smooth, SCENE) < 0.8 * blurred


def test_a_picture_without_noise_passes_both_denoisers_unharmed() -> None:
    assert (restored(SCENE) == SCENE).all()
    assert error(non_local_means(SCENE, 0.0), SCENE) < 0.5
