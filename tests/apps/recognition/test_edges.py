"""From a picture to an outline, and from an outline to a label."""

from collections.abc import Callable

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.apps.recognition.denoise import Image
from penstock.apps.recognition.images import LABELS, OUTLINES, Outline, filled, placed
from penstock.apps.recognition.outlines import (
    NOTHING,
    OPERATORS,
    Match,
    canny,
    choose,
    contrast,
    largest,
    nearest,
    sobel,
)

Detector = Callable[[Image], Image]
every_operator = pytest.mark.parametrize("detect", OPERATORS.values(), ids=list(OPERATORS))
TOP = np.array([[16, 16], [48, 16]], np.float32)


def disc(contrast: float = 100, noise: float = 0.0, size: int = 64) -> Image:
    cover = filled(placed(OUTLINES["circle"], (30, 33), 18, 0), size) / 255
    noisy = 70 + contrast * cover + np.random.default_rng(1).normal(0, noise, cover.shape)
    return np.clip(np.rint(noisy), 0, 255).astype(np.uint8)


def drawn(*outlines: Outline, closed: bool = True) -> Image:
    edges = np.zeros((64, 64), np.uint8)
    cv2.polylines(
        edges, [np.rint(outline).astype(np.int32) for outline in outlines], closed, (255,)
    )
    return edges


# Edges


@every_operator
def test_edges_lie_on_the_outline(detect: Detector) -> None:
    down, across = np.nonzero(detect(disc()))
    distance = np.hypot(across - 30, down - 33)
    assert np.abs(distance - 18).max() < 2.0
    assert abs(distance.mean() - 18) < 0.5


@every_operator
def test_edges_surround_the_shape(detect: Detector) -> None:
    outline = largest(detect(disc()))
    assert outline is not None
    assert cv2.contourArea(outline) == pytest.approx(np.pi * 18**2, rel=0.06)


@every_operator
@pytest.mark.parametrize("level", [0, 128, 255])
def test_a_blank_picture_has_no_edges(detect: Detector, level: int) -> None:
    assert not detect(np.full((64, 64), level, np.uint8)).any()


@every_operator
def test_an_edge_map_is_black_and_white(detect: Detector) -> None:
    edges = detect(disc(noise=20))
    assert edges.dtype == np.uint8
    assert set(np.unique(edges)) == {0, 255}


def test_only_canny_goes_on_along_a_fading_edge() -> None:
    scene = np.full((64, 64), 100, np.uint8)
    scene[8:20] = 200
    scene[40:] = np.linspace(200, 145, 64).astype(np.uint8)
    reached = [np.count_nonzero(detect(scene)[36:44].any(axis=0)) for detect in (canny, sobel)]
    assert reached[0] == 64 > reached[1] > 32


def test_contrast_is_the_height_of_the_step() -> None:
    halves = np.full((64, 64), 50, np.uint8)
    halves[:, 32:] = 130
    assert contrast(halves) == pytest.approx(80)


def test_the_noisier_the_picture_the_more_its_edges_are_smoothed() -> None:
    chosen = [choose(disc(noise=noise)) for noise in (0, 4.5, 9, 20)]
    assert chosen == ["sobel", "canny", "marr-hildreth", "marr-hildreth"]


def test_the_paler_the_shape_the_more_its_edges_are_smoothed() -> None:
    chosen = [choose(disc(contrast=contrast, noise=2.0)) for contrast in (100, 50, 20)]
    assert chosen == ["sobel", "canny", "marr-hildreth"]


# Outlines


def test_no_edges_have_no_outline() -> None:
    assert largest(np.zeros((64, 64), np.uint8)) is None


def test_a_line_is_no_outline() -> None:
    assert largest(drawn(TOP, closed=False)) is None


def test_specks_are_no_outline() -> None:
    specks = np.zeros((64, 64), np.uint8)
    specks[::12, ::12] = 255
    assert largest(specks) is None


def test_the_largest_of_several_shapes_is_found() -> None:
    small, large = (
        placed(OUTLINES["square"], (at, at), radius, 0.3) for at, radius in ((12, 9), (42, 18))
    )
    found = largest(drawn(small, large))
    assert found is not None
    assert found.mean(axis=0) == pytest.approx([42, 42], abs=1.5)


@pytest.mark.parametrize("gap", [1, 2, 3])
def test_a_broken_outline_is_mended(gap: int) -> None:
    edges = drawn(placed(OUTLINES["circle"], (32, 32), 20, 0))
    edges[32 : 32 + gap, :32] = 0
    found = largest(edges)
    assert found is not None
    assert cv2.contourArea(found) == pytest.approx(np.pi * 20**2, rel=0.08)


# Labels


@given(
    st.sampled_from(LABELS),
    st.floats(12, 200),
    st.floats(0, 2 * np.pi),
    st.tuples(st.floats(-50, 50), st.floats(-50, 50)),
)
def test_place_size_and_turn_do_not_change_what_a_shape_is(
    label: str, radius: float, turn: float, at: tuple[float, float]
) -> None:
    match = nearest(placed(OUTLINES[label], at, radius, turn))
    assert match.label == label
    assert match.distance < 0.03


@given(st.sampled_from(LABELS), st.floats(14, 26), st.floats(0, 2 * np.pi))
def test_an_outline_of_whole_pixels_is_enough(label: str, radius: float, turn: float) -> None:
    outline = largest(drawn(placed(OUTLINES[label], (32, 32), radius, turn)))
    assert nearest(outline).label == label


def test_no_outline_is_nothing() -> None:
    assert nearest(None) == Match(label=NOTHING, distance=1.0)


def test_a_thin_bar_resembles_nothing() -> None:
    bar = np.array([[4, 30], [60, 30], [60, 34], [4, 34]], np.float32)
    assert nearest(bar).label == NOTHING
