"""What a pipeline of preference queries is asked: the `query` of its file."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Final

from penstock.core.errors import SettingError
from penstock.core.panes import Panes
from penstock.core.schema import Seconds
from penstock.core.settings import near
from penstock.core.units import format_duration

KINDS: Final = ("skyline", "top-delta")
DATA: Final = ("uniform", "correlated", "anti-correlated")
_MOST_DIMENSIONS: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The best tuples of sliding windows.

    >>> Asked(delta=0)
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: delta of query must be at least 1, got 0
    """

    kind: str = "skyline"
    """`skyline`: the tuples that no other dominates; `top-delta`: those least dominated."""
    window: Seconds = 1.0
    slide: Seconds = 0.2
    """Seconds between two windows."""
    delta: int = 100
    """Tuples in an answer of top-delta."""
    dimensions: int = 8
    """Coordinates of a generated tuple."""
    data: str = "uniform"
    """How coordinates of a generated tuple belong together: `uniform`, `correlated` or
    `anti-correlated`."""
    tuples: str | None = None
    """A file of recorded tuples, CSV or Parquet; its columns of numbers are the coordinates."""
    slack: Seconds = 0.0
    """How late tuples may come before anything is known of the stream."""
    max_slack: Seconds = 60.0
    """The longest that late tuples are waited for."""
    drop_rate: float | None = None
    """Share of the tuples that may be dropped as late in order to wait less."""

    comparison: Seconds = 0.0
    """Seconds that the twin takes to compare two tuples; on Spark they take what they take."""

    def panes(self) -> Panes:
        """What windows are made of."""
        return Panes(window=round(self.window * 1e6), slide=round(self.slide * 1e6))

    def left_out(self) -> Iterator[str]:
        """What the twin does not know of the query.

        >>> list(Asked(drop_rate=0.05).left_out())
        ['the twin drops no tuple on purpose: drop_rate of query is left out']
        """
        unlike = [v for v in (self.kind, self.data) if v not in ("skyline", "uniform")]
        if self.comparison and (unlike or self.tuples):
            told = " and ".join(unlike) or "recorded tuples"
            yield f"the twin compares as for skylines of uniform tuples, not of {told}"
        if self.drop_rate is not None:
            yield "the twin drops no tuple on purpose: drop_rate of query is left out"

    def __post_init__(self) -> None:
        """Refuse what no query could be."""
        for name, known in (("kind", KINDS), ("data", DATA)):
            given = getattr(self, name)
            if given not in known:
                raise SettingError(f"there is no {name} {given!r} of query{near(given, known)}")
        self.panes()
        if self.delta < 1:
            raise SettingError(f"delta of query must be at least 1, got {self.delta}")
        if not 1 <= self.dimensions <= _MOST_DIMENSIONS:
            raise SettingError(
                f"dimensions of query must be 1 to {_MOST_DIMENSIONS}, got {self.dimensions}"
            )
        if not 0 <= self.comparison < inf:
            raise SettingError(
                f"comparison of query must be 0s or more, got {self.comparison:g}s; write 0.2us"
            )
        if not 0 <= self.slack <= self.max_slack:
            raise SettingError(
                f"slack of query must be 0 up to its max_slack of "
                f"{format_duration(self.max_slack)}, got {format_duration(self.slack)}"
            )
        if self.drop_rate is not None and not 0 <= self.drop_rate < 1:
            raise SettingError(f"drop_rate of query must be in [0, 1), got {self.drop_rate:g}")
