"""Noisy pictures that never end: picture number i is always the same picture.

One shape each, of random position, size, turn and contrast, on a graded or striped background,
spoiled by Gaussian noise or by impulses (salt and pepper).

>>> Images(seed=1).columns(np.arange(3))["label"].to_pylist()
['star', 'corner', 'square']
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, pi, sin, sqrt
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.random import SFC64, Generator
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.pipeline.vision.noise import GAUSSIAN, IMPULSE
from penstock.pipeline.vision.pixels import SMALLEST, Image, Plane
from penstock.pipeline.vision.shapes import LABELS, OUTLINES, filled, placed

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
