"""Which plots a run has."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from penstock.core.signals import Tick
from penstock.record.load import Run
from penstock.record.measures import (
    Change,
    Column,
    changes,
    column,
    latencies,
    modules,
    reporting,
    times,
    total,
)
from penstock.report.plot import Mark, Plot
from penstock.report.scales import Axis, axis, duration, time_axis, wide_axis
from penstock.report.series import Series, thin

_POINTS: Final = 45_000
"""On the whole page, so that it opens at once on a phone."""
_COLOURS: Final = 6
_WIDE: Final = 20.0  # highest over median, from which a plain scale would show a flat line
_MARKS: Final = 250  # across a plot; more would touch


def plots(run: Run) -> dict[str, tuple[Plot, ...]]:
    """The plots of a run under their headings, thinned; none for a run without ticks."""
    if not run.ticks:
        return {}
    groups = {"Rows": _flow(run), "Executors": _executors(run), "Load": _load(run)}
    lines = [series for group in groups.values() for plot in group for series in plot.series]
    curves = sum(not series.stepped for series in lines)
    most = max(200, min(1500, _POINTS // max(1, curves)))
    return {title: tuple(_thinned(plot, most) for plot in found) for title, found in groups.items()}


def _thinned(plot: Plot, most: int) -> Plot:
    return replace(plot, series=tuple(thin(series, most) for series in plot.series))


def colour(index: int) -> str:
    """The style of the module at that place: six colours, then the same ones dashed."""
    return f"c{index % _COLOURS + 1} d{index // _COLOURS % 3}"


def span(ticks: Sequence[Tick]) -> Axis:
    """The time axis that every plot of a run shares."""
    return time_axis(ticks[0].seen.at - ticks[0].seen.step, ticks[-1].seen.at)


def _flow(run: Run) -> tuple[Plot, ...]:
    """What the user feels: rates, backlog and latency."""
    at = times(run.ticks)
    source = run.settings.graph.source
    rates = tuple(
        Series(name=name, style=style, at=at, values=column(run.ticks, source, f"{name}_rate"))
        for name, style in (("arrival", "c1 wide"), ("processed", "c2"))
    )
    return (
        _plot(run, f"Rate at {source}", "rows/s", rates),
        _plot(run, "Backlog", "rows", _backlog(run.ticks)),
        _latency(run),
    )


def _backlog(ticks: Sequence[Tick]) -> tuple[Series, ...]:
    columns = reporting(ticks, "backlog")
    lines = _by_module(ticks, "backlog")
    if len(columns) < 2:
        return lines
    everything = total(columns, len(ticks))
    return (Series(name="in all", style="ink", at=times(ticks), values=everything), *lines)


def _latency(run: Run) -> Plot:
    at = times(run.ticks)
    lines = tuple(
        Series(name=quantile, style=style, at=at, values=latencies(run.ticks, quantile))
        for quantile, style in (("p50", "c3 light"), ("p95", "c1 strong"), ("p99", "c4 light"))
    )
    plot = _plot(run, "Latency, end to end", "s", lines)
    promised = run.settings.slo_latency_p95
    if promised is None:
        return plot
    return replace(
        plot,
        axis=_axis("s", [*(line.values for line in lines), np.array([promised])]),
        limit=(promised, f"SLO for p95: {duration(promised)}"),
        bands=_broken(run.ticks, promised),
    )


def _broken(ticks: Sequence[Tick], promised: float) -> tuple[tuple[float, float], ...]:
    """Spans in which the promise was broken, neighbours joined."""
    joined: list[tuple[float, float]] = []
    apart = (ticks[-1].seen.at - ticks[0].seen.at) / 1000
    for seen in (tick.seen for tick in ticks):
        if seen.latency is None or seen.latency.p95 <= promised:
            continue
        start = seen.at - seen.step
        if joined and start - joined[-1][1] <= apart:
            start = joined.pop()[0]
        joined.append((start, seen.at))
    return tuple(joined)


def _executors(run: Run) -> tuple[Plot, ...]:
    """A plot for each module, its decisions marked."""
    kinds = (("wanted", "ink halo"), ("requested", "c2"), ("running", "c1 fill"))
    changed = tuple(changes(run.ticks))
    at = times(run.ticks)
    return tuple(
        _plot(
            run,
            name,
            "executors",
            tuple(
                Series(name=kind, style=style, at=at, values=values, stepped=True)
                for kind, style in kinds
                if not np.isnan(values := column(run.ticks, name, kind)).all()
            ),
            style="low",
            marks=_marks(run.ticks, changed, name),
        )
        for name in modules(run.ticks)
    )


def _marks(
    ticks: Sequence[Tick], changed: Sequence[Sequence[Change]], module: str
) -> tuple[Mark, ...]:
    time = span(ticks)
    seen: dict[tuple[int, str], Mark] = {}
    for tick, made in zip(ticks, changed, strict=True):
        for kind in (_kind(change) for change in made if change.module == module):
            place = (round(_MARKS * time.share(tick.seen.at)), kind)
            seen.setdefault(place, Mark(at=tick.seen.at, kind=kind))
    return tuple(seen.values())


def _kind(change: Change) -> str:
    if change.grows:
        return "out"
    return "in" if change.shrinks else "set"


def _load(run: Run) -> tuple[Plot, ...]:
    """How busy the modules are."""
    return (
        _plot(run, "Utilisation", "%", _by_module(run.ticks, "utilisation")),
        _plot(run, "Batch duration", "s", _by_module(run.ticks, "batch_duration")),
    )


def _by_module(ticks: Sequence[Tick], metric: str) -> tuple[Series, ...]:
    at = times(ticks)
    columns: Mapping[str, Column] = reporting(ticks, metric)
    return tuple(
        Series(name=name, style=colour(index), at=at, values=columns[name])
        for index, name in enumerate(modules(ticks))
        if name in columns
    )


def _axis(unit: str, columns: Sequence[Column]) -> Axis:
    """Seconds that differ too much for one scale, as in a slow start, get one of decades."""
    values = np.concatenate([*columns, np.empty(0)])
    known = values[~np.isnan(values)]
    highest = float(known.max()) if known.size else 0.0
    above = known[known > 0]
    if unit == "s" and above.size and highest > _WIDE * np.median(above):
        return wide_axis(float(np.quantile(above, 0.001)), highest)
    return axis(unit, highest)


def _plot(
    run: Run,
    title: str,
    unit: str,
    series: tuple[Series, ...],
    *,
    style: str = "",
    marks: tuple[Mark, ...] = (),
) -> Plot:
    return Plot(
        title=title,
        time=span(run.ticks),
        axis=_axis(unit, [line.values for line in series]),
        series=series,
        form=unit,
        style=style,
        marks=marks,
    )
