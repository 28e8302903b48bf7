"""The trading operator as a function: what is known of symbols and their rows in, results out.

>>> import pyarrow as pa
>>> from penstock.apps.trading.quotes import Quotes
>>> def batch(begin, end):
...     index = np.arange(begin, end)
...     columns = {"ts": pa.array(1000 * index), **Quotes(symbols=1).columns(index)}
...     return Arrivals.of(pa.RecordBatch.from_pydict(columns))
>>> trade = Operator()
>>> first = trade(Memory.empty(1), batch(0, 60))
>>> second = trade(first.remembered(Memory.empty(1)), batch(60, 80))
>>> first.results.ordinal.tolist(), second.results.ordinal.tolist(), second.refused["empty"]
([1, 2], [3], 0)

`screen` says which quotes are accepted. Each key's rows are judged in their order, by the last
quote accepted before:

| refused as | because |
|---|---|
| malformed | no symbol, number or moment; a size that is missing or negative; a side that has a size, and a price that is missing, not above zero or not below DEAREST |
| empty | both sizes are zero |
| duplicate | its number is not above that of the last accepted quote |
| late | it is older than the newest accepted quote, by more than `lateness` |

A row with several faults counts under the first of them. A symbol never seen before is no fault.

>>> from penstock.apps.trading.series import Series
>>> came = Series.of(ts=[5, 6, 6, 4, 7], bid=[10, 10, 10, 10, -1], ask=[11] * 5)
>>> rows = Arrivals(symbols=("B",), number=np.array([0, 1, 1, 2, 3]), quotes=came)
>>> judged = screen(rows, last=np.array([UNKNOWN]), newest=np.array([UNKNOWN]))
>>> judged.accepted.tolist(), judged.refused["duplicate"], judged.refused["late"]
([True, True, False, False, False], 1, 1)

`Memory` is what the operator knows of each symbol when a batch comes; `to_batch` makes rows of its
results, one for each window:

>>> from penstock.apps.trading.window import analyse
>>> ramp = np.arange(25)
>>> fresh = Series.of(ts=1000 * ramp, bid=100 + ramp, ask=101 + ramp)
>>> found = analyse(Series.empty(1), np.zeros(1, np.int64), fresh)
>>> row = to_batch(found, ["B"], number=found.row).to_pylist()[0]
>>> row["symbol"], row["ordinal"], row["number"], row["bid_points"], row["close"]
('B', 1, 24, 25, 124.5)
"""  # noqa: E501  # a table has long lines

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.apps.trading.series import (
    UNKNOWN,
    Arrivals,
    ColumnArrays,
    Flags,
    Longs,
    Series,
    plain,
    trim,
)
from penstock.apps.trading.window import RESOLUTION, SLIDE, WINDOW, Results, analyse, check
from penstock.core.errors import SettingError, UserError
from penstock.model.compiling import entry, inlined

REASONS: Final = ("malformed", "empty", "duplicate", "late")
DEAREST: Final = 1e12
"""No price reaches this; the sums over a window of those that do might not be finite."""
_ACCEPTED, _MALFORMED, _EMPTY, _DUPLICATE, _LATE = range(5)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Screened:
    """The verdict on a batch, and what to judge the next one by."""

    accepted: Flags
    """Of each row."""
    refused: Mapping[str, int]
    """Rows by reason; every reason is there."""
    last: Longs
    """The number of the last quote accepted, of each key."""
    newest: Longs
    """The moment of the newest quote accepted, of each key."""


