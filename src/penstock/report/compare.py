"""A tournament as one HTML page that needs nothing else."""

from collections.abc import Sequence
from html import escape
from string import Template
from typing import Final

import numpy as np

from penstock.core.words import count_of
from penstock.experiment.compare import MEASURES, Advice, Outcome, Verdict
from penstock.experiment.compare.entrants import REFERENCES
from penstock.experiment.compare.round import Played
from penstock.experiment.compare.tables import tables
from penstock.experiment.results import Chart, Line
from penstock.report.chart import Point, plot, scatter
from penstock.report.paper import chart_data, embedded, html_items, html_table, resource
from penstock.report.plot import figure

_STYLES: Final = ("c1", "c2", "c3", "c4", "c5", "c6")
_MARKS: Final = {"wins": "", "ties": ' class="tied"', "loses": ' class="missed"'}


def compare_page(
    played: Outcome, advice: Advice, verdicts: Sequence[Verdict], *, subtitle: str
) -> str:
    """Advice, verdicts, tables and plots."""
    charts = [chart for one in _first(played) for chart in _timelines(played, one)]
    words = f"{played.pipeline} on {'Spark' if played.on == 'spark' else 'the twin'}"
    return Template(resource("paper.html")).substitute(
        title=escape(f"Policies compared: {played.pipeline}"),
        subtitle=escape(f"{words} \u00b7 {subtitle}"),
        lead=escape(" ".join(advice.why)),
        css="".join(resource(name) for name in ("page.css", "paper.css", "compare.css")),
        script=resource("paper.js"),
        data=embedded([chart_data(chart) for chart in charts]),
        claims="".join(map(_verdict, verdicts)),
        tables=_scatters(played)
        + f"<section><h2>Tables</h2>{''.join(map(html_table, tables(played)))}</section>",
        figures="".join(_lines(played, one) for one in _first(played)),
        remarks=html_items(remarks(played)),
    )


def _verdict(verdict: Verdict) -> str:
    where = verdict.load or "all workloads"
    text = f"{verdict.ours} {verdict.words} on {where}."
    mark = _MARKS["ties" if verdict.even else verdict.verdict]
    return f"<li{mark}>{escape(text)} <small>{escape(verdict.why)}</small></li>"


def _first(played: Outcome) -> list[Played]:
    """The first seed of each load."""
    return [one for one in played.rounds if one.seed == played.seeds[0]]


def _scatters(played: Outcome) -> str:
    loads: list[str | None] = [*played.loads, *([None] if len(played.loads) > 1 else [])]
    return (
        "<section><h2>Cost against violations</h2>"
        f"{''.join(_scatter(played, load) for load in loads)}</section>"
    )


def _scatter(played: Outcome, load: str | None) -> str:
    points = []
    for index, name in enumerate(played.names):
        cores = played.score(name, "core_seconds", load)
        broken = played.score(name, "violations", load)
        if cores is not None and broken is not None:
            points.append(
                Point(
                    name=name,
                    style="ink" if name in REFERENCES else _STYLES[index % len(_STYLES)],
                    x=cores.mean,
                    y=broken.mean,
                    x_half=cores.half_width or 0.0,
                    y_half=broken.half_width or 0.0,
                )
            )
    most = max((point.x + point.x_half for point in points), default=1.0)
    worst = max((min(point.y + point.y_half, 1.0) for point in points), default=0.0)
    y = ("share of the time", max(worst, 0.01))
    return scatter(f"Violations, {load or 'all workloads'}", points, x=("core-seconds", most), y=y)


def _lines(played: Outcome, one: Played) -> str:
    charts = "".join(figure(plot(chart)) for chart in _timelines(played, one))
    return (
        f"<section><h2>Executors over time, {escape(one.load)}, seed {one.seed}</h2>"
        f'<div class="charts">{charts}</div></section>'
    )


def _timelines(played: Outcome, one: Played) -> list[Chart]:
    """What each policy had running, beside what the load needed."""
    needed = np.append(one.demand[:1], one.demand)
    demand = Line(name="demand", x=played.step * np.arange(float(len(needed))), y=needed)
    return [
        Chart(
            title=name,
            x="s",
            y="executors",
            lines=(
                demand,
                Line(name="running", x=line.at, y=line.running),
            ),
            stepped=True,
        )
        for name in played.names
        if (line := one.timelines.get(name)) is not None
    ]


def remarks(played: Outcome) -> list[str]:
    """How it was done, where that may be asked."""
    seeds = count_of(len(played.seeds), "seed")
    return [
        f"{seeds}, the same for every policy; intervals hold the mean of all seeds in 95 of 100 "
        "such tournaments. * is the least of a column, = what chance may have put behind it.",
        "An executor is paid for from its request until it has left: core-seconds count executors "
        "that were requested or running, whichever is more.",
        f"Money is {played.prices.executor_hour:g} an executor-hour, billed by "
        f"{played.prices.billing:g} s. Energy is modelled.",
        "The clairvoyant knows the whole load: it is the cheapest plan that was found on the twin "
        "to break no promise, or the fewest. Static policies and the clairvoyant begin with their "
        "degrees, all others with those of the file.",
        *(f"{one.title}: {one.means}." for one in MEASURES.values()),
    ]
