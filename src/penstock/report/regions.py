"""Regions of a run as plots: nodes wanted, running and idle, and steps that lacked some."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from penstock.core.signals import Tick
from penstock.core.words import clock, count_of, joined
from penstock.record.acts import Act, acts
from penstock.record.load import Run
from penstock.record.measures import observed, times
from penstock.record.measures import regions as names
from penstock.report.figures import (
    Plot,
    Series,
    colour,
    marked,
    marks,
    over_time,
    span,
    stretches,
)

_KINDS: Final = (
    ("wanted", "wanted", "ink halo"),
    ("requested", "requested", "c2"),
    ("nodes", "running", "c1 fill"),
    ("idle", "idle", "c3 d1"),
)
_MOST_SPANS: Final = 3
_MOST_TROUBLES: Final = 5


def regions(run: Run) -> tuple[Plot, ...]:
    """A plot for each region, and one of how busy they are; none where there are no regions."""
    made = tuple(acts(run.ticks, run.settings.graph))
    region_names = names(run.ticks)
    return (
        *(_nodes(run, name, made) for name in region_names),
        *(_busy(run) if region_names else ()),
    )


def silences(ticks: Sequence[Tick]) -> Iterator[str]:
    """A sentence for each region that stopped answering: from when until when, and what was said.

    >>> from penstock.core.signals import Configuration, Decision, Observation, RegionReading
    >>> held = Decision(configuration=Configuration(degrees={}), why="as it was")
    >>> readings = (RegionReading(nodes=1), RegionReading(trouble="gone"), RegionReading(nodes=1))
    >>> ticks = [
    ...     Tick(decided=held, asked=None, seen=Observation(
    ...         at=10.0 * n, step=10.0, modules={}, regions={"dc2": reading}
    ...     ))
    ...     for n, reading in enumerate(readings, start=1)
    ... ]
    >>> list(silences(ticks))
    ['dc2 did not answer from 0:10 to 0:20 (gone).']
    """
    for name in names(ticks):
        silent = _silent(ticks, name)
        if any(silent):
            spans = stretches(ticks, silent)
            yield f"{name} did not answer {_when(ticks, spans)}{_said(ticks, name)}."


def troubles(ticks: Sequence[Tick]) -> Iterator[str]:
    """A sentence for each thing that was wrong in a region that answered, with the moment.

    >>> from penstock.core.signals import Configuration, Decision, Observation, RegionReading
    >>> held = Decision(configuration=Configuration(degrees={}), why="as it was")
    >>> lame = RegionReading(nodes=1, trouble="dc2-1 ended and was started again")
    >>> now = Observation(at=25.0, step=5.0, modules={}, regions={"dc2": lame})
    >>> list(troubles([Tick(decided=held, asked=None, seen=now)]))
    ['In dc2 at 0:25: dc2-1 ended and was started again.']
    """
    sentences = [
        f"In {name} at {clock(tick.seen.at)}: {region.trouble}."
        for tick in ticks
        for name, region in tick.seen.regions.items()
        if region.answers and region.trouble
    ]
    yield from sentences[:_MOST_TROUBLES]
    if len(sentences) > _MOST_TROUBLES:
        yield f"There were {len(sentences) - _MOST_TROUBLES:,} more troubles like these."


def _nodes(run: Run, name: str, made: Sequence[Act]) -> Plot:
    at = times(run.ticks)
    lines = tuple(
        Series(name=word, style=style, at=at, values=values, stepped=True)
        for metric, word, style in _KINDS
        if not np.isnan(values := observed(run.ticks, "regions", name, metric)).all()
    )
    lacking = observed(run.ticks, "regions", name, "unmet") > 0
    unmet = marked(run.ticks, ["unmet" if lacks else None for lacks in lacking])
    decisions = marks(run.ticks, made, partial(_kind, name))
    plot = over_time(run, name, "nodes", lines, style="low", marks=(*decisions, *unmet))
    silent = stretches(run.ticks, _silent(run.ticks, name))
    return replace(plot, bands=silent, bands_words="no answer")


def _kind(region: str, act: Act) -> str | None:
    return act.nodes[region].direction if region in act.nodes else None


def _busy(run: Run) -> tuple[Plot, ...]:
    ticks = run.ticks
    columns = {name: observed(ticks, "regions", name, "utilisation") for name in names(ticks)}
    lines = tuple(
        Series(name=name, style=colour(index), at=times(run.ticks), values=values)
        for index, (name, values) in enumerate(columns.items())
        if not np.isnan(values).all()
    )
    return (over_time(run, "Utilisation by region", "%", lines),) if lines else ()


def _silent(ticks: Sequence[Tick], name: str) -> list[bool]:
    return [bool(gap) for gap in np.isnan(observed(ticks, "regions", name, "nodes"))]


def _when(ticks: Sequence[Tick], spans: Sequence[tuple[float, float]]) -> str:
    if spans[0][0] <= ticks[0].seen.at - ticks[0].seen.step and spans[0][1] >= ticks[-1].seen.at:
        return "in any step"
    named = [_span(ticks, start, end) for start, end in spans[:_MOST_SPANS]]
    more = len(spans) - _MOST_SPANS
    if more > 0:
        return f"{', '.join(named)} and {count_of(more, 'more time')}"
    return joined(named)


def _span(ticks: Sequence[Tick], start: float, end: float) -> str:
    if end >= span(ticks)[1]:
        return f"from {clock(start)} on"
    return f"from {clock(start)} to {clock(end)}"


def _said(ticks: Sequence[Tick], name: str) -> str:
    """What was said to be wrong when it did not answer, the first such words."""
    readings = (tick.seen.regions.get(name) for tick in ticks)
    words = [r.trouble for r in readings if r is not None and not r.answers and r.trouble]
    return f" ({words[0]})" if words else ""
