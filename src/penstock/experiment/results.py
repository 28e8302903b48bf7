"""Results of an experiment as data: figures beside published ones, tables, curves and claims.

Everything here is plain values: a terminal, a page or a script shows them and computes nothing.

>>> entry = Entry(
...     where={"table": "V", "workload": "cyclic", "strategy": "nash", "quantity": "cost"},
...     ours=interval([1850.0, 1860.0]), paper=1792.0, tolerance=0.05,
... )
>>> entry.differs
False
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, sqrt
from statistics import fmean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """In 95 of 100 repetitions the true mean lies within `half_width` of the mean."""

    mean: float
    half_width: float | None
    """None for a single run, which says nothing about chance."""
    runs: int

    def __repr__(self) -> str:
        half = "None" if self.half_width is None else f"{self.half_width:.3g}"
        return f"Interval(mean={self.mean:.6g}, half_width={half}, runs={self.runs})"

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        half = self.half_width
        return {
            "mean": self.mean,
            "low": None if half is None else self.mean - half,
            "high": None if half is None else self.mean + half,
            "runs": self.runs,
        }


def interval(values: Sequence[float]) -> Interval:
    """The mean of one value per seed, with its 95 % interval.

    >>> interval([10.0, 12.0, 11.0, 13.0])
    Interval(mean=11.5, half_width=2.05, runs=4)
    """
    runs, mean = len(values), fmean(values)
    if runs < 2:
        return Interval(mean, None, runs)
    return Interval(mean, student(runs - 1) * stdev(values) / sqrt(runs), runs)


def student(freedom: int) -> float:
    """97.5 % of Student's distribution with so many degrees of freedom are below.

    >>> [round(student(freedom), 2) for freedom in (1, 5, 9, 29, 99)]
    [12.71, 2.57, 2.26, 2.05, 1.98]
    """
    from scipy.special import stdtrit  # of the extra `twin`, which every experiment needs

    return float(stdtrit(freedom, 0.975))


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One figure of a table."""

    where: Mapping[str, str]
    """Table, workload, strategy, quantity and so on, by which to find it."""
    ours: Interval
    paper: float | None
    """As printed; None where the paper has no such figure."""
    tolerance: float
    """Share of the paper's figure by which ours may be off before it needs a reason."""
    calibrated: bool = False
    """Whether settings of ours were fitted to the paper's figure, so that it confirms nothing."""

    @property
    def differs(self) -> bool:
        """Whether it is off by more than that."""
        if self.paper is None:
            return False
        return abs(self.ours.mean - self.paper) > self.tolerance * abs(self.paper)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            **self.where,
            "ours": self.ours.to_json(),
            "paper": self.paper,
            "tolerance": self.tolerance,
            "differs": self.differs,
            "calibrated": self.calibrated,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table as it is shown, and what is to be said under it."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One curve of a chart."""

    name: str
    x: Floats
    y: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Curves over a common axis; or a bar for each value, where `x` counts names."""

    title: str
    x: str
    """What is counted to the right: step, iteration..."""
    y: str
    """Unit of the values; `%` for shares of one."""
    lines: tuple[Line, ...]
    stepped: bool = False
    """Whether a value holds until the next one."""
    wide: str = ""
    """Axes on which each tenfold takes the same room: `x`, `y` or `xy`."""
    names: tuple[str, ...] = ()
    """Of the places along x, where these are no numbers: then there are bars, not curves."""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "title": self.title,
            "x": self.x,
            "y": self.y,
            "lines": [
                {"name": line.name, "x": _axis(self, line), "y": rounded(line.y)}
                for line in self.lines
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure of the paper, with the data of ours."""

    number: str
    title: str
    charts: tuple[Chart, ...]
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "title": self.title,
            "charts": [chart.to_json() for chart in self.charts],
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Something that the paper found, and whether it was found again."""

    text: str
    found: str
    holds: bool
    kind: str = "order"
    """`agrees` (a tolerance on both sides), `at least`, `at most`, or `order`."""
    limit: str = ""
    """The kind with its tolerance or bound, in words."""
    calibrated: bool = False
    """Whether settings of ours were fitted to make it hold."""
    reason: str = ""
    """Why it does not hold, where that is known."""

    @property
    def answer(self) -> str:
        """What was found, how it was judged, and why it does not hold."""
        judged = f"[{self.limit or self.kind}{', calibrated' * self.calibrated}]"
        return " ".join(filter(None, (self.found, judged, "" if self.holds else self.reason)))

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "claim": self.text,
            "kind": self.kind,
            "limit": self.limit or self.kind,
            "calibrated": self.calibrated,
            "found": self.found,
            "holds": self.holds,
            "reason": "" if self.holds else self.reason,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """All of it."""

    paper: str
    title: str
    settings: Mapping[str, Any]
    entries: tuple[Entry, ...]
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]
    remarks: tuple[str, ...]
    """How it was done, where that may be asked."""

    def to_json(self) -> dict[str, Any]:
        """One object with everything, for machines."""
        return {
            "paper": self.paper,
            "title": self.title,
            "settings": dict(self.settings),
            "remarks": list(self.remarks),
            "claims": [claim.to_json() for claim in self.claims],
            "tables": [entry.to_json() for entry in self.entries],
            "notes": {table.title: list(table.notes) for table in self.tables},
            "figures": {figure.number: figure.to_json() for figure in self.figures},
        }


def rounded(values: Sequence[float] | Floats) -> list[float | None]:
    """Numbers with as many digits as a plot can show; None where there is none.

    >>> rounded([0.123456789, float("nan"), 3.0])
    [0.12346, None, 3]
    """
    return [_short(float(value)) for value in values]


def _short(value: float) -> float | None:
    if not isfinite(value):
        return None
    short = float(f"{value:.5g}")
    return int(short) if short.is_integer() else short


def _axis(chart: Chart, line: Line) -> list[Any]:
    return [chart.names[int(at)] for at in line.x] if chart.names else rounded(line.x)


# A figure as it stands in a table: our mean, half of its interval, and the paper's in brackets.


Words = Callable[[float], str]
"""How a figure is written."""


def small(half: float) -> str:
    """One digit of what is small, and no fraction of what is not.

    >>> small(0.00042), small(0.31), small(1.94), small(63.5), small(0.0)
    ('0.0004', '0.3', '2', '64', '0')
    """
    return f"{half:,.0f}" if half >= 1 else f"{float(f'{half:.1g}'):f}".rstrip("0").rstrip(".")


def cell(entry: Entry | None, words: Words, *, half: Words = small) -> str:
    """A figure, half of its interval, and the paper's; nothing where there is no figure.

    >>> entry = Entry(where={}, ours=interval([850.0, 860.0]), paper=792.0, tolerance=0.05)
    >>> cell(entry, lambda value: f"{value:.1f}")
    '855.0 ±64 (792)*'

    Words that change the unit write half of the interval, too:

    >>> def percent(share):
    ...     return f"{100 * share:.2f}"
    >>> entry = Entry(where={}, ours=interval([0.014, 0.012]), paper=0.02, tolerance=0.1)
    >>> cell(entry, percent, half=percent)
    '1.30 ±1.27 (2)*'
    """
    if entry is None:
        return ""
    shown = words(entry.ours.mean)
    shown += "" if entry.ours.half_width is None else f" ±{half(entry.ours.half_width)}"
    shown += "" if entry.paper is None else f" ({_short_number(words(entry.paper))})"
    return shown + "†" * entry.calibrated + "*" * entry.differs


def _short_number(words: str) -> str:
    """Without noughts that say nothing.

    >>> _short_number("0.870"), _short_number("418.0"), _short_number("1,790")
    ('0.87', '418', '1,790')
    """
    return words.rstrip("0").rstrip(".") if "." in words else words
