"""The data of Fig. 4 to 7: the first seed, by the half-hour, and costs by the hour and the day."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from penstock.experiment.results import Chart, Figure, Floats, Line
from penstock.papers.e2df import published
from penstock.papers.e2df.runs import (
    BEGINNING,
    BLOCK,
    CEILING,
    COMBINATIONS,
    OBJECTIVES,
    SHOWN,
    Days,
    Play,
    Runs,
)
from penstock.papers.e2df.setup import LIMIT

_WITHOUT: Final = Play(infrastructure="simple", application="threshold")
_HALF: Final = Play(infrastructure="rl", application="threshold")
_BOTH: Final = Play(infrastructure="rl", application="rl")
_COMPARED: Final = {
    "simple, threshold": _WITHOUT,
    "rl, threshold": _HALF,
    "rl, rl": _BOTH,
}
"""Fig. 6: without learning, and with it at one level and at both."""
_NOTES: Final = (
    f"The first seed. Response times are those of the worst minute of {BLOCK}, drawn at "
    f"{1e3 * CEILING:g} ms where they are longer or an operator is overloaded; replicas and nodes "
    f"are means of {BLOCK} minutes.",
)


def figures(runs: Runs) -> tuple[Figure, ...]:
    """All four."""
    return (_combinations(runs), _objectives(runs), _beginning(runs), _costs(runs))


def _combinations(runs: Runs) -> Figure:
    named = zip("abcdef", COMBINATIONS, strict=True)
    return Figure(
        number="4",
        title=f"The last {SHOWN} days, by the policies of infrastructure and application",
        charts=tuple(
            chart
            for letter, play in named
            for chart in _resources(
                f"({letter}) {play.infrastructure}, {play.application}", runs.curves(play).last
            )
        ),
        notes=_NOTES,
    )


def _objectives(runs: Runs) -> Figure:
    shown = [play for play in OBJECTIVES if play.demand_weight != published.WEIGHT]
    return Figure(
        number="5",
        title=f"The last {SHOWN} days with regions that learn, by the weight of demand",
        charts=tuple(
            chart
            for play in shown
            for chart in _resources(
                f"w_d {play.demand_weight:g}, {play.application}", runs.curves(play).last
            )
        ),
        notes=(*_NOTES, f"A weight of {published.WEIGHT:g} is in Fig. 4, (e) and (f)."),
    )


def _resources(name: str, days: Days) -> Iterator[Chart]:
    """Response time, and what it took."""
    bound = Line(name="bound", x=days.at[[0, -1]], y=np.full(2, 1e3 * LIMIT))
    response = Line(name="response time", x=days.at, y=1e3 * days.response)
    yield Chart(title=f"{name}: response time", x="day", y="ms", lines=(response, bound))
    yield Chart(
        title=f"{name}: replicas and nodes",
        x="day",
        y="",
        stepped=True,
        lines=(
            Line(name="replicas", x=days.at, y=days.replicas),
            Line(name="nodes", x=days.at, y=days.nodes),
        ),
    )


def _beginning(runs: Runs) -> Figure:
    days = {name: runs.curves(play).first for name, play in _COMPARED.items()}

    def chart(title: str, unit: str, quantity: str, scale: float = 1.0) -> Chart:
        lines = (
            Line(name=name, x=d.at, y=scale * getattr(d, quantity)) for name, d in days.items()
        )
        return Chart(title=title, x="day", y=unit, lines=tuple(lines))

    return Figure(
        number="6",
        title=f"The first {SHOWN} days, with and without learning",
        charts=(
            chart("response time", "ms", "response", 1e3),
            chart("replicas", "", "replicas"),
            chart("nodes", "", "nodes"),
        ),
        notes=_NOTES,
    )


def _costs(runs: Runs) -> Figure:
    learners = [play for play in OBJECTIVES if play.application == "rl"]
    curves = {f"w_d {play.demand_weight:g}": runs.curves(play) for play in learners}
    running = {name: c.running_cost for name, c in curves.items()}
    daily = {name: c.daily_cost for name, c in curves.items()}
    return Figure(
        number="7",
        title="Mean cost of regions that learn, above operators that learn",
        charts=(
            Chart(
                title=f"from the beginning to each hour of the first {BEGINNING} days",
                x="day",
                y="",
                lines=tuple(_over(running, 1 / 24)),
            ),
            Chart(title="of each day", x="day", y="", lines=tuple(_over(daily, 1.0))),
        ),
        notes=("The first seed; Expr. 1, on average over regions.",),
    )


def _over(values: dict[str, Floats], step: float) -> Iterator[Line]:
    """Each value at the end of what it is about, in days."""
    for name, found in values.items():
        yield Line(name=name, x=step * np.arange(1.0, len(found) + 1), y=found)
