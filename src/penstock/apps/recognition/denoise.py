"""Grey square pictures, their noise, and the two denoisers: non-local means against Gaussian noise,
a weighted median against impulses.

Pictures travel as bytes: one for each pixel, row by row.
"""

from dataclasses import dataclass
from math import isqrt
from typing import Any, Final, TypeAlias

import cv2
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from penstock.core.errors import UserError

cv2.setNumThreads(1)  # an executor has one core, and more threads than that would only contend

Image: TypeAlias = NDArray[np.uint8]
Plane: TypeAlias = NDArray[np.float32]
"""Something measured at every pixel."""
Mask: TypeAlias = NDArray[np.bool_]
"""Some of the pixels."""

SMALLEST: Final = 32
"""Pixels along the side below which shapes cannot be distinguished."""


def from_bytes(data: bytes | None) -> Image:
    """The picture that these bytes hold; it cannot be written to.

    >>> from_bytes(bytes(4096)).shape
    (64, 64)
    >>> from_bytes(bytes(4095))
    Traceback (most recent call last):
    ...
    penstock.core.errors.UserError: an image is square, at least 32 x 32, with one byte for each \
pixel, got 4095 bytes; send 4096 for 64 x 64
    """
    data = data or b""
    side = isqrt(len(data))
    if side < SMALLEST or side * side != len(data):
        raise UserError(
            f"an image is square, at least {SMALLEST} x {SMALLEST}, with one byte for each pixel, "
            f"got {len(data)} bytes; send 4096 for 64 x 64"
        )
    return np.frombuffer(data, np.uint8).reshape(side, side)


# The kind and amount of noise in a picture, from its pixels alone.


GAUSSIAN: Final = "gaussian"
IMPULSE: Final = "impulse"

_NORMAL: Final = 1.4826
"""Standard deviations in a median absolute deviation, for the normal distribution."""
_BLACK, _WHITE = 5, 250
_LONELY: Final = 20.0
"""Least distance of an impulse from the pixels around it."""
_SURPRISE: Final = 4.0
"""The same in standard deviations of the rest, so that strong Gaussian noise is none."""
_FEW: Final = 0.01
"""Share of impulses from which a picture counts as hit by them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """The kind of noise, and its amount: a standard deviation, or a share of pixels."""

    kind: str
    amount: float


def measure(image: Image) -> Noise:
    """Kind and amount of the noise of a picture.

    >>> grey = np.full((64, 64), 128, np.uint8)
    >>> measure(grey)
    Noise(kind='gaussian', amount=0.0)
    >>> grey[::4, ::4] = 255
    >>> measure(grey)
    Noise(kind='impulse', amount=0.0625)
    """
    share = float(impulses(image).mean())
    if share >= _FEW:
        return Noise(kind=IMPULSE, amount=share)
    return Noise(kind=GAUSSIAN, amount=deviation(image))


def impulses(image: Image) -> Mask:
    """The pixels that look like impulses: black or white, and unlike their surroundings."""
    apart = cv2.absdiff(image, cv2.medianBlur(image, 5))
    extreme = (image <= _BLACK) | (image >= _WHITE)
    usual = _NORMAL * _median(apart[~extreme])
    lonely: Mask = extreme & (apart > max(_LONELY, _SURPRISE * usual))
    return lonely


def deviation(image: Image) -> float:
    """The standard deviation of noise, from differences that flat and sloping areas do not have.

    >>> chance = np.random.default_rng(1)
    >>> round(deviation(np.uint8(chance.normal(128, 10, (64, 64)).round())))
    10
    """
    # The mask has unit length and sums to zero along every row and column.
    mask = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], np.float32) / 6
    return _NORMAL * _median(np.abs(cv2.filter2D(image, cv2.CV_32F, mask)))


def _median(values: NDArray[Any]) -> float:
    return float(np.median(values)) if values.size else 0.0


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
