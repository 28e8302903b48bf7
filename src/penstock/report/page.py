"""The page of a run: one file that needs nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
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
from penstock.report.candles import NAME, Sticks, candle_data, sticks
from penstock.report.decisions import requests, table
from penstock.report.figures import Plot, plot_data
from penstock.report.interference import sentence
from penstock.report.pages import render
from penstock.report.plots import plots
from penstock.report.words import (
    NO_SLO,
    Tile,
    paragraph,
    silences,
    subtitle,
    tiles,
    title,
    troubles,
)


def write_report(run_folder: Path) -> Path:
    """Write `report.html` into the folder of a run, finished or not, and return its path."""
    path = run_folder / REPORT
    write_whole(path, page(load(run_folder)))
    return path


def page(run: Run) -> str:
    """A run as one HTML page, which loads nothing from anywhere."""
    settings, summary = run.settings, _summary(run)
    candles = sticks(summary.results)
    sentences = (paragraph(summary), sentence(run), *silences(run.ticks), *troubles(run.ticks))
    return render(
        "run.html",
        title=title(settings),
        subtitle=subtitle(settings),
        warning=f"This is not all of it: {run.incomplete}." if run.incomplete else "",
        lead=" ".join(filter(None, sentences)),
        tiles=[_toned(tile) for tile in tiles(summary)] if run.ticks else (),
        flow=_flow(run),
        economy=_economy(summary),
        results=list(_results(summary, candles)),
        candles=candle_data(candles, _offset(settings)),
        groups=_groups(plots(run)),
        **table(run.ticks, settings.graph),
        requests=requests(run.ticks),
        **_settings(settings),
    )


def _summary(run: Run) -> Summary:
    settings = run.settings
    return run.summary or summarise(
        run.ticks, settings.slo_latency_p95, source=settings.graph.source, graph=settings.graph
    )


def _toned(tile: Tile) -> Tile:
    return replace(tile, tone="none") if tile.value in (UNKNOWN, NO_SLO) else tile


def _economy(summary: Summary) -> dict[str, str]:
    """What each module brought and what it cost; empty where nothing has a price."""
    if all(module.cost is None for module in summary.modules.values()):
        return {}
    by_module = {
        name: f"{_number(module.throughput)} rows/s, efficiency {_number(module.efficiency)}, "
        f"cost {_number(module.cost)}"
        for name, module in summary.modules.items()
    }
    return {**by_module, "all modules": f"cost {_number(summary.cost)}"}


def _results(summary: Summary, drawn: Sequence[Sticks]) -> list[tuple[str, str, str]]:
    """Each result of the application that is not drawn: name, words, and long ones as JSON."""
    return [
        (name, words, dumps(plain(value), indent=2) if len(words) > LONGEST else "")
        for name, value, words in results(summary)
        if not (drawn and name == NAME)
    ]


def _number(value: float | None) -> str:
    return UNKNOWN if value is None else short_number(value)


def _offset(settings: RunSettings) -> float:
    """Seconds by which the clocks were ahead of UTC where the run was started."""
    ahead = settings.started.utcoffset()
    return 0.0 if ahead is None else ahead.total_seconds()


def _flow(run: Run) -> dict[str, Any]:
    """The flow graph as `web/flow.js` draws it, with the means of the run."""
    graph = run.settings.graph
    return {
        "names": graph.names(),
        "streams": plain(graph.streams),
        "boxes": {module.name: _box(run.ticks, module) for module in graph.modules},
    }


def _box(ticks: Sequence[Tick], module: Module) -> dict[str, Any]:
    rate, running = (_mean(ticks, module.name, what) for what in ("arrival_rate", "running"))
    parts = [] if rate is None else [f"{short_number(rate)} rows/s"]
    count = "" if running is None else f"{short_number(running)} {plural(running, 'executor')}"
    return {
        "degree": count,
        "rate": " \u00b7 ".join([*parts, *([module.region] if module.region else [])]),
        "busy": _mean(ticks, module.name, "utilisation"),
    }


def _mean(ticks: Sequence[Tick], name: str, metric: str) -> float | None:
    values = column(ticks, name, metric)
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None


def _groups(groups: Mapping[str, Sequence[Plot]]) -> list[dict[str, Any]]:
    hints = {"Executors": (_hint(groups), "said"), "Nodes": (_node_hint(groups), "soft")}
    return [
        {
            "title": heading,
            "hint": hints.get(heading, ("", ""))[0],
            "hint_style": hints.get(heading, ("", ""))[1],
            "figures": [plot_data(plot) for plot in group],
        }
        for heading, group in groups.items()
    ]


def _hint(groups: Mapping[str, Sequence[Plot]]) -> str:
    """What the marks mean; here the script says which decision is pointed at."""
    clock = any(plot.marks for plot in groups.get("Energy", ()))
    more, less = (" or faster", " or slower") if clock else ("", "")
    moved = any(m.kind == "moved" for plot in groups.get("Executors", ()) for m in plot.marks)
    keys = ", \u25c7 keys moved" if moved else ""
    return (
        f"A mark is a decision: \u25b2 out{more}, \u25bc in{less}{keys}. "
        "Point at any plot to read its values."
    )


def _node_hint(groups: Mapping[str, Sequence[Plot]]) -> str:
    lacked = any(mark.kind == "unmet" for plot in groups.get("Nodes", ()) for mark in plot.marks)
    cross = ", \u2715 replicas that found no node with room" if lacked else ""
    return f"A mark is \u25b2 nodes acquired, \u25bc released{cross}."


def _settings(settings: RunSettings) -> dict[str, Any]:
    written = settings.to_json()
    shown = {
        "Command": " ".join(written["command"]),
        "Started": settings.started.isoformat(),
        "Seed": "" if settings.seed is None else str(settings.seed),
        "Penstock": settings.penstock,
    }
    return {
        "settings": {name: text for name, text in shown.items() if text},
        "file": dumps(written["file"], indent=2),
        "graph": dumps(written["graph"], indent=2),
    }
