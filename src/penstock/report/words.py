"""The run in a paragraph and in tiles."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from penstock.core.words import UNKNOWN, count_of, duration, percent, quantity, short_number
from penstock.record.results import (
    describe_changes,
    describe_energy,
    describe_nodes,
    describe_requests,
)
from penstock.record.settings import RunSettings
from penstock.record.summary import SloCheck, Summary

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
    sentences = [_quality(summary), *_flow(summary), *_energy(summary), _actions(summary)]
    return " ".join([*sentences, *_nodes(summary)])


def tiles(summary: Summary) -> tuple[Tile, ...]:
    """The numbers that people compare runs by."""
    return (
        _latency_tile(summary),
        _slo_tile(summary),
        Tile("Executors, mean", _number(summary.executors_mean), _range(summary)),
        Tile("Executor-seconds", _number(summary.executor_seconds_total), _per_row(summary)),
        Tile("Rows processed", _number(summary.rows_processed), _arrived(summary)),
        Tile("Backlog, max", _number(summary.backlog_max), _end(summary)),
        Tile("Reconfigurations", f"{summary.reconfigurations:,}", describe_changes(summary)),
        _failures_tile(summary),
        *_node_tiles(summary),
        *_energy_tiles(summary),
    )


def _quality(summary: Summary) -> str:
    cost = _with_executors(summary)
    if summary.latency is None:
        return f"Ran for {duration(summary.duration)}{cost}; no latency was measured."
    if summary.slo is None:
        p95 = duration(summary.latency.p95)
        return f"p95 latency was {p95}{cost}, over {duration(summary.duration)}."
    opening = _opening(summary.slo, summary.latency.p95)
    return f"{opening},{cost}, over {duration(summary.duration)}. {_broken(summary)}"


def _opening(slo: SloCheck, p95: float) -> str:
    promised = duration(slo.latency_p95)
    if p95 > slo.latency_p95:
        return f"Missed the SLO: p95 latency was {duration(p95)} where {promised} was promised"
    if _doubtful(slo):
        return f"p95 latency was {duration(p95)} where measured, within the SLO of {promised}"
    return f"Held p95 latency at {duration(p95)}, within the SLO of {promised}"


def _with_executors(summary: Summary) -> str:
    if summary.executors_mean is None:
        return ""
    if summary.executors_min == summary.executors_max:
        return f" with {count_of(summary.executors_min or 0, 'executor')} throughout"
    return f" with {short_number(summary.executors_mean)} executors on average ({_range(summary)})"


def _broken(summary: Summary) -> str:
    slo = summary.slo
    if slo is None or slo.violated_share is None:
        return "No step measured a latency."
    stalled = f"; {count_of(slo.stalled, 'step')} measured none" if slo.stalled else ""
    if slo.violated == 0:
        return f"Every step that measured latency kept it{stalled}."
    share = percent(slo.violated_share, "fine")
    return f"{share} of the steps that measured latency broke it{stalled}."


def _flow(summary: Summary) -> Iterator[str]:
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


def _energy(summary: Summary) -> Iterator[str]:
    if summary.energy is not None and summary.energy.joules is not None:
        yield f"Energy: {describe_energy(summary.energy, summary.duration)}."


def _nodes(summary: Summary) -> Iterator[str]:
    """What regions and the managers above them came to, where there are any."""
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


def _actions(summary: Summary) -> str:
    if summary.reconfigurations == 0:
        return "Nothing was reconfigured."
    steps = count_of(summary.reconfigurations, "step")
    return f"Reconfigured in {steps}: {describe_changes(summary)}."


def _end(summary: Summary) -> str:
    return (
        "" if summary.backlog_final is None else f"{short_number(summary.backlog_final)} at the end"
    )


def _latency_tile(summary: Summary) -> Tile:
    if summary.latency is None:
        return Tile("Latency, p95", UNKNOWN)
    note = f"p50 {duration(summary.latency.p50)}, p99 {duration(summary.latency.p99)}"
    return Tile("Latency, p95", duration(summary.latency.p95), note, _tone(summary))


def _tone(summary: Summary) -> str:
    if summary.slo is None or summary.latency is None:
        return ""
    if summary.latency.p95 > summary.slo.latency_p95:
        return "bad"
    return "" if _doubtful(summary.slo) else "good"


def _doubtful(slo: SloCheck) -> bool:
    """Whether more steps hide their latency than the twentieth that a p95 leaves aside."""
    return slo.stalled > 0.05 * (slo.measured + slo.stalled)


def _slo_tile(summary: Summary) -> Tile:
    slo = summary.slo
    if slo is None:
        return Tile("Steps beyond the SLO", NO_SLO)
    note = f"SLO {duration(slo.latency_p95)}"
    note += f", {count_of(slo.stalled, 'step')} unknown" if slo.stalled else ""
    if slo.violated_share is None:
        return Tile("Steps beyond the SLO", UNKNOWN, note)
    return Tile("Steps beyond the SLO", percent(slo.violated_share, "fine"), note)


def _failures_tile(summary: Summary) -> Tile:
    failed = summary.failed_tasks
    note = f"{count_of(summary.steps_with_gaps, 'step')} of {summary.steps:,} with gaps"
    return Tile("Failed tasks", _number(failed), note, "bad" if failed else "")


def _energy_tiles(summary: Summary) -> tuple[Tile, ...]:
    """A row of tiles where anything is known; every number says whether it is modelled."""
    energy = summary.energy
    if energy is None:
        return ()
    ghz = energy.frequency_mean
    known = [
        ("Energy", _quantity(energy.joules, "J")),
        ("Energy a row", _quantity(energy.joules_per_row, "J")),
        ("Power, mean", _quantity(energy.watts_mean, "W")),
        ("Clock, mean", UNKNOWN if ghz is None else f"{ghz:.3g} GHz"),
    ]
    return tuple(Tile(label, value, energy.origin) for label, value in known)


def _node_tiles(summary: Summary) -> tuple[Tile, ...]:
    """A row of tiles where nodes are decided about."""
    if not summary.regions:
        return ()
    uses = summary.regions.values()
    moves = (
        f"{sum(u.acquired for u in uses):,} acquired, {sum(u.released for u in uses):,} released"
    )
    unmet = [use.unmet for use in uses if use.unmet is not None]
    lacking = f"in {count_of(sum(use.unmet_steps for use in uses), 'step')}"
    return (
        Tile("Nodes, mean", _number(summary.nodes_mean), _node_range(summary)),
        Tile("Node-seconds", _number(summary.node_seconds_total), moves),
        Tile(
            "Replicas without room",
            _number(sum(unmet) if unmet else None),
            lacking if any(unmet) else "",
            "bad" if any(unmet) else "",
        ),
        _requests_tile(summary),
    )


def _requests_tile(summary: Summary) -> Tile:
    made = sum(count.made for count in summary.requests.values())
    refused = sum(count.refused for count in summary.requests.values())
    return Tile("Requests refused", f"{refused:,}", f"of {made:,}")


def _node_range(summary: Summary) -> str:
    if summary.nodes_min is None or summary.nodes_max is None:
        return ""
    return f"{summary.nodes_min} to {summary.nodes_max}"


def _quantity(value: float | None, unit: str) -> str:
    return UNKNOWN if value is None else quantity(value, unit)


def _range(summary: Summary) -> str:
    if summary.executors_min is None or summary.executors_max is None:
        return ""
    return f"{summary.executors_min} to {summary.executors_max}"


def _per_row(summary: Summary) -> str:
    if not summary.rows_processed or summary.executor_seconds_total is None:
        return ""
    return f"{duration(summary.executor_seconds_total / summary.rows_processed)} a row"


def _arrived(summary: Summary) -> str:
    return (
        "" if summary.rows_arrived is None else f"of {short_number(summary.rows_arrived)} arrived"
    )


def _number(value: float | None) -> str:
    return UNKNOWN if value is None else short_number(value)
