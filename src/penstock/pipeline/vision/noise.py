"""Which noise a picture has, and how much of it, told from its pixels alone."""

from dataclasses import dataclass
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from penstock.pipeline.vision.pixels import Image, Mask

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
    found: Mask = extreme & (apart > max(_LONELY, _SURPRISE * usual))
    return found


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
