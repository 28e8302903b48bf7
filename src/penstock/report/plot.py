"""One plot over time as HTML: thinned lines in an SVG that stretches, and words around it."""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.report.scales import Axis

# Values over time, thinned until they fit a page without losing a peak or a gap.


Column = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One line of a plot; NaN is a gap."""

    name: str
    style: str
    """Class names that say how it is drawn."""
    at: Column
    values: Column
    stepped: bool = False
    """Whether a value holds until the next one."""


def thin(series: Series, most: int) -> Series:
    """The same picture with about as many points as asked for.

    >>> flat = Series(name="n", style="", at=np.arange(9.0), values=np.ones(9), stepped=True)
    >>> thin(flat, 100).at
    array([0., 8.])
    """
    slim = _kept(series, _turns(series.values)) if series.stepped else series
    return slim if len(slim.at) <= most else _kept(slim, _extremes(slim.values, max(1, most // 3)))


def drawn(series: Series) -> dict[str, Any]:
    """The points as the page's script wants them."""
    return {
        "t": [float(f"{at:.7g}") for at in series.at],
        "v": [None if np.isnan(value) else float(f"{value:.4g}") for value in series.values],
        "stepped": series.stepped,
    }


def _kept(series: Series, index: NDArray[np.intp]) -> Series:
    return Series(
        name=series.name,
        style=series.style,
        at=series.at[index],
        values=series.values[index],
        stepped=series.stepped,
    )


