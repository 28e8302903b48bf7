"""A plot over the time of a run: the axis that all plots share, and the decisions marked on it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from penstock.core.signals import Tick
from penstock.record.acts import Act
from penstock.record.load import Run
from penstock.record.measures import Column, modules, reporting, times
from penstock.report.plot import Mark, Plot, Series
from penstock.report.scales import Axis, axis, time_axis, wide_axis

_WIDE: Final = 20.0  # highest over median, from which a plain scale would show a flat line
_MARKS: Final = 250  # across a plot; more would touch
_COLOURS: Final = 6


def over_time(
    run: Run,
    title: str,
    unit: str,
    series: tuple[Series, ...],
    *,
    style: str = "",
    marks: tuple[Mark, ...] = (),
) -> Plot:
    """The series as a plot, on an axis in which the highest value has room."""
    return Plot(
        title=title,
        time=span(run.ticks),
        axis=fitting_axis(unit, [line.values for line in series]),
        series=series,
        form=unit,
        style=style,
        marks=marks,
    )


def limited(plot: Plot, limit: float, words: str) -> Plot:
    """The plot with a line across, for which there is room whatever the values."""
    columns = [*(line.values for line in plot.series), np.array([limit])]
    return replace(plot, axis=fitting_axis(plot.form, columns), limit=(limit, words))


def by_module(ticks: Sequence[Tick], metric: str) -> tuple[Series, ...]:
    """A line for each module that ever reports the metric."""
    columns, at = reporting(ticks, metric), times(ticks)
    return tuple(
        Series(name=name, style=colour(index), at=at, values=columns[name])
        for index, name in enumerate(modules(ticks))
        if name in columns
    )


def colour(index: int) -> str:
    """The style of the module at that place: six colours, then the same ones dashed."""
    return f"c{index % _COLOURS + 1} d{index // _COLOURS % 3}"


def span(ticks: Sequence[Tick]) -> Axis:
    """The time axis that every plot of a run shares."""
    return time_axis(ticks[0].seen.at - ticks[0].seen.step, ticks[-1].seen.at)


def fitting_axis(unit: str, columns: Sequence[Column]) -> Axis:
    """Seconds that differ too much for one scale, as in a slow start, get one of decades."""
    values = np.concatenate([*columns, np.empty(0)])
    known = values[~np.isnan(values)]
    highest = float(known.max()) if known.size else 0.0
    above = known[known > 0]
    if unit == "s" and above.size and highest > _WIDE * np.median(above):
        return wide_axis(float(np.quantile(above, 0.001)), highest)
    return axis(unit, highest)


def marks(
    ticks: Sequence[Tick], made: Sequence[Act], kind: Callable[[Act], str | None]
) -> tuple[Mark, ...]:
    """A mark for each act that is of some kind."""
    return marked(ticks, [kind(act) for act in made])


def marked(ticks: Sequence[Tick], kinds: Sequence[str | None]) -> tuple[Mark, ...]:
    """A mark for each step of some kind, one where many would touch."""
    time = span(ticks)
    seen: dict[tuple[int, str], Mark] = {}
    for tick, kind in zip(ticks, kinds, strict=True):
        if kind is not None:
            place = (round(_MARKS * time.share(tick.seen.at)), kind)
            seen.setdefault(place, Mark(at=tick.seen.at, kind=kind))
    return tuple(seen.values())


def stretches(ticks: Sequence[Tick], inside: Sequence[bool]) -> tuple[tuple[float, float], ...]:
    """Spans of the steps that are inside, from start to end, neighbours joined."""
    joined: list[tuple[float, float]] = []
    apart = (ticks[-1].seen.at - ticks[0].seen.at) / 1000
    for seen in (tick.seen for tick, within in zip(ticks, inside, strict=True) if within):
        start = seen.at - seen.step
        if joined and start - joined[-1][1] <= apart:
            start = joined.pop()[0]
        joined.append((start, seen.at))
    return tuple(joined)
