"""A tournament as one HTML page that needs nothing else."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from penstock.core.words import count_of
from penstock.experiment.compare import MEASURES, Advice, TournamentResult, Verdict
from penstock.experiment.compare.entrants import REFERENCES
from penstock.experiment.compare.outcome import Played
from penstock.experiment.compare.tables import tables
from penstock.experiment.results import Chart, Line
from penstock.report.figures import Point, chart_data, colour, scatter_data
from penstock.report.pages import Finding, Section, experiment_page

_MARKS: Final = {"wins": "", "ties": "tied", "loses": "missed"}


def compare_page(
    played: TournamentResult, advice: Advice, verdicts: Sequence[Verdict], *, subtitle: str
) -> str:
    """Advice, verdicts, tables and plots."""
    words = f"{played.pipeline} on {'Spark' if played.on == 'spark' else 'the twin'}"
    return experiment_page(
        title=f"Policies compared: {played.pipeline}",
        subtitle=f"{words} \u00b7 {subtitle}",
        lead=" ".join(advice.why),
        findings=[_finding(verdict) for verdict in verdicts],
        sections=(
            Section(title="Cost against violations", figures=tuple(_scatters(played))),
            Section(title="Tables", tables=tuple(tables(played))),
            *(_timelines(played, one) for one in _first(played)),
        ),
        remarks=remarks(played),
    )


def _finding(verdict: Verdict) -> Finding:
    text = f"{verdict.ours} {verdict.words} on {verdict.load or 'all workloads'}."
    mark = _MARKS["ties" if verdict.even else verdict.verdict]
    return Finding(text=text, found=verdict.why, mark=mark)


def _first(played: TournamentResult) -> list[Played]:
    """The first seed of each load."""
    return [one for one in played.rounds if one.seed == played.seeds[0]]


def _scatters(played: TournamentResult) -> list[dict[str, Any]]:
    return [_scatter(played, load) for load in played.all_loads]


def _scatter(played: TournamentResult, load: str | None) -> dict[str, Any]:
    all_points = (_point(played, name, index, load) for index, name in enumerate(played.names))
    points = [point for point in all_points if point is not None]
    title = f"Violations, {load or 'all workloads'}"
    return scatter_data(title, points, x="core-seconds", y="%")


def _point(played: TournamentResult, name: str, index: int, load: str | None) -> Point | None:
    cores = played.score(name, "core_seconds", load)
    broken = played.score(name, "violations", load)
    if cores is None or broken is None:
        return None
    return Point(
        name=name,
        style="ink" if name in REFERENCES else colour(index),
        x=cores.mean,
        y=broken.mean,
        x_half=cores.half_width or 0.0,
        y_half=broken.half_width or 0.0,
    )


def _timelines(played: TournamentResult, one: Played) -> Section:
    """What each policy had running, beside what the load needed."""
    needed = np.append(one.demand[:1], one.demand)
    demand = Line(name="demand", x=played.step * np.arange(float(len(needed))), y=needed)
    charts = [
        Chart(
            title=name,
            x="s",
            y="executors",
            lines=(demand, Line(name="running", x=line.at, y=line.running)),
            stepped=True,
        )
        for name in played.names
        if (line := one.timelines.get(name)) is not None
    ]
    return Section(
        title=f"Executors over time, {one.load}, seed {one.seed}",
        figures=tuple(chart_data(chart) for chart in charts),
    )


def remarks(played: TournamentResult) -> list[str]:
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