def screen(rows: Arrivals, *, last: Longs, newest: Longs, lateness: int = 0) -> Screened:
    """Judge the rows of K keys; a key never seen has UNKNOWN as its last number and moment.

    `lateness` is in microseconds.
    """
    if lateness < 0:
        raise SettingError(f"lateness must not be negative, got {lateness}")
    keys = len(rows.symbols)
    if (last.size, newest.size) != (keys, keys):  # compiled code would read beyond the end
        raise ValueError(
            f"last and newest need one entry for each of the {keys} symbols, "
            f"got {last.size} and {newest.size}"
        )
    last, newest = last.astype(np.int64), newest.astype(np.int64)
    verdict = np.empty(len(rows.number), np.int8)
    named = np.array([name != "" for name in rows.symbols], np.bool_)
    _judge(rows.quotes.arrays, plain(rows.number), named, lateness, last, newest, verdict)
    counts = np.bincount(verdict, minlength=len(REASONS) + 1)[1:].tolist()
    refused = dict(zip(REASONS, counts, strict=True))
    return Screened(accepted=verdict == _ACCEPTED, refused=refused, last=last, newest=newest)


@entry
def _judge(
    columns: ColumnArrays,
    number: Longs,
    named: Flags,
    lateness: int,
    last: Longs,
    newest: Longs,
    verdict: NDArray[np.int8],
) -> None:
    starts, ts, bid, ask, bid_size, ask_size = columns
    for key in range(last.size):
        for row in range(starts[key], starts[key + 1]):
            known = named[key] and number[row] != UNKNOWN and ts[row] != UNKNOWN
            sound = _sound(bid[row], bid_size[row]) and _sound(ask[row], ask_size[row])
            if not (known and sound):
                verdict[row] = _MALFORMED
            elif bid_size[row] == 0 and ask_size[row] == 0:
                verdict[row] = _EMPTY
            elif number[row] <= last[key]:
                verdict[row] = _DUPLICATE
            elif newest[key] != UNKNOWN and ts[row] < newest[key] - lateness:
                verdict[row] = _LATE
            else:
                verdict[row] = _ACCEPTED
                last[key] = number[row]
                newest[key] = max(newest[key], ts[row])


@inlined
def _sound(price: float, size: int) -> bool:
    """Whether a side is none, or one that can be traded."""
    return size == 0 or (size > 0 and price > 0.0 and price < DEAREST)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Memory:
    """The state of K symbols."""

    counts: NDArray[np.int64]
    """Quotes ever accepted."""
    last: NDArray[np.int64]
    """The number of the last one."""
    newest: NDArray[np.int64]
    """The moment of the newest one."""
    history: Series
    """The last of them: as many as a window has."""

    @classmethod
    def empty(cls, keys: int) -> "Memory":
        """Symbols never seen."""
        nothing = np.full(keys, UNKNOWN)
        counts = np.zeros(keys, np.int64)
        return cls(counts=counts, last=nothing, newest=nothing, history=Series.empty(keys))


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
        """The memory for the next batch, for callers that keep it."""
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


_COEFFICIENTS: Final = ("quadratic", "linear", "constant")
SIDES: Final = ("bid", "ask")
CANDLE: Final = ("open", "high", "low", "close")
SCHEMA: Final = ", ".join(
    (
        "symbol string, ordinal long, number long, ts timestamp, oldest timestamp",
        *(f"{side}_{name} double" for side in SIDES for name in _COEFFICIENTS),
        *(f"{side}_points int" for side in SIDES),
        *(f"{name} double" for name in CANDLE),
    )
)
"""The columns, as Spark writes them."""
_MOMENT: Final = pa.timestamp("us", "UTC")


def to_batch(results: Results, symbols: Sequence[str], number: Longs) -> pa.RecordBatch:
    """The results with the names of their keys and the number of the quote that set each off."""
    columns = {
        "symbol": pa.array(symbols, pa.string()).take(pa.array(results.key)),
        "ordinal": pa.array(results.ordinal),
        "number": pa.array(number, pa.int64()),
        "ts": pa.array(results.ts, _MOMENT),
        "oldest": pa.array(results.oldest, _MOMENT),
    }
    for side in SIDES:
        for name, values in zip(_COEFFICIENTS, results.parabola(side).T, strict=True):
            columns[f"{side}_{name}"] = pa.array(values)
    for side in SIDES:
        columns[f"{side}_points"] = pa.array(results.points(side), pa.int32())
    for name, values in zip(CANDLE, results.candle.T, strict=True):
        columns[name] = pa.array(values)
    return pa.RecordBatch.from_pydict(columns)
