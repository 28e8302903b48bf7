"""Which plots a run has."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from penstock.core.signals import Tick
from penstock.record.acts import Act, acts
from penstock.record.load import Run
from penstock.record.measures import (
    column,
    latencies,
    modules,
    pools,
    reporting,
    times,
    total,
)
from penstock.report.energy import energy
from penstock.report.interference import shaded
from penstock.report.levels import load, splitting, windows
from penstock.report.over_time import by_module, direction, limited, marks, over_time, stretches
from penstock.report.plot import Plot
from penstock.report.regions import regions
from penstock.report.scales import duration
from penstock.report.series import Series, thin

_POINTS: Final = 45_000
"""On the whole page, so that it opens at once on a phone."""


def plots(run: Run) -> dict[str, tuple[Plot, ...]]:
    """The plots of a run under their headings, thinned; none for a run without ticks."""
    if not run.ticks:
        return {}
    groups = {
        "Rows": _flow(run),
        "Executors": shaded(run, _executors(run)),
        "Nodes": regions(run),
        "Load": shaded(run, _load(run)),
        "Energy": energy(run),
    }
    groups = {title: found for title, found in groups.items() if found}
    lines = [series for group in groups.values() for plot in group for series in plot.series]
    curves = sum(not series.stepped for series in lines)
    most = max(200, min(1500, _POINTS // max(1, curves)))
    return {title: tuple(_thinned(plot, most) for plot in found) for title, found in groups.items()}


def _thinned(plot: Plot, most: int) -> Plot:
    return replace(plot, series=tuple(thin(series, most) for series in plot.series))


def _flow(run: Run) -> tuple[Plot, ...]:
    """What the user feels: rates, backlog and latency."""
    return (
        *(_rates(run, source) for source in run.settings.graph.sources),
        over_time(run, "Backlog", "rows", _backlog(run.ticks)),
        _latency(run),
        *windows(run),
    )


def _rates(run: Run, source: str) -> Plot:
    at = times(run.ticks)
    rates = tuple(
        Series(name=name, style=style, at=at, values=column(run.ticks, source, f"{name}_rate"))
        for name, style in (("arrival", "c1 wide"), ("processed", "c2"))
    )
    return over_time(run, f"Rate at {source}", "rows/s", rates)


def _backlog(ticks: Sequence[Tick]) -> tuple[Series, ...]:
    columns = reporting(ticks, "backlog")
    lines = by_module(ticks, "backlog")
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
    plot = over_time(run, "Latency, end to end", "s", lines)
    promised = run.settings.slo_latency_p95
    if promised is None:
        return plot
    plot = limited(plot, promised, f"SLO for p95: {duration(promised)}")
    return replace(plot, bands=_broken(run.ticks, promised))


def _broken(ticks: Sequence[Tick], promised: float) -> tuple[tuple[float, float], ...]:
    """Spans in which the promise was broken."""
    p95 = latencies(ticks, "p95")
    return stretches(ticks, (p95 > promised).tolist())


def _executors(run: Run) -> tuple[Plot, ...]:
    """A plot for each module, its decisions marked, and how it splits panes, where it does."""
    made = tuple(acts(run.ticks, run.settings.graph))
    by_module = tuple(
        plot
        for name in modules(run.ticks)
        for plot in (_degree(run, name, made), *splitting(run, name))
    )
    if np.isnan(shared := pools(run.ticks)).all():
        return by_module
    at = times(run.ticks)
    line = Series(name="running", style="c1 fill", at=at, values=shared, stepped=True)
    everyone = over_time(run, "Shared by all modules", "executors", (line,), style="low")
    return (everyone, *(plot for plot in by_module if plot.series))


def _degree(run: Run, name: str, made: Sequence[Act]) -> Plot:
    kinds = (("wanted", "ink halo"), ("requested", "c2"), ("running", "c1 fill"))
    at = times(run.ticks)
    lines = tuple(
        Series(name=kind, style=style, at=at, values=values, stepped=True)
        for kind, style in kinds
        if not np.isnan(values := column(run.ticks, name, kind)).all()
    )
    decisions = marks(run.ticks, made, partial(_kind, name))
    return over_time(run, name, "executors", lines, style="low", marks=decisions)


def _kind(module: str, act: Act) -> str | None:
    if module in act.degrees:
        return direction(act.degrees[module])
    return "moved" if module in act.rerouted else None


def _load(run: Run) -> tuple[Plot, ...]:
    """How busy the modules are."""
    return (
        *load(run),
        over_time(run, "Utilisation", "%", by_module(run.ticks, "utilisation")),
        over_time(run, "Batch duration", "s", by_module(run.ticks, "batch_duration")),
    )
