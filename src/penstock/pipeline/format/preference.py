"""What a pipeline of preference queries is asked: the `query` of its file."""

from dataclasses import dataclass
from typing import Annotated, Final

from penstock.core.errors import SettingError
from penstock.core.panes import Panes
from penstock.core.schema import (
    BelowOne,
    Bounds,
    Count,
    NotNegativeSeconds,
    OneOf,
    PositiveSeconds,
    checked,
)
from penstock.core.units import format_duration

KINDS: Final = ("skyline", "top-delta")
DATA: Final = ("uniform", "correlated", "anti-correlated")
_MOST_DIMENSIONS: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
@checked("query")
class PreferenceQuery:
    """The best tuples of sliding windows.

    >>> PreferenceQuery(delta=0)
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: delta of query must be 1 or more, got 0
    """

    kind: Annotated[str, OneOf(KINDS)] = "skyline"
    """`skyline`: the tuples that no other dominates; `top-delta`: those least dominated."""
    window: PositiveSeconds = 1.0
    """Length of a window."""
    slide: PositiveSeconds = 0.2
    """Seconds between two windows."""
    delta: Count = 100
    """Tuples in an answer of top-delta."""
    dimensions: Annotated[int, Bounds(least=1, most=_MOST_DIMENSIONS)] = 8
    """Coordinates of a generated tuple."""
    data: Annotated[str, OneOf(DATA)] = "uniform"
    """How coordinates of a generated tuple belong together: `uniform`, `correlated` or
    `anti-correlated`."""
    tuples: str | None = None
    """A file of recorded tuples, CSV or Parquet; its columns of numbers are the coordinates."""
    slack: NotNegativeSeconds = 0.0
    """How late tuples may come before anything is known of the stream."""
    max_slack: NotNegativeSeconds = 60.0
    """The longest that late tuples are waited for."""
    drop_rate: BelowOne | None = None
    """Share of the tuples that may be dropped as late in order to wait less."""

    comparison: NotNegativeSeconds = 0.0
    """Seconds that the twin takes to compare two tuples; on Spark they take what they take."""

    def panes(self) -> Panes:
        """What windows are made of."""
        return Panes(window=round(self.window * 1e6), slide=round(self.slide * 1e6))

    def left_out(self) -> list[str]:
        """What the twin does not simulate; it compares as for skylines of uniform tuples.

        >>> PreferenceQuery(drop_rate=0.05, data="correlated", comparison=1e-7).left_out()
        ['data of query', 'drop_rate of query']
        """
        usual = {"kind": "skyline", "data": "uniform", "tuples": None} if self.comparison else {}
        names = [name for name, value in usual.items() if getattr(self, name) != value]
        dropped = [] if self.drop_rate is None else ["drop_rate"]
        return [f"{name} of query" for name in (*names, *dropped)]

    def __post_init__(self) -> None:
        """Refuse what no query could be."""
        self.panes()
        if self.slack > self.max_slack:
            raise SettingError(
                f"slack of query must be 0 up to its max_slack of "
                f"{format_duration(self.max_slack)}, got {format_duration(self.slack)}",
                fields=("slack", "max_slack"),
            )
