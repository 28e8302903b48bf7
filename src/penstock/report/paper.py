"""The reproduction of a paper as one HTML page that needs nothing else."""

import json
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from penstock.experiment.results import Chart, Claim, Figure, Reproduction, Table, rounded
from penstock.report.chart import axes, bars, plot
from penstock.report.plot import figure as drawn


def paper_page(done: Reproduction, *, subtitle: str) -> str:
    """Findings, tables and figures, ours beside the paper's."""
    charts = [chart for figure in done.figures for chart in figure.charts if not chart.names]
    return Template(resource("paper.html")).substitute(
        title=escape(f"The {done.paper} paper, reproduced"),
        subtitle=escape(f"{done.title} \u00b7 {subtitle}"),
        lead=escape(_lead(done.claims)),
        css=resource("page.css") + resource("paper.css"),
        script=resource("paper.js"),
        data=embedded([chart_data(chart) for chart in charts]),
        claims="".join(map(_claim, done.claims)),
        tables=f"<section><h2>Tables</h2>{''.join(map(html_table, done.tables))}</section>",
        figures="".join(map(_figure, done.figures)),
        remarks=html_items(done.remarks),
    )


def _lead(claims: tuple[Claim, ...]) -> str:
    held = sum(claim.holds for claim in claims)
    if held == len(claims):
        return f"All {held} findings were found again."
    return f"{held} of {len(claims)} findings were found again."


def _claim(claim: Claim) -> str:
    mark = "" if claim.holds else ' class="missed"'
    return f"<li{mark}>{escape(claim.text)} <small>{escape(claim.found)}</small></li>"


def html_table(table: Table) -> str:
    """A table with its notes."""
    head = "".join(f"<th>{escape(name)}</th>" for name in table.header)
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows
    )
    return (
        f'<div class="sheet" tabindex="0"><table><caption>{escape(table.title)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{_notes(table.notes)}"
    )


def _figure(figure: Figure) -> str:
    inside = "".join(bars(chart) if chart.names else drawn(plot(chart)) for chart in figure.charts)
    return (
        f"<section><h2>Fig. {escape(figure.number)}: {escape(figure.title)}</h2>"
        f'<div class="charts">{inside}</div>{_notes(figure.notes)}</section>'
    )


def _notes(notes: tuple[str, ...]) -> str:
    return f'<ul class="notes">{html_items(notes)}</ul>' if notes else ""


def html_items(texts: Iterable[str]) -> str:
    """The items of a list."""
    return "".join(f"<li>{escape(text)}</li>" for text in texts)


def chart_data(chart: Chart) -> dict[str, Any]:
    """What the crosshair reads; the plots themselves need no script."""
    across, _ = axes(chart)
    return {
        "from": across.low,
        "to": across.high,
        "wide": across.decades,
        "form": chart.y,
        "lines": [
            {"x": rounded(line.x), "y": rounded(line.y), "stepped": chart.stepped}
            for line in chart.lines
        ],
    }


def embedded(data: object) -> str:
    """JSON that cannot end the element it stands in."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def resource(name: str) -> str:
    """A file that lies beside this one."""
    return files("penstock.report").joinpath(name).read_text(encoding="utf-8")
