"""The run in a paragraph and in tiles."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from penstock.core.signals import Tick
from penstock.core.words import (
    UNKNOWN,
    clock,
    count_of,
    duration,
    joined,
    percent,
    quantity,
    short_number,
)
from penstock.record.measures import observed, regions
from penstock.record.results import (
    describe_changes,
    describe_energy,
    describe_moves,
    describe_nodes,
    describe_requests,
)
from penstock.record.running import Energy
from penstock.record.settings import RunSettings
from penstock.record.summary import SloCheck, Summary
from penstock.report.figures import span, stretches

NO_SLO: Final = "no SLO"


@dataclass(frozen=True, slots=True)
class Tile:
    """One number of the summary."""

    label: str
    value: str
    note: str = ""
    tone: str = ""
    """`good`, `bad`, or nothing."""


def title(settings: RunSettings) -> str:
    """What ran, and on what."""
    plants = {"spark": "Spark", "twin": "the twin", "replay": "a recording"}
    return f"{settings.pipeline} on {plants[settings.plant]}"


def subtitle(settings: RunSettings) -> str:
    """When it ran, and what decided."""
    started = settings.started
    when = f"{started.day} {started:%B %Y, %H:%M} {started.tzname() or ''}".strip()
    policy = [f"policy {settings.policy}"] if settings.policy else []
    policy += ["dry run: nothing was carried out"] if settings.dry else []
    return " \u00b7 ".join([when, *policy, f"penstock {settings.penstock}"])


def paragraph(summary: Summary) -> str:
    """What happened, in plain words."""
    if summary.steps == 0:
        return "The run ended before its first control step, so there is nothing to report."
    return " ".join([_quality(summary), *_sentences(summary)])


def _quality(summary: Summary) -> str:
    """Whether the promise was kept, and with how many executors."""
    slo, took, cost = summary.slo, duration(summary.duration), _with_executors(summary)
    if summary.latency is None:
        return f"Ran for {took}{cost}; no latency was measured."
    p95 = duration(summary.latency.p95)
    if slo is None:
        return f"p95 latency was {p95}{cost}, over {took}."
    promised = duration(slo.latency_p95)
    if summary.latency.p95 > slo.latency_p95:
        opening = f"Missed the SLO: p95 latency was {p95} where {promised} was promised"
    elif _doubtful(slo):
        opening = f"p95 latency was {p95} where measured, within the SLO of {promised}"
    else:
        opening = f"Held p95 latency at {p95}, within the SLO of {promised}"
    return f"{opening},{cost}, over {took}. {_broken(slo)}"


def _with_executors(summary: Summary) -> str:
    if summary.executors_mean is None:
        return ""
    if summary.executors_min == summary.executors_max:
        return f" with {count_of(summary.executors_min or 0, 'executor')} throughout"
    between = _range(summary.executors_min, summary.executors_max)
    return f" with {short_number(summary.executors_mean)} executors on average ({between})"


def _broken(slo: SloCheck) -> str:
    if slo.violated_share is None:
        return "No step measured a latency."
    stalled = f"; {count_of(slo.stalled, 'step')} measured none" if slo.stalled else ""
    if slo.violated == 0:
        return f"Every step that measured latency kept it{stalled}."
    share = percent(slo.violated_share, "fine")
    return f"{share} of the steps that measured latency broke it{stalled}."


def _doubtful(slo: SloCheck) -> bool:
    """Whether more steps hide their latency than the twentieth that a p95 leaves aside."""
    return slo.stalled > 0.05 * (slo.measured + slo.stalled)


def _sentences(summary: Summary) -> Iterator[str]:
    """What flowed, what it took, what was changed; regions and managers where there are any."""
    if summary.arrival_rate_mean is not None and summary.arrival_rate_max is not None:
        yield (
            f"Rows came at {short_number(summary.arrival_rate_mean)}/s on average "
            f"and {short_number(summary.arrival_rate_max)}/s at the peak."
        )
    if summary.backlog_max is not None:
        yield (
            f"The backlog peaked at {short_number(summary.backlog_max)} rows "
            f"and ended at {_number(summary.backlog_final)}{_left(summary)}."
        )
    if summary.energy is not None and summary.energy.joules is not None:
        yield f"Energy: {describe_energy(summary.energy, summary.duration)}."
    if summary.reconfigurations:
        steps = count_of(summary.reconfigurations, "step")
        yield f"Reconfigured in {steps}: {describe_changes(summary)}."
    else:
        yield "Nothing was reconfigured."
    if summary.regions:
        yield f"Nodes: {describe_nodes(summary)}."
    if summary.requests:
        yield f"Requests of managers: {describe_requests(summary)}."


def _left(summary: Summary) -> str:
    """What the plant could not finish after the last step; not added up, rows being of kinds."""
    if summary.left is None:
        return ""
    waiting = [f"{short_number(rows)} before {name}" for name, rows in summary.left.items() if rows]
    return f"; after the drain {' and '.join(waiting) or 'none'} were left"


def tiles(summary: Summary) -> tuple[Tile, ...]:
    """The numbers that people compare runs by."""
    rows, seconds = summary.rows_processed, summary.executor_seconds_total
    per_row = f"{duration(seconds / rows)} a row" if rows and seconds is not None else ""
    arrived, left = summary.rows_arrived, summary.backlog_final
    between = _range(summary.executors_min, summary.executors_max)
    gaps = f"{count_of(summary.steps_with_gaps, 'step')} of {summary.steps:,} with gaps"
    changes, failed = summary.reconfigurations, summary.failed_tasks
    return (
        *_quality_tiles(summary),
        Tile("Executors, mean", _number(summary.executors_mean), between),
        Tile("Executor-seconds", _number(seconds), per_row),
        Tile(
            "Rows processed",
            _number(rows),
            "" if arrived is None else f"of {short_number(arrived)} arrived",
        ),
        Tile(
            "Backlog, max",
            _number(summary.backlog_max),
            "" if left is None else f"{short_number(left)} at the end",
        ),
        Tile("Reconfigurations", f"{changes:,}", describe_changes(summary)),
        Tile("Failed tasks", _number(failed), gaps, "bad" if failed else ""),
        *(_node_tiles(summary) if summary.regions else ()),
        *(_energy_tiles(summary.energy) if summary.energy else ()),
    )


def _quality_tiles(summary: Summary) -> tuple[Tile, Tile]:
    latency, slo = summary.latency, summary.slo
    tone = ""
    if slo is not None and latency is not None:
        kept = "" if _doubtful(slo) else "good"
        tone = "bad" if latency.p95 > slo.latency_p95 else kept
    measured = Tile("Latency, p95", UNKNOWN)
    if latency is not None:
        others = f"p50 {duration(latency.p50)}, p99 {duration(latency.p99)}"
        measured = Tile("Latency, p95", duration(latency.p95), others, tone)
    if slo is None:
        return measured, Tile("Steps beyond the SLO", NO_SLO)
    note = f"SLO {duration(slo.latency_p95)}"
    note += f", {count_of(slo.stalled, 'step')} unknown" if slo.stalled else ""
    share = slo.violated_share
    broken = UNKNOWN if share is None else percent(share, "fine")
    return measured, Tile("Steps beyond the SLO", broken, note)


def _node_tiles(summary: Summary) -> tuple[Tile, ...]:
    uses = summary.regions.values()
    unmet = [use.unmet for use in uses if use.unmet is not None]
    steps = f"in {count_of(sum(use.unmet_steps for use in uses), 'step')}"
    lacking = (steps, "bad") if any(unmet) else ("", "")
    made = sum(count.made for count in summary.requests.values())
    refused = sum(count.refused for count in summary.requests.values())
    between = _range(summary.nodes_min, summary.nodes_max)
    return (
        Tile("Nodes, mean", _number(summary.nodes_mean), between),
        Tile("Node-seconds", _number(summary.node_seconds_total), describe_moves(summary)),
        Tile("Replicas without room", _number(sum(unmet) if unmet else None), *lacking),
        Tile("Requests refused", f"{refused:,}", f"of {made:,}"),
    )


def _energy_tiles(energy: Energy) -> tuple[Tile, ...]:
    """Every number says whether it is modelled."""
    ghz = energy.frequency_mean
    known = {
        "Energy": _quantity(energy.joules, "J"),
        "Energy a row": _quantity(energy.joules_per_row, "J"),
        "Power, mean": _quantity(energy.watts_mean, "W"),
        "Clock, mean": UNKNOWN if ghz is None else f"{ghz:.3g} GHz",
    }
    return tuple(Tile(label, value, energy.origin) for label, value in known.items())


def _range(least: int | None, most: int | None) -> str:
    return "" if least is None or most is None else f"{least} to {most}"


def _quantity(value: float | None, unit: str) -> str:
    return UNKNOWN if value is None else quantity(value, unit)


def _number(value: float | None) -> str:
    return UNKNOWN if value is None else short_number(value)


# Regions that did not answer or had trouble, in sentences.


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
