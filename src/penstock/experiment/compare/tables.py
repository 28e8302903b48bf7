"""The tournament as tables, for a terminal and for a page alike.

`*` marks the least of a column, and `=` what chance may have put behind it. The clairvoyant takes
no part in that: no policy can know the future.
"""

from collections.abc import Iterator

from penstock.core.units import format_duration
from penstock.experiment.compare.outcome import TournamentResult
from penstock.experiment.compare.scores import MEASURES, TABLES
from penstock.experiment.results import Interval, Table

UNKNOWN = "-"


def tables(played: TournamentResult) -> Iterator[Table]:
    """Those of each load, and of all together where there are several."""
    for load in played.all_loads:
        yield from (table(played, title, load) for title in TABLES)


def table(played: TournamentResult, title: str, load: str | None) -> Table:
    """One table of one load, or of all."""
    measures = TABLES[title]
    header = [MEASURES[name].title for name in measures]
    return Table(
        title=f"{title}: {load or 'all workloads'}",
        header=("policy", *header),
        rows=tuple(_row(played, name, measures, load) for name in played.names),
        notes=tuple(_errors(played, load)),
    )


def _row(
    played: TournamentResult, name: str, measures: tuple[str, ...], load: str | None
) -> tuple[str, ...]:
    if played.error(name, load) is not None:
        return (name, "raised", *[UNKNOWN] * (len(measures) - 1))
    cells = [
        f"{cell(played.score(name, one, load), MEASURES[one].unit)}{_mark(played, name, one, load)}"
        for one in measures
    ]
    return (name, *cells)


def _errors(played: TournamentResult, load: str | None) -> Iterator[str]:
    for name in played.names:
        if (error := played.error(name, load)) is not None:
            yield f"{name} raised {error}"


def _mark(played: TournamentResult, name: str, measure: str, load: str | None) -> str:
    best = played.best(measure, load)
    if best is None or name not in played.eligible:
        return ""
    if name == best:
        return " *"
    return " =" if played.same(name, best, measure, load) else ""


def cell(interval: Interval | None, unit: str) -> str:
    """A mean and how far chance may have moved it.

    >>> cell(Interval(0.0123, 0.004, 5), "share"), cell(Interval(842.7, 31.2, 5), "core-s")
    ('1.2 ±0.4 %', '843 ±31')
    >>> cell(Interval(3.8, None, 1), "s"), cell(None, "s")
    ('3.8 s', '-')
    """
    if interval is None:
        return UNKNOWN
    factor = 100.0 if unit == "share" else 1.0
    mean, half = factor * interval.mean, interval.half_width
    spread = "" if half is None else f" ±{_short(factor * half)}"
    if unit == "s" and not spread:
        return format_duration(mean)
    shown = {"share": " %", "%": " %", "s": " s", "J": " J"}.get(unit, "")
    return f"{_short(mean)}{spread}{shown}"


def _short(value: float) -> str:
    value = round(value, 9)  # what only rounding has left
    return f"{value:,.0f}" if abs(value) >= 99.5 else f"{value:.2g}"
