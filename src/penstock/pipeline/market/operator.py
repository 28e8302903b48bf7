"""The trading operator as a function: what is known of symbols and their rows in, results out.

>>> import pyarrow as pa
>>> from penstock.pipeline.market.quotes import Quotes
>>> def batch(begin, end):
...     index = np.arange(begin, end)
...     columns = {"ts": pa.array(1000 * index), **Quotes(symbols=1).columns(index)}
...     return Arrivals.of(pa.RecordBatch.from_pydict(columns))
>>> trade = Operator()
>>> first = trade(Memory.empty(1), batch(0, 60))
>>> second = trade(first.remembered(Memory.empty(1)), batch(60, 80))
>>> first.results.ordinal.tolist(), second.results.ordinal.tolist(), second.refused["empty"]
([1, 2], [3], 0)
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.core.errors import SettingError, UserError
from penstock.pipeline.market.arrivals import Arrivals
from penstock.pipeline.market.memory import Memory
from penstock.pipeline.market.screen import Screened, screen
from penstock.pipeline.market.series import Longs, trim
from penstock.pipeline.market.window import RESOLUTION, SLIDE, WINDOW, Results, analyse, check


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Step:
    """What the operator makes of a batch."""

    results: Results
    """Their `row` counts accepted quotes only."""
    triggers: Longs
    """The row that set each result off."""
    rows: Arrivals
    screened: Screened
    window: int

    @property
    def number(self) -> Longs:
        """The number of the quote that set each result off."""
        return self.rows.number[self.triggers]

    @property
    def refused(self) -> Mapping[str, int]:
        """Rows by reason."""
        return self.screened.refused

    def remembered(self, before: Memory) -> Memory:
        """What the next batch is to go on from, for whoever keeps it in memory."""
        fresh = self.rows.quotes.keep(self.screened.accepted)
        return Memory(
            counts=before.counts + fresh.lengths,
            last=self.screened.last,
            newest=self.screened.newest,
            history=trim(before.history, fresh, self.window),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """Screens the rows of each symbol and evaluates its window."""

    window: int = WINDOW
    """Quotes in a window."""
    slide: int = SLIDE
    """Quotes from one result to the next."""
    resolution: int = RESOLUTION
    """Microseconds in which quotes are averaged."""
    lateness: int = 0
    """Microseconds by which a quote may be older than the newest before it."""

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        check(self.window, self.slide, self.resolution)
        if self.lateness < 0:
            raise SettingError(f"lateness must not be negative, got {self.lateness}")

    def __call__(self, memory: Memory, rows: Arrivals) -> Step:
        """Go on from a memory of the same symbols in the same order."""
        if len(memory.counts) != len(rows.symbols):
            raise UserError(
                f"got the memory of {len(memory.counts)} symbols for rows of {len(rows.symbols)}; "
                "give the memory of the same symbols"
            )
        judged = screen(rows, last=memory.last, newest=memory.newest, lateness=self.lateness)
        fresh = rows.quotes.keep(judged.accepted)
        results = analyse(
            memory.history,
            memory.counts,
            fresh,
            window=self.window,
            slide=self.slide,
            resolution=self.resolution,
        )
        triggers = np.flatnonzero(judged.accepted)[results.row]
        return Step(
            results=results, triggers=triggers, rows=rows, screened=judged, window=self.window
        )
