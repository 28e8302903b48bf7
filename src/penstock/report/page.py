"""The page of a run: one file that needs nothing else."""

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from penstock.core.graph import Module
from penstock.core.signals import Tick
from penstock.core.words import UNKNOWN, plural, short_number
from penstock.record.codec import dumps, plain
from penstock.record.disk import write_whole
from penstock.record.folder import REPORT
from penstock.record.load import Run, load
from penstock.record.measures import column
from penstock.record.results import LONGEST, results
from penstock.record.settings import RunSettings
from penstock.record.summary import Summary, summarise
from penstock.report.candles import NAME, Sticks, section, sticks
from penstock.report.decisions import requests, table
from penstock.report.flow import Box, drawing
from penstock.report.interference import sentence
from penstock.report.plot import Plot, drawn, figure
from penstock.report.plots import plots
from penstock.report.regions import silences, troubles
from penstock.report.words import NO_SLO, Tile, paragraph, subtitle, tiles, title

# What a run came to beside its plots: what modules cost, and what the application tells.


def economy(summary: Summary) -> str:
    """What each module brought and what it cost; no section where nothing has a price."""
    if all(module.cost is None for module in summary.modules.values()):
        return ""
    told = {
        name: f"{_told(module.throughput)} rows/s, efficiency {_told(module.efficiency)}, "
        f"cost {_told(module.cost)}"
        for name, module in summary.modules.items()
    }
    told["all modules"] = f"cost {_told(summary.cost)}"
    return f'<section class="facts"><h2>Modules</h2>{facts(told)}</section>'


def outcome(summary: Summary, drawn: Iterable[Sticks]) -> str:
    """What the application itself came to, but for what is drawn; no section without anything."""
    shown = {
        name: _fold(value) if len(words) > LONGEST else escape(words)
        for name, value, words in results(summary)
        if not (drawn and name == NAME)
    }
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{told}</dd>" for name, told in shown.items())
    return f'<section class="facts"><h2>Results</h2><dl>{rows}</dl></section>' if rows else ""


def facts(told: Mapping[str, str]) -> str:
    """Names with what is to be said of them; nothing is left out but what is empty."""
    rows = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in told.items() if v)
    return f"<dl>{rows}</dl>"


def folded(title: str, data: object) -> str:
    """Data that only some want to see."""
    text = escape(dumps(data, indent=2))
    return f"<details><summary>{escape(title)}</summary><pre>{text}</pre></details>"


def _fold(value: object) -> str:
    return folded("Show", plain(value))


def _told(value: float | None) -> str:
    return UNKNOWN if value is None else short_number(value)


def write_report(run_folder: Path) -> Path:
    """Write `report.html` into the folder of a run, finished or not, and return its path."""
    path = run_folder / REPORT
    write_whole(path, page(load(run_folder)))
    return path


def page(run: Run) -> str:
    """A run as one HTML page, which loads nothing from anywhere."""
    groups = plots(run)
    summary = _summary(run)
    candles = sticks(summary.results)
    told = (paragraph(summary), sentence(run), *silences(run.ticks), *troubles(run.ticks))
    return Template(_resource("page.html")).substitute(
        title=escape(title(run.settings)),
        subtitle=escape(subtitle(run.settings)),
        css=_resource("page.css") + (_resource("candles.css") if candles else ""),
        script=_resource("page.js"),
        data=_embedded(_data(groups)),
        warning=_warning(run),
        paragraph=escape(" ".join(filter(None, told))),
        tiles="".join(_tile(tile) for tile in tiles(summary)) if run.ticks else "",
        graph=_graph(run),
        plots="".join(_group(title, found, _hint(groups)) for title, found in groups.items()),
        results=economy(summary)
        + outcome(summary, candles)
        + section(candles, _offset(run.settings)),
        decisions=table(run.ticks, run.settings.graph) if run.ticks else "<p>There were none.</p>",
        requests=requests(run.ticks),
        settings=_settings(run.settings),
    )


def _summary(run: Run) -> Summary:
    settings = run.settings
    return run.summary or summarise(
        run.ticks, settings.slo_latency_p95, source=settings.graph.source, graph=settings.graph
    )


def _warning(run: Run) -> str:
    if run.incomplete is None:
        return ""
    return f'<p class="warning">This is not all of it: {escape(run.incomplete)}.</p>'


def _offset(settings: RunSettings) -> float:
    """Seconds by which the clocks were ahead of UTC where the run was started."""
    ahead = settings.started.utcoffset()
    return 0.0 if ahead is None else ahead.total_seconds()


def _tile(tile: Tile) -> str:
    tone = "none" if tile.value in (UNKNOWN, NO_SLO) else tile.tone
    return (
        f'<div class="tile {tone}"><dt>{escape(tile.label)}</dt>'
        f"<dd>{escape(tile.value)}</dd><dd>{escape(tile.note)}</dd></div>"
    )


def _graph(run: Run) -> str:
    graph = run.settings.graph
    boxes = {module.name: _box(run.ticks, module) for module in graph.modules}
    return "".join(drawing(graph, boxes, standing=standing) for standing in (False, True))


def _box(ticks: Sequence[Tick], module: Module) -> Box:
    name, place = module.name, [module.region] if module.region else []
    rate, running = _mean(ticks, name, "arrival_rate"), _mean(ticks, name, "running")
    lines = [] if running is None else [f"{short_number(running)} {plural(running, 'executor')}"]
    flow = [] if rate is None else [f"{short_number(rate)} rows/s"]
    lines += [" \u00b7 ".join([*flow, *place])] if flow or place else []
    return Box(name, tuple(lines), _mean(ticks, name, "utilisation"))


def _mean(ticks: Sequence[Tick], name: str, metric: str) -> float | None:
    values = column(ticks, name, metric)
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None


def _group(title: str, found: Sequence[Plot], hint: str) -> str:
    figures = "".join(figure(plot) for plot in found)
    shown = {"Executors": hint, "Nodes": _node_hint(found)}.get(title, "")
    return f'<section class="plots"><h2>{escape(title)}</h2>{shown}{figures}</section>'


def _hint(groups: Mapping[str, Sequence[Plot]]) -> str:
    """What the marks mean; where the script runs, it says here which decision is pointed at."""
    clock = any(plot.marks for plot in groups.get("Energy", ()))
    more, less = (" or faster", " or slower") if clock else ("", "")
    moved = any(m.kind == "moved" for plot in groups.get("Executors", ()) for m in plot.marks)
    keys = ", \u25c7 keys moved" if moved else ""
    return (
        f'<p class="said">A mark is a decision: \u25b2 out{more}, \u25bc in{less}{keys}. '
        "Point at any plot to read its values.</p>"
    )


def _node_hint(found: Sequence[Plot]) -> str:
    lacked = any(mark.kind == "unmet" for plot in found for mark in plot.marks)
    cross = ", \u2715 replicas that found no node with room" if lacked else ""
    return f'<p class="soft">A mark is \u25b2 nodes acquired, \u25bc released{cross}.</p>'


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


def _settings(settings: RunSettings) -> str:
    written = settings.to_json()
    shown = {
        "Command": " ".join(written["command"]),
        "Started": settings.started.isoformat(),
        "Seed": "" if settings.seed is None else str(settings.seed),
        "Penstock": settings.penstock,
    }
    return (
        f"{facts(shown)}{folded('Pipeline file, as resolved', written['file'])}"
        f"{folded('Flow graph', written['graph'])}"
    )


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
