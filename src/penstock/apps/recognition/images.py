"""Noisy pictures that never end: picture number i is always the same picture.

One shape each, of random position, size, turn and contrast, on a graded or striped background,
spoiled by Gaussian noise or by impulses (salt and pepper).

>>> Images(seed=1).columns(np.arange(3))["label"].to_pylist()
['star', 'corner', 'square']

`OUTLINES` are the shapes that can be recognised, around the origin:

>>> LABELS
('circle', 'square', 'triangle', 'star', 'cross', 'hexagon', 'corner', 'crescent', 'arrow')
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, pi, sin, sqrt
from typing import Final, TypeAlias

import cv2
import numpy as np
import pyarrow as pa
from numpy.random import SFC64, Generator
from numpy.typing import ArrayLike, NDArray

from penstock.apps.recognition.denoise import GAUSSIAN, IMPULSE, SMALLEST, Image, Plane
from penstock.core.errors import SettingError

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


_RADIUS: Final = (0.18, 0.34)
"""Of the circle around a shape, as a share of the picture's side."""
_MARGIN: Final = 0.05
"""Least distance of a shape from the border, likewise."""
_DARKEST, _BRIGHTEST = 45.0, 210.0
_CONTRAST: Final = (30.0, 110.0)
_UNEVEN: Final = 0.25
"""Most that the background departs from its mean, as a share of the contrast."""
_WAVES: Final = (4.0, 10.0)
"""Stripes of a background across the picture."""
_SENSOR: Final = 2.0
"""Standard deviation of the noise that pictures have besides impulses."""
_DEVIATION: Final = (12.0, 50.0)
"""Standard deviation of Gaussian noise."""
_SHARE: Final = (0.05, 0.5)
"""Share of the pixels that impulses hit."""


@dataclass(frozen=True, slots=True)
class Images:
    """What the rows of the recognition service hold: pictures, and the truth about them.

    `label` and `noise` are there to score the service. No module looks at them.
    """

    seed: int = 0
    size: int = 64
    """Pixels along each side."""

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn."""
        if self.size < SMALLEST:
            raise SettingError(f"size of images must be at least {SMALLEST}, got {self.size}")
        if self.seed < 0:
            raise SettingError(f"seed of images must not be negative, got {self.seed}")

    @property
    def schema(self) -> str:
        """The picture with its number and the truth about it."""
        return "id long, label string, noise string, image binary"

    def columns(self, index: NDArray[np.int64]) -> dict[str, pa.Array]:
        """The pictures with these numbers."""
        drawn = [self.draw(int(number)) for number in index]
        return {
            "id": pa.array(index, pa.int64()),
            "label": pa.array([label for label, _, _ in drawn], pa.string()),
            "noise": pa.array([noise for _, noise, _ in drawn], pa.string()),
            "image": pa.array([image.tobytes() for _, _, image in drawn], pa.binary()),
        }

    def draw(self, number: int) -> tuple[str, str, Image]:
        """The true label, the true kind of noise and the picture with this number."""
        chance = Generator(SFC64((self.seed, number)))
        label = LABELS[chance.integers(len(LABELS))]
        scene = _scene(label, self.size, chance)
        noise = GAUSSIAN if chance.random() < 0.5 else IMPULSE
        return label, noise, _SPOILED[noise](scene, chance)


def _scene(label: str, size: int, chance: Generator) -> Plane:
    """A shape before its background, as it would be seen without noise."""
    contrast = chance.uniform(*_CONTRAST)
    dark = chance.uniform(_DARKEST, _BRIGHTEST - contrast)
    bright = dark + contrast
    shape, behind = (bright, dark) if chance.random() < 0.5 else (dark, bright)
    background = behind + contrast * _UNEVEN * _relief(size, chance)
    cover = _cover(label, size, chance) * np.float32(1 / 255)
    return background + cover * (shape - background)


def _cover(label: str, size: int, chance: Generator) -> Image:
    """Where the shape is: 255 inside, 0 outside."""
    radius = size * chance.uniform(*_RADIUS)
    reach = radius + size * _MARGIN
    at = chance.uniform(reach, size - reach), chance.uniform(reach, size - reach)
    return filled(placed(OUTLINES[label], at, radius, chance.uniform(0, 2 * pi)), size)


def _relief(size: int, chance: Generator) -> Plane:
    """A slope or stripes in any direction, between -1 and 1."""
    angle, height = chance.uniform(0, 2 * pi), chance.random()
    along = np.arange(size, dtype=np.float32) / np.float32(size) - np.float32(0.5)
    slope = np.float32(cos(angle)) * along + np.float32(sin(angle)) * along[:, None]
    if chance.random() < 0.5:
        return slope * np.float32(sqrt(2) * height)
    waves = np.float32(2 * pi * chance.uniform(*_WAVES))
    return np.sin(slope * waves) * np.float32(height)


def _with_gaussian(scene: Plane, chance: Generator) -> Image:
    return _seen(scene, chance.uniform(*_DEVIATION), chance)


def _with_impulses(scene: Plane, chance: Generator) -> Image:
    image, share = _seen(scene, _SENSOR, chance), chance.uniform(*_SHARE)
    lots = chance.random(scene.shape, np.float32)
    image[lots < share] = 255
    image[lots < share / 2] = 0
    return image


def _seen(scene: Plane, deviation: float, chance: Generator) -> Image:
    noisy = scene + chance.standard_normal(scene.shape, np.float32) * np.float32(deviation)
    return np.clip(np.rint(noisy), 0, 255).astype(np.uint8)


_SPOILED: Final[dict[str, Callable[[Plane, Generator], Image]]] = {
    GAUSSIAN: _with_gaussian,
    IMPULSE: _with_impulses,
}
