"""From a grey picture to the outline of its largest shape: edges first, then the outline.

Three edge detectors, of which `choose` takes one by what a picture is like, answer with an edge
map: 255 on edges a pixel or two wide, 0 elsewhere. The more noise is left in proportion to the
contrast, the more a detector must smooth, and the more it rounds corners off.

>>> grey = np.zeros((32, 32), np.uint8)
>>> grey[8:24, 8:24] = 200
>>> choose(grey)
'sobel'
>>> sobel(grey)[16, 5:11].tolist()
[0, 0, 255, 0, 0, 0]

`largest` follows the edges of the largest shape and closes small gaps:

>>> edges = np.zeros((64, 64), np.uint8)
>>> edges[16:49, [16, 48]] = edges[[16, 48], 16:49] = 255
>>> edges[16, 30:33] = 0  # a gap
>>> outline = largest(edges)
>>> outline.min(axis=0).tolist(), outline.max(axis=0).tolist()
([16.0, 16.0], [48.0, 48.0])

`nearest` says which of the known shapes an outline resembles most, wherever it is, however large
and turned. An outline is moved to its centre of mass, brought to a standard area and unrolled: a
row for each angle, a column for each distance. A turn is then a shift of the rows, and one Fourier
transform compares a shape with every turn of every candidate.

>>> from penstock.apps.recognition.images import placed
>>> nearest(placed(OUTLINES["star"], at=(30, 20), radius=12, turn=1.0)).label
'star'
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

import cv2
import numpy as np
from cv2.typing import MatLike
from numpy.typing import NDArray

from penstock.apps.recognition.denoise import Image, Mask, Plane, deviation
from penstock.apps.recognition.images import LABELS, OUTLINES, Outline, filled

_GAPS: Final = (0, 1, 2, 3)
"""Half the widths of gaps that are bridged, in the order in which this is tried."""
_SOLID: Final = 0.3
"""Least share of its convex hull that a closed outline surrounds; a broken one hardly any."""
_LEAST: Final = 0.015
"""Least share of the picture that a shape covers."""


def largest(edges: Image) -> Outline | None:
    """The outline that surrounds most, with gaps bridged where it is broken; None without one."""
    for gap in _GAPS:
        outline = _outermost(_bridged(edges, gap))
        if outline is not None and _is_shape(outline, edges.size):
            return outline
    return None


def _bridged(edges: Image, gap: int) -> Image:
    """Everything that the edges surround once they are thick enough to meet, made thin again."""
    if gap == 0:
        return edges
    brush = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * gap + 1, 2 * gap + 1))
    thick = cv2.dilate(edges, brush)
    outlines, _ = cv2.findContours(thick, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    cv2.drawContours(thick, outlines, -1, (255,), cv2.FILLED)
    return np.asarray(cv2.erode(thick, brush), np.uint8)


def _outermost(edges: Image) -> Outline | None:
    outlines, _ = cv2.findContours(edges, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    if not outlines:
        return None
    return np.asarray(max(outlines, key=cv2.contourArea)[:, 0], np.float32)


def _is_shape(outline: Outline, pixels: int) -> bool:
    area, hull = cv2.contourArea(outline), cv2.contourArea(cv2.convexHull(outline))
    return area >= _LEAST * pixels and area >= _SOLID * hull


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
    edges = np.zeros(plane.shape, bool)
    for values, marks in ((plane, edges), (plane.T, edges.T)):
        changes = (values[1:] > 0) != (values[:-1] > 0)
        later = np.abs(values[1:]) < np.abs(values[:-1])
        marks[1:] |= changes & later
        marks[:-1] |= changes & ~later
    return edges


def _drawn(edges: Mask) -> Image:
    return edges.astype(np.uint8) * np.uint8(255)


NOTHING: Final = "nothing"
"""The label of what resembles no candidate."""
_STRANGE: Final = 0.3
"""Distance from which a shape resembles nothing."""
_SIDE: Final = 128
"""Pixels along the side of the picture in which outlines are compared."""
_ROOT_AREA: Final = 46.0
"""Side, in those pixels, of a square of the standard area: then the tips of a crescent fit in."""
_ANGLES, _DISTANCES = 96, 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The candidate that a shape resembles most, and how far it is: 0 the same, 1 unlike."""

    label: str
    distance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidates:
    """What every comparison needs of the known shapes, in the order of their labels."""

    spectra: NDArray[np.complex128]
    """By candidate, frequency and distance."""
    sizes: NDArray[np.float64]


def nearest(outline: Outline | None) -> Match:
    """The candidate that resembles an outline most.

    >>> nearest(None)
    Match(label='nothing', distance=1.0)
    """
    if outline is None:
        return Match(label=NOTHING, distance=1.0)
    distances = _distances(_unrolled(outline))
    least = int(np.argmin(distances))
    distance = float(distances[least])
    return Match(label=LABELS[least] if distance < _STRANGE else NOTHING, distance=distance)


def _distances(seen: Plane) -> NDArray[np.float64]:
    """To each candidate, turned as fits best: the squared difference as a share of both squares."""
    known = _candidates()
    products = (np.fft.rfft(seen, axis=0) * known.spectra).sum(axis=2)
    overlap = np.fft.irfft(products, _ANGLES, axis=1).max(axis=1)
    distances: NDArray[np.float64] = 1 - 2 * overlap / (_size(seen) + known.sizes)
    return distances


def _unrolled(outline: Outline) -> Plane:
    """What an outline surrounds, by angle and distance from its centre of mass."""
    moments = cv2.moments(outline)
    area = moments["m00"]
    centre = np.array([moments["m10"], moments["m01"]]) / area
    standard = (outline - centre) * (_ROOT_AREA / np.sqrt(area)) + _SIDE / 2
    middle = (_SIDE / 2, _SIDE / 2)
    picture = filled(standard, _SIDE)
    polar = cv2.warpPolar(picture, (_DISTANCES, _ANGLES), middle, _SIDE / 2, cv2.INTER_LINEAR)
    return polar.astype(np.float32) / np.float32(255)


def _size(unrolled: Plane) -> float:
    return float((unrolled**2 @ _AREAS).sum())


@cache
def _candidates() -> _Candidates:
    unrolled = [_unrolled(outline) for outline in OUTLINES.values()]
    spectra = np.fft.rfft(np.stack(unrolled), axis=1)
    return _Candidates(
        spectra=spectra.conj() * _AREAS, sizes=np.array([_size(each) for each in unrolled])
    )


_AREAS: Final = np.arange(_DISTANCES, dtype=np.float32)
"""Share of the area that each distance stands for: a ring grows with it."""
