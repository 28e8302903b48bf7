"""Which plots a run has: rows, executors, nodes of its regions, load, and energy."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import numpy as np

from penstock.core.errors import SettingError
from penstock.core.signals import Tick
from penstock.core.units import parse_duration
from penstock.core.words import duration, percent, short_number
from penstock.record.acts import Act, Change, acts
from penstock.record.load import Run
from penstock.record.measures import (
    column,
    finite,
    modules,
    observed,
    regions,
    reporting,
    total,
    watts,
)
from penstock.report.figures import (
    Plot,
    Series,
    by_module,
    colour,
    lines,
    marked,
    marks,
    over_time,
    stretches,
    thin,
)
from penstock.report.interference import stretch

_POINTS: Final = 45_000
"""On the whole page, so that it opens at once on a phone."""


def plots(run: Run) -> dict[str, tuple[Plot, ...]]:
    """The plots of a run under their headings, thinned; none for a run without ticks."""
    if not run.ticks:
        return {}
    groups = {
        "Rows": _rows(run),
        "Executors": _shaded(run, _executors(run)),
        "Nodes": _regions(run),
        "Load": _shaded(run, _load(run)),
        "Energy": _energy(run),
    }
    groups = {title: group for title, group in groups.items() if group}
    series = [line for group in groups.values() for plot in group for line in plot.series]
    curves = sum(not line.stepped for line in series)
    most = max(200, min(1500, _POINTS // max(1, curves)))

    def thinned(plot: Plot) -> Plot:
        return replace(plot, series=tuple(thin(line, most) for line in plot.series))

    return {title: tuple(map(thinned, group)) for title, group in groups.items()}


def _shaded(run: Run, plots: Sequence[Plot]) -> tuple[Plot, ...]:
    """The plots, each that has a line with the stretch of load from outside as a band."""
    during = stretch(run)
    return tuple(replace(plot, during=during) if plot.series else plot for plot in plots)


def _rows(run: Run) -> tuple[Plot, ...]:
    """What the user feels: rates, backlog and latency; windows where they are counted."""
    ticks, promised = run.ticks, run.settings.slo_latency_p95
    kinds = (("arrival", "c1 wide"), ("processed", "c2"))
    rates = [
        over_time(
            run,
            f"Rate at {source}",
            "rows/s",
            lines(
                ticks,
                ((name, style, column(ticks, source, f"{name}_rate")) for name, style in kinds),
                empty=True,
            ),
        )
        for source in run.settings.graph.sources
    ]
    quantiles = (("p50", "c3 light"), ("p95", "c1 strong"), ("p99", "c4 light"))
    curves = ((name, style, observed(ticks, "latency", name)) for name, style in quantiles)
    latency = over_time(run, "Latency, end to end", "s", lines(ticks, curves, empty=True))
    if promised is not None:
        limit = (promised, f"SLO for p95: {duration(promised)}")
        broken = stretches(ticks, observed(ticks, "latency", "p95") > promised)
        latency = replace(latency, limit=limit, bands=broken)
    return (*rates, over_time(run, "Backlog", "rows", _backlog(ticks)), latency, *_windows(run))


def _backlog(ticks: Sequence[Tick]) -> tuple[Series, ...]:
    columns, each = reporting(ticks, "backlog"), by_module(ticks, "backlog")
    if len(columns) < 2:
        return each
    return (*lines(ticks, [("in all", "ink", total(columns, len(ticks)))], empty=True), *each)


def _windows(run: Run) -> tuple[Plot, ...]:
    """Windows a second, with those that there should be; none where they were not counted."""
    series = by_module(run.ticks, "results_rate")
    if not series:
        return ()
    every = slide(run.settings.file)
    limit = every and (1 / every, f"one a slide: {short_number(1 / every)}/s")
    return (over_time(run, "Windows", "windows/s", series, limit=limit),)


def _executors(run: Run) -> tuple[Plot, ...]:
    """A plot for each module, its decisions marked, and how it splits panes, where it does."""
    ticks, made = run.ticks, tuple(acts(run.ticks, run.settings.graph))
    kinds = (("wanted", "ink halo"), ("requested", "c2"), ("running", "c1 fill"))
    each: list[Plot] = []
    for name in modules(ticks):
        counts = ((kind, style, column(ticks, name, kind)) for kind, style in kinds)
        decided = marks(ticks, made, _direction("degrees", name))
        each.append(_low(run, name, "executors", lines(ticks, counts, stepped=True), marks=decided))
        parts = lines(ticks, [("parts a pane", "c3", column(ticks, name, "splitting"))])
        each += [_low(run, f"{name}, splitting factor", "parts a pane", parts)] if parts else []
    pool = lines(ticks, [("running", "c1 fill", observed(ticks, "pool"))], stepped=True)
    if not pool:
        return tuple(each)
    shared = _low(run, "Shared by all modules", "executors", pool)
    return (shared, *(plot for plot in each if plot.series))


def _low(run: Run, title: str, unit: str, series: Sequence[Series], **more: Any) -> Plot:
    return over_time(run, title, unit, series, style="low", **more)


def _direction(of: str, name: str) -> Callable[[Act], str | None]:
    """How an act changes a module or a region; keys alone count as moved."""

    def direction(act: Act) -> str | None:
        changes: Mapping[str, Change] = getattr(act, of)
        if name in changes:
            return changes[name].direction
        return "moved" if of == "degrees" and name in act.rerouted else None

    return direction


def _regions(run: Run) -> tuple[Plot, ...]:
    """A plot for each region, and one of how busy they are; none where there are no regions."""
    ticks, made, names = run.ticks, tuple(acts(run.ticks, run.settings.graph)), regions(run.ticks)
    kinds = (
        ("wanted", "wanted", "ink halo"),
        ("requested", "requested", "c2"),
        ("nodes", "running", "c1 fill"),
        ("idle", "idle", "c3 d1"),
    )
    each: list[Plot] = []
    for name in names:
        nodes = observed(ticks, "regions", name, "nodes")
        counts = ((word, style, observed(ticks, "regions", name, k)) for k, word, style in kinds)
        lacking = observed(ticks, "regions", name, "unmet") > 0
        decided = marks(ticks, made, _direction("nodes", name))
        unmet = marked(ticks, ["unmet" if lacks else None for lacks in lacking])
        each.append(
            _low(
                run,
                name,
                "nodes",
                lines(ticks, counts, stepped=True),
                marks=(*decided, *unmet),
                bands=stretches(ticks, np.isnan(nodes)),
                bands_words="no answer",
            )
        )
    busy = lines(
        ticks,
        (
            (name, colour(index), observed(ticks, "regions", name, "utilisation"))
            for index, name in enumerate(names)
        ),
    )
    return (*each, *([over_time(run, "Utilisation by region", "%", busy)] if busy else []))


def _load(run: Run) -> tuple[Plot, ...]:
    """How busy the modules are, and where it was measured the load of every stage."""
    loads = by_module(run.ticks, "load")
    aim = setpoint(run.settings.file) if loads else None
    limit = None if aim is None else (aim, f"setpoint: {percent(aim, 'fine')}")
    return (
        *([over_time(run, "Load", "%", loads, limit=limit)] if loads else []),
        over_time(run, "Utilisation", "%", by_module(run.ticks, "utilisation")),
        over_time(run, "Batch duration", "s", by_module(run.ticks, "batch_duration")),
    )


def _energy(run: Run) -> tuple[Plot, ...]:
    """A plot of the GHz and one of the watts, where there are any; what is modelled says so."""
    ticks = run.ticks
    power = lines(
        ticks,
        [
            ("measured", "c1", watts(ticks, modelled=False)),
            ("modelled", "c2 d1", watts(ticks, modelled=True)),
        ],
    )
    # The record does not mark a modelled clock, but only a real one comes with measured watts.
    name = "modelled" if [line.name for line in power] == ["modelled"] else "in force"
    ghz = lines(ticks, [(name, "c1 fill", finite(observed(ticks, "frequency")))], stepped=True)
    turns = marks(ticks, acts(ticks), lambda act: act.clock.direction if act.clock else None)
    return (
        *([_low(run, "Clock", "GHz", ghz, marks=turns)] if ghz else []),
        *([over_time(run, "Power", "W", power)] if power else []),
    )


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
