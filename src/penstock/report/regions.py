"""Regions that did not answer or had trouble, in sentences."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from penstock.core.signals import Tick
from penstock.core.words import clock, count_of, joined
from penstock.record.measures import observed, regions
from penstock.report.figures import span, stretches

_MOST_SPANS: Final = 3
_MOST_TROUBLES: Final = 5


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
    for name in regions(ticks):
        silent = np.isnan(observed(ticks, "regions", name, "nodes"))
        if silent.any():
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
