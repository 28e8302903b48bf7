"""Charts of an experiment: curves over anything that is counted, and bars.

>>> import numpy as np
>>> from penstock.experiment.reproduction import Line
>>> line = Line(name="rounds", x=np.array([0.5, 0.01]), y=np.array([3.0, 33.0]))
>>> across, up = axes(Chart(title="", x="increment", y="rounds", lines=(line,), wide="x"))
>>> across.labels[0], up.high
((0.01, '0.01'), 40.0)
"""

from html import escape
from math import ceil, floor, log10
from typing import Final

import numpy as np

from penstock.experiment.reproduction import Chart, Floats
from penstock.report.plot import Plot
from penstock.report.scales import Axis, nice_step, number
from penstock.report.series import Series, thin

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
        f'<div class="{colour}"><i style="--share:{share}"></i>{number(value)} '
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
    return f"{100 * value:g}" if unit == "%" else number(value)


def _clean(value: float) -> float:
    return float(f"{value:.12g}")
