"""The two denoisers: non-local means against Gaussian noise, a weighted median against impulses."""

from typing import Any, Final

import cv2
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from penstock.pipeline.vision.noise import impulses
from penstock.pipeline.vision.pixels import Image

_STRENGTH: Final = 0.9
"""Strength of non-local means for each unit of the noise's standard deviation."""
_PATCH, _SEARCH = 5, 15
"""Pixels along the side of the patches compared, and of the area searched for similar ones."""
_NEARNESS: Final = np.array([1, 2, 3, 2, 1], np.float32)
_WEIGHTS: Final = np.outer(_NEARNESS, _NEARNESS).ravel()
"""What a pixel of the window counts in the median: the nearer to the middle, the more."""
_DOUBTED: Final = np.float32(1e-3)
"""What an impulse counts, in proportion: something only where there is nothing else."""


def non_local_means(image: Image, deviation: float) -> Image:
    """Every pixel becomes the mean of those whose surroundings look like its own.

    >>> noisy = np.random.default_rng(1).integers(119, 138, (64, 64), np.uint8)
    >>> bool(non_local_means(noisy, 5.5).std() < noisy.std() / 3)
    True
    """
    strength = max(_STRENGTH * deviation, 1.0)  # zero would divide by zero
    smooth = cv2.fastNlMeansDenoising(
        image, h=strength, templateWindowSize=_PATCH, searchWindowSize=_SEARCH
    )
    return np.asarray(smooth, np.uint8)


def restored(image: Image) -> Image:
    """Every impulse becomes the weighted median of its surroundings; the rest stays as it is.

    >>> grey = np.full((32, 32), 100, np.uint8)
    >>> grey[5, 5], grey[5, 6] = 255, 0
    >>> restored(grey)[5, 4:8].tolist()
    [100, 100, 100, 100]
    """
    hit = impulses(image)
    around, doubted = _windows(image)[hit], _windows(hit)[hit]
    weights = np.where(doubted, _DOUBTED, np.float32(1)).reshape(-1, _WEIGHTS.size) * _WEIGHTS
    mended = image.copy()
    mended[hit] = weighted_median(around.reshape(-1, _WEIGHTS.size), weights)
    return mended


def weighted_median(values: NDArray[np.uint8], weights: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Of each row the least value that, with all smaller ones, has half of the weight.

    >>> weighted_median(np.array([[7, 2, 9]], np.uint8), np.array([[1, 1, 3]], np.float32)).tolist()
    [9]
    """
    order = np.argsort(values, axis=1, kind="stable")
    reached = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    place = (reached < reached[:, -1:] / 2).sum(axis=1)
    rows = np.arange(len(values))
    medians: NDArray[np.uint8] = values[rows, order[rows, place]]
    return medians


def _windows(plane: NDArray[Any]) -> NDArray[Any]:
    """The window around each pixel, mirrored at the border."""
    side = len(_NEARNESS)
    return sliding_window_view(np.pad(plane, side // 2, mode="reflect"), (side, side))
