"""Grey square pictures, and the bytes in which they travel: one for each pixel, row by row."""

from math import isqrt
from typing import Final, TypeAlias

import cv2
import numpy as np
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
