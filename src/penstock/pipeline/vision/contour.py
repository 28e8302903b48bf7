"""The largest shape of an edge map, as an outline.

>>> edges = np.zeros((64, 64), np.uint8)
>>> edges[16:49, [16, 48]] = edges[[16, 48], 16:49] = 255
>>> edges[16, 30:33] = 0  # a gap
>>> outline = largest(edges)
>>> outline.min(axis=0).tolist(), outline.max(axis=0).tolist()
([16.0, 16.0], [48.0, 48.0])
"""

from typing import Final

import cv2
import numpy as np

from penstock.pipeline.vision.pixels import Image
from penstock.pipeline.vision.shapes import Outline

_GAPS: Final = (0, 1, 2, 3)
"""Half the widths of gaps that are bridged, in the order in which this is tried."""
_SOLID: Final = 0.3
"""Least share of its convex hull that a closed outline surrounds; a broken one hardly any."""
_LEAST: Final = 0.015
"""Least share of the picture that a shape covers."""


def largest(edges: Image) -> Outline | None:
    """The outline that surrounds most, with gaps bridged where it is broken; None without one."""
    for gap in _GAPS:
        found = _outermost(_bridged(edges, gap))
        if found is not None and _is_shape(found, edges.size):
            return found
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
