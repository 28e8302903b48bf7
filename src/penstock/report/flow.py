"""The flow graph as a small drawing, lying for wide screens and standing for narrow ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Final

from penstock.core.graph import FlowGraph, Stream
from penstock.core.words import percent, short_number

_BOX: Final = (156, 78)
_ARROW: Final = 40
_WORDS: Final = 44  # more, where something is written along an arrow
_BESIDE: Final = 16
_EDGE: Final = 2  # so that no outline is cut off


@dataclass(frozen=True, slots=True)
class Box:
    """A module with what is written in it."""

    name: str
    lines: tuple[str, ...]
    busy: float | None
    """Mean utilisation, drawn as a bar."""


def drawing(graph: FlowGraph, boxes: Mapping[str, Box], *, standing: bool) -> str:
    """The graph as an SVG, from left to right or from top to bottom."""
    places = _places(graph, standing=standing)
    width = max(x for x, _ in places.values()) + _BOX[0] + _EDGE
    height = max(y for _, y in places.values()) + _BOX[1] + _EDGE
    arrows = "".join(_arrow(stream, places, standing=standing) for stream in graph.streams)
    drawn = "".join(_box(boxes[name], places[name]) for name in graph.names())
    return (
        f'<svg class="graph {"standing" if standing else "lying"}" role="img" '
        f'aria-label="flow graph" viewBox="0 0 {width} {height}" width="{width}" '
        f'style="min-width:{0.8 * width:.0f}px">{arrows}{drawn}</svg>'
    )


def _places(graph: FlowGraph, *, standing: bool) -> dict[str, tuple[int, int]]:
    """The corner of each module: further along than all that feed it, siblings side by side."""
    depth: dict[str, int] = {}
    for name in graph.order():
        feeding = [depth[s.origin] + 1 for s in graph.streams if s.target == name]
        depth[name] = max(feeding, default=0)
    rows: dict[int, list[str]] = {}
    for name in graph.names():
        rows.setdefault(depth[name], []).append(name)
    widest = max(len(names) for names in rows.values())
    gap = _ARROW + _WORDS * any(_words(stream) for stream in graph.streams)
    return {
        name: _place(level, index + (widest - len(names)) / 2, gap, standing=standing)
        for level, names in rows.items()
        for index, name in enumerate(names)
    }


def _place(level: int, beside: float, gap: int, *, standing: bool) -> tuple[int, int]:
    along, across = (1, 0) if standing else (0, 1)
    corner = [0.0, 0.0]
    corner[along] = _EDGE + level * (_BOX[along] + gap)
    corner[across] = _EDGE + beside * (_BOX[across] + _BESIDE)
    return round(corner[0]), round(corner[1])


def _arrow(stream: Stream, places: Mapping[str, tuple[int, int]], *, standing: bool) -> str:
    (x1, y1), (x2, y2) = places[stream.origin], places[stream.target]
    if standing:
        x1, y1, x2, y2 = x1 + _BOX[0] // 2, y1 + _BOX[1], x2 + _BOX[0] // 2, y2 - 7
        middle = (y1 + y2) // 2
        curve, head = f"C{x1} {middle} {x2} {middle} {x2} {y2}", f"M{x2 - 5} {y2}h10l-5 7z"
    else:
        x1, y1, x2, y2 = x1 + _BOX[0], y1 + _BOX[1] // 2, x2 - 7, y2 + _BOX[1] // 2
        middle = (x1 + x2) // 2
        curve, head = f"C{middle} {y1} {middle} {y2} {x2} {y2}", f"M{x2} {y2 - 5}v10l7 -5z"
    beside = -9 if y2 <= y1 else 18  # on the side that the curve does not come from
    place = f'x="{x2 + 10}" y="{y2 - 4}"' if standing else f'x="{x2 - 2}" y="{y2 + beside}"'
    words = f'<text class="way" {place}>{_words(stream)}</text>'
    return f'<path class="way" d="M{x1} {y1}{curve}"/><path class="head" d="{head}"/>{words}'


def _words(stream: Stream) -> str:
    parts = []
    if stream.probability < 1:
        parts.append(percent(stream.probability, "fine"))
    if stream.selectivity != 1:
        parts.append(f"\u00d7{short_number(stream.selectivity)}")
    return " ".join(parts)


def _box(box: Box, corner: tuple[int, int]) -> str:
    x, y = corner
    width, height = _BOX
    lines = "".join(
        f'<text class="soft" x="{x + 12}" y="{y + 42 + 17 * index}">{escape(_cut(line, 22))}</text>'
        for index, line in enumerate(box.lines[:2])
    )
    return (
        f"<g><title>{escape(box.name)}</title>"
        f'<rect class="box" x="{x}" y="{y}" width="{width}" height="{height}" rx="8"/>'
        f'<text class="name" x="{x + 12}" y="{y + 23}">{escape(_cut(box.name))}</text>{lines}'
        f"{_bar(box.busy, x + 12, y + height - 11)}</g>"
    )


def _bar(busy: float | None, x: int, y: int) -> str:
    """How busy the module was on average; nothing where that is unknown."""
    if busy is None:
        return ""
    full = _BOX[0] - 24
    part = round(full * min(1.0, max(0.0, busy)))
    return (
        f'<rect class="trough" x="{x}" y="{y}" width="{full}" height="3" rx="1.5"/>'
        f'<rect class="busy" x="{x}" y="{y}" width="{part}" height="3" rx="1.5"/>'
    )


def _cut(name: str, most: int = 16) -> str:
    return name if len(name) <= most else name[: most - 1] + "\u2026"