def _turns(values: Column) -> NDArray[np.intp]:
    """Where a stepped line changes, and its end."""
    same = (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
    keep = np.concatenate([[True], ~same]) if len(values) else np.empty(0, dtype=bool)
    keep[-1:] = True
    return np.flatnonzero(keep)


def _extremes(values: Column, buckets: int) -> NDArray[np.intp]:
    """The lowest, the highest and one gap, if any, of each stretch; the first and the last."""
    gaps = np.isnan(values)
    kept = {0, len(values) - 1}
    for stretch in np.array_split(np.arange(len(values)), buckets):
        start, part = int(stretch[0]), values[stretch]
        if gaps[stretch].any():
            kept |= _gap(gaps, start + int(np.argmax(gaps[stretch])))
        if not gaps[stretch].all():
            kept |= {start + int(np.nanargmin(part)), start + int(np.nanargmax(part))}
    return np.array(sorted(kept), dtype=np.intp)


def _gap(gaps: NDArray[np.bool_], first: int) -> set[int]:
    """A gap with the values on both sides of it, so that it looks no wider than it is."""
    return {max(0, first - 1), first, first + int(np.argmin(gaps[first:]))}


WIDTH: Final = 1000
HEIGHT: Final = 200
_DENSE: Final = 600  # points, from which a thick line would be a smear


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A decision that changed a module, a region or the clock, or a step that lacked nodes."""

    at: float
    kind: str
    """`out` for more, `in` for less, `moved` for keys alone, `set` where it cannot be said, `unmet`
    for replicas that found no room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of time in which something else went on."""

    start: float
    end: float
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Lines over the time of a run."""

    title: str
    time: Axis
    axis: Axis
    series: tuple[Series, ...]
    form: str
    """How the page's script writes a value: `s`, `%`, or the unit."""
    limit: tuple[float, str] | None = None
    """A promise, as a line across, and its words."""
    bands: tuple[tuple[float, float], ...] = ()
    """Spans of time in which the promise was broken, or nothing was heard."""
    bands_mean: str = ""
    """What the bands say, where no limit says it."""
    during: Span | None = None
    """A stretch that explains the lines, as a band with its words."""
    marks: tuple[Mark, ...] = ()
    style: str = ""


def figure(plot: Plot) -> str:
    """The plot with its heading, legend and labels."""
    return (
        f'<figure class="plot {plot.style}">'
        f"<figcaption><h3>{escape(plot.title)} <small>{escape(plot.axis.unit)}</small></h3>"
        f"<ul>{''.join(map(_legend, plot.series))}{_limit_legend(plot)}{_during_legend(plot)}"
        f"{_bands_legend(plot)}</ul>"
        "</figcaption>"
        f'<div class="frame" tabindex="0" role="img" aria-label="{escape(_spoken(plot))}">'
        f'<div class="y">{y_labels(plot.axis)}</div>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" aria-hidden="true">'
        f"{_during(plot)}{_grid(plot)}{_bands(plot)}"
        f"{''.join(_line(plot, s) for s in plot.series)}{_limit(plot)}"
        f'</svg>{_empty(plot)}{_marks(plot)}<div class="cross"></div>'
        f'<div class="x" data-unit="{plot.time.unit}">{x_labels(plot.time)}</div>'
        "</div></figure>\n"
    )


def path(series: Series, time: Axis, axis: Axis) -> str:
    """The line, broken where a value is unknown.

    >>> one = Axis(0, 1, (), ""); at = np.array([0, 0.5, 1])
    >>> path(Series(name="", style="", at=at, values=np.array([0, 1, np.nan])), one, one)
    'M0 200L500 0'
    >>> path(Series(name="", style="", at=at, values=np.array([0, 1, 1]), stepped=True), one, one)
    'M0 200H500V0H1000'
    """
    runs = (run for run in _runs(series, time, axis) if len(run) > 1)
    return "".join(_stretch(run, stepped=series.stepped) for run in runs)


def dots(series: Series, time: Axis, axis: Axis) -> str:
    """Values alone between gaps, which no line would show."""
    runs = (run for run in _runs(series, time, axis) if len(run) == 1)
    return "".join(f"M{x} {y}h0" for ((x, y),) in runs)


def area(series: Series, time: Axis, axis: Axis) -> str:
    """The surface under the line."""
    return "".join(
        f"{_stretch(points, stepped=series.stepped)}V{HEIGHT}H{points[0][0]}Z"
        for points in _runs(series, time, axis)
    )


def _runs(series: Series, time: Axis, axis: Axis) -> Iterator[list[tuple[str, str]]]:
    """Points between gaps; a stepped line lasts until the gap begins."""
    run: list[tuple[str, str]] = []
    for at, value in zip(series.at, series.values, strict=True):
        x = _short(WIDTH * time.share(at))
        if not np.isnan(value):
            run.append((x, _short(HEIGHT * (1 - axis.share(value)))))
            continue
        if run:
            yield [*run, (x, run[-1][1])] if series.stepped else run
        run = []
    if run:
        yield run


def _stretch(points: list[tuple[str, str]], *, stepped: bool) -> str:
    (x, y), *rest = points
    start = f"M{x} {y}"
    if not stepped:
        return start + "".join(f"L{x} {y}" for x, y in rest)
    moves = []
    for x, next_y in rest:
        moves.append(f"H{x}" if next_y == y else f"H{x}V{next_y}")
        y = next_y
    return start + "".join(moves)


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _line(plot: Plot, series: Series) -> str:
    filled = "fill" in series.style.split()
    under = f'<path class="under" d="{area(series, plot.time, plot.axis)}"/>' if filled else ""
    dense = " dense" if len(series.at) > _DENSE and not series.stepped else ""
    alone = dots(series, plot.time, plot.axis)
    points = f'<path class="dot" d="{alone}"/>' if alone else ""
    return (
        f'<g class="{series.style}{dense}">{under}'
        f'<path class="line" d="{path(series, plot.time, plot.axis)}"/>{points}</g>'
    )


def _grid(plot: Plot) -> str:
    across = "".join(f"M0 {_short(_y(plot, value))}h{WIDTH}" for value, _ in plot.axis.labels)
    return f'<path class="grid" d="{across}"/>'


def _y(plot: Plot, value: float) -> float:
    return HEIGHT * (1 - plot.axis.share(value))


def _bands(plot: Plot) -> str:
    return "".join(_band(plot.time, "band", start, end) for start, end in plot.bands)


def _during(plot: Plot) -> str:
    return _band(plot.time, "during", plot.during.start, plot.during.end) if plot.during else ""


def _band(time: Axis, style: str, start: float, end: float) -> str:
    return (
        f'<rect class="{style}" x="{_short(WIDTH * time.share(start))}" y="0" '
        f'width="{_short(max(1.0, WIDTH * (time.share(end) - time.share(start))))}" '
        f'height="{HEIGHT}"/>'
    )


def _limit(plot: Plot) -> str:
    if plot.limit is None or plot.limit[0] > plot.axis.high:
        return ""
    return f'<path class="limit" d="M0 {_short(_y(plot, plot.limit[0]))}h{WIDTH}"/>'


def _limit_legend(plot: Plot) -> str:
    if plot.limit is None:
        return ""
    return f'<li class="limit"><i></i>{escape(plot.limit[1])}</li>'


def _during_legend(plot: Plot) -> str:
    return f'<li class="during"><i></i>{escape(plot.during.words)}</li>' if plot.during else ""


def _bands_legend(plot: Plot) -> str:
    if not (plot.bands and plot.bands_mean):
        return ""
    return f'<li class="bands"><i></i>{escape(plot.bands_mean)}</li>'


def _marks(plot: Plot) -> str:
    return "".join(
        f'<b class="mark {mark.kind}" style="left:{100 * plot.time.share(mark.at):.2f}%"></b>'
        for mark in plot.marks
    )


def _empty(plot: Plot) -> str:
    known = any(not np.isnan(series.values).all() for series in plot.series)
    return "" if known else '<p class="empty">not measured</p>'


def _legend(series: Series) -> str:
    return f'<li class="{series.style}"><i></i>{escape(series.name)} <output></output></li>'


def y_labels(axis: Axis) -> str:
    """Words to the left of a plot."""
    return "".join(
        f'<span style="top:{100 * (1 - axis.share(value)):.2f}%">{label}</span>'
        for value, label in axis.labels
    )


def x_labels(time: Axis) -> str:
    """Words below a plot; every second can be left out where there is little room."""
    return "".join(
        f'<span class="{"odd" if index % 2 else "even"}{" end" * (time.share(at) > 0.97)}" '
        f'style="left:{100 * time.share(at):.2f}%">{label}</span>'
        for index, (at, label) in enumerate(time.labels)
    )


def _spoken(plot: Plot) -> str:
    names = ", ".join(series.name for series in plot.series)
    return f"{plot.title} in {plot.axis.unit} over time: {names}"
