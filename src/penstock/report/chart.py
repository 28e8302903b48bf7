"""Charts of an experiment: curves over anything that is counted, bars, and points with intervals.

>>> import numpy as np
>>> from penstock.experiment.results import Line
>>> line = Line(name="rounds", x=np.array([0.5, 0.01]), y=np.array([3.0, 33.0]))
>>> across, up = axes(Chart(title="", x="increment", y="rounds", lines=(line,), wide="x"))
>>> across.labels[0], up.high
((0.01, '0.01'), 40.0)

`scatter` draws points with intervals both ways:

>>> one = Point(name="mpc", style="c1", x=2.0, y=0.5, x_half=0.5, y_half=0.1)
>>> drawn = scatter("Cost", (one,), x=("core-s", 4.0), y=("%", 1.0))
>>> "mpc" in drawn and "<svg" in drawn
True
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from typing import Final

import numpy as np

from penstock.core.words import short_number
from penstock.experiment.results import Chart, Floats
from penstock.report.plot import HEIGHT, WIDTH, Plot, Series, thin, x_labels, y_labels
from penstock.report.scales import Axis, axis, nice_step

_COLOURS: Final = ("c1", "c2", "c3", "c4", "c5", "c6")
_MOST_POINTS: Final = 900
_COUNTED: Final = ("cores", "step", "iteration")
"""Units without halves."""
_FEW: Final = 8
"""Values of which each gets a label of its own."""
_NARROW: Final = 0.5
"""Values that are all above this share of the highest get an axis that does not begin at zero."""


def plot(chart: Chart) -> Plot:
    """The chart as the rest of our pages draws lines."""
    across, up = axes(chart)
    return Plot(
        title=chart.title,
        time=across,
        axis=up,
        series=tuple(
            thin(
                Series(
                    name=line.name,
                    style=f"{colour} wide" if hidden else colour,
                    at=line.x[np.argsort(line.x)],
                    values=line.y[np.argsort(line.x)],
                    stepped=chart.stepped,
                ),
                _MOST_POINTS,
            )
            for line, colour, hidden in zip(chart.lines, _COLOURS, _hidden(chart), strict=False)
        ),
        form=chart.y,
    )


def _hidden(chart: Chart) -> list[bool]:
    """Which lines a later one may lie upon: of two that are stepped, the first is drawn broad."""
    return [chart.stepped and index < len(chart.lines) - 1 for index in range(len(chart.lines))]


def axes(chart: Chart) -> tuple[Axis, Axis]:
    """From left to right, and from bottom to top."""
    x = np.concatenate([line.x for line in chart.lines])
    y = np.concatenate([line.y for line in chart.lines])
    y = y[np.isfinite(y)]
    across = _axis(x, chart.x, wide="x" in chart.wide, whole=True)
    return across, _axis(y, chart.y, wide="y" in chart.wide, whole=False)


def bars(chart: Chart) -> str:
    """A bar for each value, those of one name together."""
    highest = max(float(np.nanmax(line.y)) for line in chart.lines)
    parts = []
    for place, name in enumerate(chart.names):
        drawn = "".join(
            _bar(line.name, colour, float(line.y[place]), highest)
            for line, colour in zip(chart.lines, _COLOURS, strict=False)
        )
        parts.append(f"<dt>{escape(name)}</dt><dd>{drawn}</dd>")
    return f'<dl class="bars">{"".join(parts)}</dl>'


def _bar(name: str, colour: str, value: float, highest: float) -> str:
    if not np.isfinite(value):
        return ""
    share = f"{100 * value / (highest or 1.0):.2f}%"
    return (
        f'<div class="{colour}"><i style="--share:{share}"></i>{short_number(value)} '
        f"<small>{escape(name)}</small></div>"
    )


def _axis(values: Floats, unit: str, *, wide: bool, whole: bool) -> Axis:
    """`whole` has no room beyond the first and the last value."""
    low, high = float(values.min()), float(values.max())
    if wide:
        return _decades(np.unique(values), unit)
    begins_at_zero = not whole and low <= _NARROW * high
    step = nice_step(high if begins_at_zero else high - low or abs(high) / 4, 4)
    if unit in _COUNTED:
        step = max(1.0, floor(step))
    first = 0 if begins_at_zero else floor(low / step + 1e-9)
    last = max(ceil(high / step - 1e-9), first + 1)
    marks = [_clean(index * step) for index in range(first, last + 1)]
    if whole:
        inside = tuple((mark, _words(mark, unit)) for mark in marks if low <= mark <= high)
        return Axis(low, max(high, low + 1.0), inside, unit)
    return Axis(marks[0], marks[-1], tuple((mark, _words(mark, unit)) for mark in marks), unit)


def _decades(values: Floats, unit: str) -> Axis:
    """Each tenfold takes the same room; with a label for each value, or for each tenfold."""
    low, high = float(values[0]), float(values[-1])
    powers = 10.0 ** np.arange(ceil(log10(low) - 1e-9), floor(log10(high) + 1e-9) + 1)
    marks = values if len(values) <= _FEW else powers[:: max(1, len(powers) // 6)]
    labels = tuple((mark, _words(mark, unit)) for mark in marks.tolist())
    return Axis(low, high, labels, unit, decades=True)


def _words(value: float, unit: str) -> str:
    """Shares in percent, whatever their size; the unit stands beside the title."""
    return f"{100 * value:g}" if unit == "%" else short_number(value)


def _clean(value: float) -> float:
    return float(f"{value:.12g}")


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
