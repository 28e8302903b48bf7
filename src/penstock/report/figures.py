"""Figures as data: pages embed them as JSON, and `web/plot.js` draws them.

The script describes the format. Here a `Plot` is lines over the time of a run, and `chart_data` and
`scatter_data` are figures of an experiment; series are thinned so that a page stays small.

>>> line = Series(name="rows", style="c1", at=np.array([0.0, 5.0]), values=np.array([1.0, np.nan]))
>>> data = plot_data(Plot(title="Backlog", unit="rows", start=0.0, end=5.0, series=(line,)))
>>> data["title"], data["x"]["to"], data["series"][0]["y"]
('Backlog', 5.0, [1.0, None])
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.core.signals import Tick
from penstock.experiment.results import Chart
from penstock.record.acts import Act
from penstock.record.load import Run
from penstock.record.measures import Column, modules, reporting, times

_MOST_POINTS: Final = 900
"""Of one line of a chart."""
_MOST_MARKS: Final = 250
"""Across a plot; more would touch."""
_COLOURS: Final = 6


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


class Mark(NamedTuple):
    """A decision that changed a module, a region or the clock, or a step that lacked nodes."""

    at: float
    kind: str
    """`out` for more, `in` for less, `moved` for keys alone, `set` where it cannot be said, `unmet`
    for replicas that found no room."""


class Span(NamedTuple):
    """A stretch of time in which something else went on."""

    start: float
    end: float
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Lines over the time of a run."""

    title: str
    unit: str
    """`s`, `%`, `executors`, or what is counted: it chooses the axis and how values are written."""
    start: float
    end: float
    series: tuple[Series, ...]
    limit: tuple[float, str] | None = None
    """A promise, as a line across, and its words."""
    bands: tuple[tuple[float, float], ...] = ()
    """Spans of time in which the promise was broken, or nothing was heard."""
    bands_words: str = ""
    """What the bands say, where no limit says it."""
    during: Span | None = None
    """A stretch that explains the lines, as a band with its words."""
    marks: tuple[Mark, ...] = ()
    style: str = ""


def plot_data(plot: Plot) -> dict[str, Any]:
    """A plot over time; all of them share one crosshair."""
    limit, during = plot.limit, plot.during
    return {
        "title": plot.title,
        "unit": plot.unit,
        "group": "run",
        "style": plot.style,
        "x": {"scale": "time", "from": plot.start, "to": plot.end},
        "series": [_series_data(line) for line in plot.series],
        "limit": limit and {"value": limit[0], "words": limit[1]},
        "bands": plot.bands,
        "bands_words": plot.bands_words,
        "during": during and {"from": during.start, "to": during.end, "words": during.words},
        "marks": plot.marks,
    }


def _series_data(line: Series) -> dict[str, Any]:
    return {
        "name": line.name,
        "style": line.style,
        "x": [float(f"{at:.7g}") for at in line.at],
        "y": _rounded(line.values, digits=4),
        "stepped": line.stepped,
    }


def _rounded(values: Column, digits: int) -> list[float | None]:
    return [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in values]


# Plots over the time of a run.


def over_time(run: Run, title: str, unit: str, series: Iterable[Series], **more: Any) -> Plot:
    """The series as a plot; `more` is what else a plot has."""
    start, end = span(run.ticks)
    return Plot(title=title, unit=unit, start=start, end=end, series=tuple(series), **more)


def span(ticks: Sequence[Tick]) -> tuple[float, float]:
    """From the beginning of the first step to the end of the last."""
    return ticks[0].seen.at - ticks[0].seen.step, ticks[-1].seen.at


def lines(
    ticks: Sequence[Tick],
    columns: Iterable[tuple[str, str, Column]],
    *,
    stepped: bool = False,
    empty: bool = False,
) -> tuple[Series, ...]:
    """A line for each name, style and column; those without a value only where `empty`."""
    at = times(ticks)
    return tuple(
        Series(name=name, style=style, at=at, values=values, stepped=stepped)
        for name, style, values in columns
        if empty or not np.isnan(values).all()
    )


def by_module(ticks: Sequence[Tick], metric: str) -> tuple[Series, ...]:
    """A line for each module that ever reports the metric."""
    columns, names = reporting(ticks, metric), modules(ticks)
    return lines(ticks, ((name, colour(names.index(name)), columns[name]) for name in columns))


def colour(index: int) -> str:
    """The style of the module at that place: six colours, then the same ones dashed."""
    return f"c{index % _COLOURS + 1} d{index // _COLOURS % 3}"


