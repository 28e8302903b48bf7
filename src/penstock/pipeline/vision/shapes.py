"""The shapes that can be seen and recognised, as outlines around the origin.

>>> LABELS
('circle', 'square', 'triangle', 'star', 'cross', 'hexagon', 'corner', 'crescent', 'arrow')
"""

from typing import Final, TypeAlias

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.pipeline.vision.pixels import Image

Outline: TypeAlias = NDArray[np.float32]
"""Corners of a closed outline, one (x, y) a row."""

_FINER: Final = 2
"""Outlines are filled at so many times the size: OpenCV's own smooth edges lie too far outside."""
_BITS: Final = 8
"""Binary digits after the point of a corner."""


def placed(outline: Outline, at: tuple[float, float], radius: float, turn: float) -> Outline:
    """An outline turned by so many radians, enlarged, and moved to where it shall stand.

    >>> placed(np.float32([[1, 0]]), at=(10, 20), radius=5, turn=np.pi / 2).round(3).tolist()
    [[10.0, 25.0]]
    """
    cos, sin = np.cos(turn), np.sin(turn)
    turned = outline @ np.array([[cos, sin], [-sin, cos]], np.float32)
    return (turned * np.float32(radius) + np.array(at, np.float32)).astype(np.float32)


def filled(outline: Outline, size: int) -> Image:
    """A picture of so many pixels along the side: 255 inside the outline, 0 outside.

    >>> filled(np.array([[8, 8], [24, 8], [24, 24], [8, 24]], np.float32), 32)[16, ::10].tolist()
    [0, 255, 255, 0]
    """
    large = np.zeros((_FINER * size, _FINER * size), np.uint8)
    corners = (outline + 0.5) * _FINER - 0.5  # a pixel's middle has whole coordinates in both
    cv2.fillPoly(large, [np.rint(corners * 2**_BITS).astype(np.int32)], (255,), shift=_BITS)
    return np.asarray(cv2.resize(large, (size, size), interpolation=cv2.INTER_AREA), np.uint8)


def _outline(corners: ArrayLike) -> Outline:
    """Corners moved so that the furthest is one away from the middle of their bounding circle."""
    points = np.asarray(corners, np.float32)
    middle, radius = cv2.minEnclosingCircle(points)
    return (points - np.asarray(middle, np.float32)) / np.float32(radius)


def _ring(corners: int, *radii: float) -> Outline:
    """Corners at equal angles, at these distances by turns."""
    angles = np.arange(corners) * 2 * np.pi / corners
    distances = np.resize(radii, corners)
    return _outline(np.stack([distances * np.cos(angles), distances * np.sin(angles)], axis=1))


def _crescent() -> Outline:
    """A disc from which another, moved aside, has taken a bite."""
    aside, angles = 0.55, np.linspace(-1.0, 1.0, 40)
    tip = np.arccos(aside / 2)  # where the two circles, both of radius one, cross
    outer = np.exp(1j * (np.pi + angles * (np.pi - tip)))
    bite = aside + np.exp(1j * (np.pi - angles * (np.pi - np.arccos(-aside / 2))))
    both = np.concatenate([outer, bite])
    return _outline(np.stack([both.real, both.imag], axis=1))


_CROSS: Final = [(1, 3), (1, 1), (3, 1), (3, -1), (1, -1), (1, -3)]
_ARROW: Final = [(0, 4), (3, 0), (1.2, 0), (1.2, -4), (-1.2, -4), (-1.2, 0), (-3, 0)]

OUTLINES: Final[dict[str, Outline]] = {
    "circle": _ring(64, 1.0),
    "square": _ring(4, 1.0),
    "triangle": _ring(3, 1.0),
    "star": _ring(10, 1.0, 0.45),
    "cross": _outline(_CROSS + [(-x, -y) for x, y in _CROSS]),
    "hexagon": _ring(6, 1.0),
    "corner": _outline([(0, 0), (5, 0), (5, 2), (2, 2), (2, 6), (0, 6)]),
    "crescent": _crescent(),
    "arrow": _outline(_ARROW),
}
LABELS: Final = tuple(OUTLINES)
