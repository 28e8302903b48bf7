"""The measures of a running query, stage by stage, for a controller."""

from dataclasses import dataclass
from math import sqrt
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.streaming.listener import StreamingQueryProgress


@dataclass(frozen=True, slots=True, kw_only=True)
class PaneLoad:
    """The pane stage in one batch.

    >>> load = PaneLoad(rows=900, busy=0.9, tasks=2, rows_squared=450_000, parts=6, panes=4)
    >>> load.splitting, load.utilisation(period=1.0)
    (1.5, 0.5)
    """

    rows: int = 0
    set_aside: int = 0
    """Rows without a comparable value or a time."""
    busy: float = 0.0
    """Seconds of work, of all workers."""
    tasks: int = 0
    """Workers with any work."""
    rows_squared: float = 0.0
    """The sum of the squares of the workers' rows."""
    parts: int = 0
    parts_squared: float = 0.0
    """The sum of the squares of the parts' rows."""
    panes: int = 0

    @property
    def part_sizes(self) -> tuple[float, float] | None:
        """Rows of a part, their mean and standard deviation; None without parts.

        >>> PaneLoad(rows=600, parts=2, parts_squared=200.0**2 + 400.0**2).part_sizes
        (300.0, 100.0)
        """
        if not self.parts:
            return None
        mean = self.rows / self.parts
        return mean, sqrt(max(self.parts_squared / self.parts - mean**2, 0.0))

    @property
    def splitting(self) -> float | None:
        """Parts of a pane on average; None without panes."""
        return self.parts / self.panes if self.panes else None

    def utilisation(self, period: float) -> float | None:
        """Mean utilisation of workers in a period, weighted by their rows; None without rows.

        A worker with n rows has n times the mean service time, divided by the period (ppq, Section
        3.1); above 1, rows arrive faster than they are processed.
        """
        if not self.rows or period <= 0:
            return None
        return self.rows_squared / self.rows * (self.busy / self.rows) / period


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowLoad:
    """The window stage in one batch."""

    late: int = 0
    """Rows dropped because their pane was closed."""
    windows: int = 0
    empty: int = 0
    """Complete windows without rows."""
    panes: int = 0
    merges: int = 0
    tasks: int = 0
    """Merges and answered windows."""
    busy: float = 0.0
    """Seconds of work, of all slots."""
    slack: float = 0.0
    """Seconds by which the punctuation was behind the newest row."""
    punctuation: float = 0.0
    """Seconds since 1970."""

    def utilisation(self, period: float, slots: int = 1) -> float | None:
        """Mean utilisation of the slots in a period.

        >>> WindowLoad(busy=0.9).utilisation(period=1.0, slots=2)
        0.45
        """
        return self.busy / (period * slots) if period > 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """Both stages in one batch."""

    panes: PaneLoad
    windows: WindowLoad

    @classmethod
    def of(
        cls, progress: StreamingQueryProgress | None, name: str = "preference"
    ) -> "Measures | None":
        """From a batch of the query of this name; None without a batch or without rows."""
        observed = {} if progress is None else progress.observedMetrics
        panes, windows = observed.get(f"{name}_panes"), observed.get(f"{name}_windows")
        if panes is None or windows is None:
            return None
        return cls(panes=PaneLoad(**known(panes)), windows=WindowLoad(**known(windows)))


def known(row: Any) -> dict[str, Any]:
    """The observed metrics that are not null; counts as integers."""
    values = row.asDict() if hasattr(row, "asDict") else dict(row)
    exact = ("busy", "slack", "punctuation", "rows_squared", "parts_squared")
    return {
        name: value if name in exact else int(value)
        for name, value in values.items()
        if value is not None
    }


# The measures of the window stage travel in a column of their own, which Spark adds up.

SUMS: Final = ("late", "empty", "panes", "merges", "windows", "busy", "tasks")
"""Late rows; windows without rows; panes with new rows; merges of several parts; windows with a
result; seconds of work, and the tasks that did it."""
PEAKS: Final = ("slack", "punctuation")
"""Seconds that rows may be late, and the time before which windows are complete."""
COLUMN: Final = "window_measures"
FIELD: Final = pa.field(COLUMN, pa.list_(pa.float64()))


def measures_row(**values: float) -> dict[str, list[float | None]]:
    """The column of a row with measures.

    >>> measures_row(late=3, slack=0.4)
    {'window_measures': [3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.4, None]}
    """
    sums = [float(values.get(name, 0.0)) for name in SUMS]
    return {COLUMN: [*sums, *(values.get(name) for name in PEAKS)]}


def observed(results: DataFrame, name: str) -> DataFrame:
    """Only the results; the measures go to the progress of the query, under this name."""
    aggregates = [
        (sql.sum if name in SUMS else sql.max)(sql.col(COLUMN)[place]).alias(name)
        for place, name in enumerate((*SUMS, *PEAKS))
    ]
    return dropped(results.observe(name, *aggregates))


def dropped(results: DataFrame) -> DataFrame:
    """Only the results, without the measures."""
    return results.where(sql.col(COLUMN).isNull()).drop(COLUMN)