def marks(
    ticks: Sequence[Tick], made: Iterable[Act], kind: Callable[[Act], str | None]
) -> tuple[Mark, ...]:
    """A mark for each act that is of some kind."""
    return marked(ticks, map(kind, made))


def marked(ticks: Sequence[Tick], kinds: Iterable[str | None]) -> tuple[Mark, ...]:
    """A mark for each step of some kind, one where many would touch."""
    start, end = span(ticks)
    by_place: dict[tuple[int, str], Mark] = {}
    for tick, kind in zip(ticks, kinds, strict=True):
        if kind is not None:
            place = round(_MOST_MARKS * (tick.seen.at - start) / (end - start))
            by_place.setdefault((place, kind), Mark(tick.seen.at, kind))
    return tuple(by_place.values())


def stretches(ticks: Sequence[Tick], inside: Iterable[bool]) -> tuple[tuple[float, float], ...]:
    """Spans of the steps that are inside, from start to end, neighbours joined."""
    joined: list[tuple[float, float]] = []
    apart = (ticks[-1].seen.at - ticks[0].seen.at) / 1000
    for seen in (tick.seen for tick, within in zip(ticks, inside, strict=True) if within):
        start = seen.at - seen.step
        if joined and start - joined[-1][1] <= apart:
            start = joined.pop()[0]
        joined.append((start, seen.at))
    return tuple(joined)


# Lines with fewer points that look the same: no peak and no gap is lost.


def thin(series: Series, most: int) -> Series:
    """The same picture with about as many points as asked for.

    >>> flat = Series(name="n", style="", at=np.arange(9.0), values=np.ones(9), stepped=True)
    >>> thin(flat, 100).at
    array([0., 8.])
    """
    slim = _kept(series, _turns(series.values)) if series.stepped else series
    return slim if len(slim.at) <= most else _kept(slim, _extremes(slim.values, max(1, most // 3)))


def _kept(series: Series, index: NDArray[np.intp]) -> Series:
    return replace(series, at=series.at[index], values=series.values[index])


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
        if gaps[stretch].any():  # with the values on both sides, so that it looks no wider
            first = start + int(np.argmax(gaps[stretch]))
            kept |= {max(0, first - 1), first, first + int(np.argmin(gaps[first:]))}
        if not gaps[stretch].all():
            kept |= {start + int(np.nanargmin(part)), start + int(np.nanargmax(part))}
    return np.array(sorted(kept), dtype=np.intp)


# Figures of an experiment.


def chart_data(chart: Chart) -> dict[str, Any]:
    """Curves over anything that is counted, or bars."""
    about = {"title": chart.title, "unit": chart.y}
    if chart.names:
        bars = [
            {"name": line.name, "style": _plain_colour(index), "y": _rounded(line.y, digits=7)}
            for index, line in enumerate(chart.lines)
        ]
        return {**about, "names": chart.names, "series": bars}
    x = np.concatenate([line.x for line in chart.lines])
    scale = "log" if "x" in chart.wide else "time" if chart.x == "s" else "linear"
    return {
        **about,
        "x": {"scale": scale, "unit": chart.x, "from": float(x.min()), "to": float(x.max())},
        "y": "log" if "y" in chart.wide else "chart",
        "series": [_line_data(chart, index) for index in range(len(chart.lines))],
    }


def _plain_colour(index: int) -> str:
    return f"c{index % _COLOURS + 1}"


def _line_data(chart: Chart, index: int) -> dict[str, Any]:
    """A curve; of stepped ones, which may lie upon each other, the first are drawn broad."""
    line, broad = chart.lines[index], chart.stepped and index < len(chart.lines) - 1
    order = np.argsort(line.x)
    series = Series(
        name=line.name,
        style=f"{_plain_colour(index)}{' wide' * broad}",
        at=line.x[order],
        values=line.y[order],
        stepped=chart.stepped,
    )
    return _series_data(thin(series, _MOST_POINTS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A point with its name; the halves of its intervals are 0 where unknown."""

    name: str
    style: str
    x: float
    y: float
    x_half: float = 0.0
    y_half: float = 0.0


def scatter_data(title: str, points: Sequence[Point], *, x: str, y: str) -> dict[str, Any]:
    """Points with intervals both ways; `x` and `y` are the units."""
    most = max((point.x + point.x_half for point in points), default=1.0)
    return {
        "title": title,
        "unit": y,
        "x": {"scale": "linear", "unit": x, "from": 0.0, "to": most},
        "y": "chart",
        "points": [asdict(point) for point in points],
    }
