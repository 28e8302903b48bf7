"""Which of the known shapes an outline resembles most, wherever it is, however large and turned.

An outline is moved to its centre of mass, brought to a standard area and unrolled: a row for each
angle, a column for each distance. A turn is then a shift of the rows, and one Fourier transform
compares a shape with every turn of every candidate.

>>> from penstock.apps.recognition.images import placed
>>> nearest(placed(OUTLINES["star"], at=(30, 20), radius=12, turn=1.0)).label
'star'
"""

from dataclasses import dataclass
from functools import cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from penstock.apps.recognition.images import LABELS, OUTLINES, Outline, filled
from penstock.apps.recognition.pixels import Plane

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
