"""Which plots a run has: its modules, clock and power, and the load of its stages."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from penstock.core.errors import SettingError
from penstock.core.signals import Tick
from penstock.core.units import parse_duration
from penstock.core.words import duration, percent, short_number
from penstock.record.acts import Act, acts
from penstock.record.load import Run
from penstock.record.measures import (
    column,
    finite,
    modules,
    observed,
    reporting,
    times,
    total,
    watts,
)
from penstock.report.figures import Plot, Series, by_module, marks, over_time, stretches, thin
from penstock.report.interference import shaded
from penstock.report.regions import regions

# The clock and the power of a run as plots; what comes from the model says so.


def energy(run: Run) -> tuple[Plot, ...]:
    """A plot of the GHz and one of the watts, each where there are any."""
    return (*_clock(run), *_power(run))


def _clock(run: Run) -> tuple[Plot, ...]:
    ghz = finite(observed(run.ticks, "frequency"))
    if np.isnan(ghz).all():
        return ()
    # The record does not mark a modelled clock, but only a real one comes with measured watts.
    modelled = np.isnan(watts(run.ticks, modelled=False)).all() and _any(run, modelled=True)
    name = "modelled" if modelled else "in force"
    line = Series(name=name, style="c1 fill", at=times(run.ticks), values=ghz, stepped=True)
    decisions = marks(run.ticks, tuple(acts(run.ticks)), _turn)
    return (over_time(run, "Clock", "GHz", (line,), style="low", marks=decisions),)


def _turn(act: Act) -> str | None:
    return act.clock.direction if act.clock else None


def _power(run: Run) -> tuple[Plot, ...]:
    kinds = (("measured", "c1", False), ("modelled", "c2 d1", True))
    lines = tuple(
        Series(name=name, style=style, at=times(run.ticks), values=watts(run.ticks, modelled=which))
        for name, style, which in kinds
        if _any(run, modelled=which)
    )
    return (over_time(run, "Power", "W", lines),) if lines else ()


def _any(run: Run, *, modelled: bool) -> bool:
    return not np.isnan(watts(run.ticks, modelled=modelled)).all()


# The two levels that keep a pipeline of panes in time, as plots: how loaded its stages are, how
# finely panes are split, and whether windows come as often as they are asked for.


def load(run: Run) -> tuple[Plot, ...]:
    """The load of every stage, with the setpoint of the policy; none where it was not measured."""
    if not reporting(run.ticks, "load"):
        return ()
    plot = over_time(run, "Load", "%", by_module(run.ticks, "load"))
    wanted = setpoint(run.settings.file)
    if wanted is None:
        return (plot,)
    return (replace(plot, limit=(wanted, f"setpoint: {percent(wanted, 'fine')}")),)


def splitting(run: Run, module: str) -> tuple[Plot, ...]:
    """Parts that a pane of the module was split into; none where it splits no panes."""
    parts = column(run.ticks, module, "splitting")
    if np.isnan(parts).all():
        return ()
    line = Series(name="parts a pane", style="c3", at=times(run.ticks), values=parts)
    return (over_time(run, f"{module}, splitting factor", "parts a pane", (line,), style="low"),)


def windows(run: Run) -> tuple[Plot, ...]:
    """Windows a second, with those that there should be; none where they were not counted."""
    if not reporting(run.ticks, "results_rate"):
        return ()
    plot = over_time(run, "Windows", "windows/s", by_module(run.ticks, "results_rate"))
    every = slide(run.settings.file)
    if every is None:
        return (plot,)
    return (replace(plot, limit=(1 / every, f"one a slide: {short_number(1 / every)}/s")),)


def setpoint(file: Mapping[str, object]) -> float | None:
    """The load at which the policy of a resolved file aims; None where it does not aim at any.

    >>> setpoint({"policy": {"name": "any", "setpoint": 0.7}}), setpoint({"policy": "static"})
    (0.7, None)
    """
    from penstock.policy import POLICIES  # seldom needed, and slow to load

    policy = file.get("policy")
    given = policy if isinstance(policy, Mapping) else {"name": policy}
    kind = None
    with suppress(SettingError):  # a plug-in that is not installed here
        kind = POLICIES.get(str(given.get("name")))
    aim = given.get("setpoint", getattr(kind, "setpoint", None))
    return float(aim) if isinstance(aim, int | float) else None


def slide(file: Mapping[str, object]) -> float | None:
    """Seconds between two windows of a resolved file; None where it has no query.

    >>> slide({"query": {"slide": "0.2s"}}), slide({})
    (0.2, None)
    """
    query = file.get("query")
    try:
        every = parse_duration(query.get("slide")) if isinstance(query, Mapping) else 0.0
    except SettingError:
        return None
    return every or None


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
    groups = {title: members for title, members in groups.items() if members}
    lines = [series for group in groups.values() for plot in group for series in plot.series]
    curves = sum(not series.stepped for series in lines)
    most = max(200, min(1500, _POINTS // max(1, curves)))
    return {
        title: tuple(_thinned(plot, most) for plot in members) for title, members in groups.items()
    }


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
        Series(name=quantile, style=style, at=at, values=observed(run.ticks, "latency", quantile))
        for quantile, style in (("p50", "c3 light"), ("p95", "c1 strong"), ("p99", "c4 light"))
    )
    plot = over_time(run, "Latency, end to end", "s", lines)
    promised = run.settings.slo_latency_p95
    if promised is None:
        return plot
    words = f"SLO for p95: {duration(promised)}"
    return replace(plot, limit=(promised, words), bands=_broken(run.ticks, promised))


def _broken(ticks: Sequence[Tick], promised: float) -> tuple[tuple[float, float], ...]:
    """Spans in which the promise was broken."""
    p95 = observed(ticks, "latency", "p95")
    return stretches(ticks, (p95 > promised).tolist())


def _executors(run: Run) -> tuple[Plot, ...]:
    """A plot for each module, its decisions marked, and how it splits panes, where it does."""
    made = tuple(acts(run.ticks, run.settings.graph))
    by_module = tuple(
        plot
        for name in modules(run.ticks)
        for plot in (_degree(run, name, made), *splitting(run, name))
    )
    if np.isnan(shared := observed(run.ticks, "pool")).all():
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
        return act.degrees[module].direction
    return "moved" if module in act.rerouted else None


def _load(run: Run) -> tuple[Plot, ...]:
    """How busy the modules are."""
    return (
        *load(run),
        over_time(run, "Utilisation", "%", by_module(run.ticks, "utilisation")),
        over_time(run, "Batch duration", "s", by_module(run.ticks, "batch_duration")),
    )
