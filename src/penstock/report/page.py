"""The page: one file that needs nothing else."""

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, Final

import numpy as np

from penstock.core.signals import Tick
from penstock.record.codec import dumps, plain
from penstock.record.disk import write_whole
from penstock.record.folder import REPORT
from penstock.record.load import Run, load
from penstock.record.measures import column
from penstock.record.settings import RunSettings
from penstock.record.summary import Summary, summarise
from penstock.report.decisions import table
from penstock.report.flow import Box, drawing
from penstock.report.plot import Plot, figure
from penstock.report.plots import plots
from penstock.report.scales import number
from penstock.report.series import drawn
from penstock.report.words import NO_SLO, UNKNOWN, Tile, paragraph, tiles

_HINT: Final = (
    '<p class="said">A triangle marks a decision: \u25b2 out, \u25bc in. '
    "Point at any plot to read its values.</p>"
)


def write_report(run_folder: Path) -> Path:
    """Write `report.html` into the folder of a run, finished or not, and return its path."""
    path = run_folder / REPORT
    write_whole(path, page(load(run_folder)))
    return path


def page(run: Run) -> str:
    """A run as one HTML page, which loads nothing from anywhere."""
    groups = plots(run)
    summary = _summary(run)
    return Template(_resource("page.html")).substitute(
        title=escape(_title(run.settings)),
        subtitle=escape(_subtitle(run.settings)),
        css=_resource("page.css"),
        script=_resource("page.js"),
        data=_embedded(_data(groups)),
        warning=_warning(run),
        paragraph=escape(paragraph(summary)),
        tiles="".join(_tile(tile) for tile in tiles(summary)) if run.ticks else "",
        graph=_graph(run),
        plots="".join(_group(title, found) for title, found in groups.items()),
        results=_economy(summary) + _results(summary),
        decisions=table(run.ticks) if run.ticks else "<p>There were none.</p>",
        settings=_settings(run.settings),
    )


def _summary(run: Run) -> Summary:
    settings = run.settings
    return run.summary or summarise(
        run.ticks, settings.slo_latency_p95, source=settings.graph.source, graph=settings.graph
    )


def _title(settings: RunSettings) -> str:
    plants = {"spark": "Spark", "twin": "the twin", "replay": "a recording"}
    return f"{settings.pipeline} on {plants[settings.plant]}"


def _subtitle(settings: RunSettings) -> str:
    started = settings.started
    when = f"{started.day} {started:%B %Y, %H:%M} {started.tzname() or ''}".strip()
    policy = [f"policy {settings.policy}"] if settings.policy else []
    return " \u00b7 ".join([when, *policy, f"penstock {settings.penstock}"])


def _warning(run: Run) -> str:
    if run.incomplete is None:
        return ""
    return f'<p class="warning">This is not all of it: {escape(run.incomplete)}.</p>'


def _tile(tile: Tile) -> str:
    tone = "none" if tile.value in (UNKNOWN, NO_SLO) else tile.tone
    return (
        f'<div class="tile {tone}"><dt>{escape(tile.label)}</dt>'
        f"<dd>{escape(tile.value)}</dd><dd>{escape(tile.note)}</dd></div>"
    )


def _graph(run: Run) -> str:
    graph = run.settings.graph
    boxes = {name: _box(run.ticks, name) for name in graph.names()}
    return "".join(drawing(graph, boxes, standing=standing) for standing in (False, True))


def _box(ticks: Sequence[Tick], name: str) -> Box:
    rate, running = _mean(ticks, name, "arrival_rate"), _mean(ticks, name, "running")
    lines = [] if running is None else [f"{number(running)} executor{'s' * (running != 1)}"]
    lines += [] if rate is None else [f"{number(rate)} rows/s"]
    return Box(name, tuple(lines), _mean(ticks, name, "utilisation"))


def _mean(ticks: Sequence[Tick], name: str, metric: str) -> float | None:
    values = column(ticks, name, metric)
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None


def _group(title: str, found: Iterable[Plot]) -> str:
    figures = "".join(figure(plot) for plot in found)
    hint = _HINT if title == "Executors" else ""
    return f'<section class="plots"><h2>{escape(title)}</h2>{hint}{figures}</section>'


def _data(groups: Mapping[str, Sequence[Plot]]) -> dict[str, Any]:
    """What the crosshair reads; the plots themselves need no script."""
    every = [plot for group in groups.values() for plot in group]
    return {
        "from": every[0].time.low if every else 0,
        "to": every[0].time.high if every else 1,
        "plots": [
            {"form": plot.form, "series": [drawn(series) for series in plot.series]}
            for plot in every
        ],
    }


def _embedded(data: object) -> str:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def _economy(summary: Summary) -> str:
    """What each module brought and what it cost; no section where nothing has a price."""
    if all(module.cost is None for module in summary.modules.values()):
        return ""
    facts = {
        name: f"{_told(module.throughput)} rows/s, efficiency {_told(module.efficiency)}, "
        f"cost {_told(module.cost)}"
        for name, module in summary.modules.items()
    }
    facts["all modules"] = f"cost {_told(summary.cost)}"
    return f'<section class="facts"><h2>Modules</h2>{_facts(facts)}</section>'


def _told(value: float | None) -> str:
    return UNKNOWN if value is None else number(value)


def _results(summary: Summary) -> str:
    """What the application itself came to; no section where it tells nothing."""
    if not summary.results:
        return ""
    facts = {
        name: value if isinstance(value, str) else dumps(value)
        for name, value in plain(summary.results).items()
    }
    return f'<section class="facts"><h2>Results</h2>{_facts(facts)}</section>'


def _facts(facts: Mapping[str, str]) -> str:
    rows = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items() if v)
    return f"<dl>{rows}</dl>"


def _settings(settings: RunSettings) -> str:
    written = settings.to_json()
    shown = {
        "Command": " ".join(written["command"]),
        "Started": settings.started.isoformat(),
        "Seed": "" if settings.seed is None else str(settings.seed),
        "Penstock": settings.penstock,
    }
    return (
        f"{_facts(shown)}{_folded('Pipeline file, as resolved', written['file'])}"
        f"{_folded('Flow graph', written['graph'])}"
    )


def _folded(title: str, data: object) -> str:
    text = escape(dumps(data, indent=2))
    return f"<details><summary>{escape(title)}</summary><pre>{text}</pre></details>"


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
