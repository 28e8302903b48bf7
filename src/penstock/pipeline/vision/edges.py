"""Three edge detectors, and the choice between them by what a picture is like.

Each answers with an edge map: 255 on edges a pixel or two wide, 0 elsewhere. The more noise is left
in proportion to the contrast, the more a detector must smooth, and the more it rounds corners off.

>>> grey = np.zeros((32, 32), np.uint8)
>>> grey[8:24, 8:24] = 200
>>> choose(grey)
'sobel'
>>> sobel(grey)[16, 5:11].tolist()
[0, 0, 255, 0, 0, 0]
"""

from collections.abc import Callable
from typing import Final

import cv2
import numpy as np
from cv2.typing import MatLike

from penstock.pipeline.vision.noise import deviation
from penstock.pipeline.vision.pixels import Image, Mask, Plane

_STEEP: Final = 0.97
"""Quantile of the gradient that stands for an edge: an outline covers a few pixels in a hundred."""
_STRONG, _MIDDLING, _WEAK = 0.7, 0.5, 0.4
"""Gradients in proportion to an edge's: enough to begin one, to be one, and to go on with one."""
_STEP: Final = 4.0
"""Gradient that Sobel's mask gives a step of height one."""
_CANNY_BLUR, _LAPLACE_BLUR = 1.0, 1.5
"""Standard deviations, in pixels, of the Gaussians that smooth."""
_CLEAR, _UNCLEAR = 24.0, 16.0
"""Contrast, in standard deviations of the noise, above which nothing need be smoothed, and below
which only closed outlines help."""
_DIRECTIONS: Final = ((0, 1), (1, 1), (1, 0), (1, -1))
"""Steps down and across to the next pixel, by eighths of a turn."""


def choose(image: Image) -> str:
    """The detector that suits a picture: by its contrast, and by the noise that is left in it."""
    clarity = contrast(image) / max(deviation(image), 1.0)
    if clarity >= _CLEAR:
        return "sobel"
    return "canny" if clarity >= _UNCLEAR else "marr-hildreth"


def contrast(image: Image) -> float:
    """The height of a typical edge, in levels of grey."""
    return _steepness(_gradient(image)[0]) / _STEP


def sobel(image: Image) -> Image:
    """Ridges of the gradient, wherever it is strong enough; nothing is smoothed."""
    strength, angle = _gradient(image)
    return _drawn(_ridges(strength, angle) & (strength > _MIDDLING * _steepness(strength)))


def canny(image: Image) -> Image:
    """Ridges that begin where the gradient is strong, and go on as long as it is not weak."""
    smooth = cv2.GaussianBlur(image, (0, 0), _CANNY_BLUR)
    steep = _steepness(_gradient(smooth)[0])
    edges = cv2.Canny(smooth, _WEAK * steep, _STRONG * steep, L2gradient=True)
    return np.asarray(edges, np.uint8)


def marr_hildreth(image: Image) -> Image:
    """Where the Laplacian of a Gaussian crosses zero, which it does along closed lines."""
    smooth = cv2.GaussianBlur(image.astype(np.float32), (0, 0), _LAPLACE_BLUR)
    curvature = np.asarray(cv2.Laplacian(smooth, cv2.CV_32F, ksize=3), np.float32)
    strength, _ = _gradient(smooth)
    return _drawn(_crossings(curvature) & (strength > _MIDDLING * _steepness(strength)))


OPERATORS: Final[dict[str, Callable[[Image], Image]]] = {
    "sobel": sobel,
    "canny": canny,
    "marr-hildreth": marr_hildreth,
}


def _gradient(image: MatLike) -> tuple[Plane, Plane]:
    """How strong it is, and its direction in radians."""
    across, down = cv2.Sobel(image, cv2.CV_32F, 1, 0), cv2.Sobel(image, cv2.CV_32F, 0, 1)
    strength, angle = cv2.cartToPolar(across, down)
    return np.asarray(strength, np.float32), np.asarray(angle, np.float32)


def _steepness(strength: Plane) -> float:
    return float(np.quantile(strength, _STEEP))


def _ridges(strength: Plane, angle: Plane) -> Mask:
    """Where the gradient is stronger than one pixel up its slope, and one down."""
    eighth = np.rint(angle * np.float32(4 / np.pi)).astype(np.int8) % 4
    wide, ridge = np.pad(strength, 1), np.zeros(strength.shape, bool)
    for turn, (down, across) in enumerate(_DIRECTIONS):
        before, after = _moved(wide, -down, -across), _moved(wide, down, across)
        ridge |= (eighth == turn) & (strength > before) & (strength >= after)
    return ridge


def _moved(wide: Plane, down: int, across: int) -> Plane:
    """Each pixel's neighbour, from a plane with a margin of one."""
    rows, columns = wide.shape
    return wide[1 + down : rows - 1 + down, 1 + across : columns - 1 + across]


def _crossings(plane: Plane) -> Mask:
    """Of each two neighbours with different signs, the one nearer to zero."""
    found = np.zeros(plane.shape, bool)
    for values, marks in ((plane, found), (plane.T, found.T)):
        changes = (values[1:] > 0) != (values[:-1] > 0)
        later = np.abs(values[1:]) < np.abs(values[:-1])
        marks[1:] |= changes & later
        marks[:-1] |= changes & ~later
    return found


def _drawn(edges: Mask) -> Image:
    return edges.astype(np.uint8) * np.uint8(255)
