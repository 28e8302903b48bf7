"""Points with intervals both ways, as the rest of our pages draws lines.

>>> one = Point(name="mpc", style="c1", x=2.0, y=0.5, x_half=0.5, y_half=0.1)
>>> drawn = scatter("Cost", (one,), x=("core-s", 4.0), y=("%", 1.0))
>>> "mpc" in drawn and "<svg" in drawn
True
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from penstock.report.plot import HEIGHT, WIDTH, x_labels, y_labels
from penstock.report.scales import Axis, axis


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A point with its name; the halves of its intervals are 0 where unknown."""

    name: str
    style: str
    x: float
    y: float
    x_half: float = 0.0
    y_half: float = 0.0


def scatter(
    title: str, points: Sequence[Point], *, x: tuple[str, float], y: tuple[str, float]
) -> str:
    """A figure; each axis has its unit and the highest value that it must hold."""
    across, up = axis(*x), axis(*y)
    names = ", ".join(point.name for point in points)
    return (
        '<figure class="scatter">'
        f"<figcaption><h3>{escape(title)} <small>{escape(up.unit)} over {escape(across.unit)}"
        "</small></h3></figcaption>"
        f'<div class="frame" role="img" aria-label="{escape(f"{title}: {names}")}">'
        f'<div class="y">{y_labels(up)}</div>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" aria-hidden="true">'
        f"{_grid(up)}{''.join(_bars(point, across, up) for point in points)}</svg>"
        f"{''.join(_label(point, across, up) for point in points)}"
        f'<div class="x" data-unit="{escape(across.unit)}">{x_labels(across)}</div>'
        "</div></figure>\n"
    )


def _grid(up: Axis) -> str:
    lines = "".join(f"M0 {_y(up, value):.1f}h{WIDTH}" for value, _ in up.labels)
    return f'<path class="grid" d="{lines}"/>'


def _bars(point: Point, across: Axis, up: Axis) -> str:
    """The intervals, as a cross."""
    left, right = (_x(across, point.x + way * point.x_half) for way in (-1, 1))
    low, high = (_y(up, point.y + way * point.y_half) for way in (-1, 1))
    x, y = _x(across, point.x), _y(up, point.y)
    return (
        f'<g class="{point.style}"><path class="line" d="M{left:.1f} {y:.1f}H{right:.1f}'
        f'M{x:.1f} {low:.1f}V{high:.1f}"/></g>'
    )


def _label(point: Point, across: Axis, up: Axis) -> str:
    left, top = 100 * _x(across, point.x) / WIDTH, 100 * _y(up, point.y) / HEIGHT
    turned = " left" if left > 75 else ""
    return (
        f'<b class="point {point.style}{turned}" style="left:{left:.2f}%;top:{top:.2f}%">'
        f"<span>{escape(point.name)}</span></b>"
    )


def _x(across: Axis, value: float) -> float:
    return WIDTH * min(max(across.share(value), 0.0), 1.0)


def _y(up: Axis, value: float) -> float:
    return HEIGHT * (1 - min(max(up.share(value), 0.0), 1.0))
