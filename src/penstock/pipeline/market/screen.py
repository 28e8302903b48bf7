"""Which quotes are accepted, and why the others are not.

Each key's rows are judged in their order, by the last quote accepted before:

| refused as | because |
|---|---|
| malformed | no symbol, number or moment; a size that is missing or negative; a side that has a size, and a price that is missing, not above zero or not below DEAREST |
| empty | both sizes are zero |
| duplicate | its number is not above that of the last accepted quote |
| late | it is older than the newest accepted quote, by more than `lateness` |

A row with several faults counts under the first of them. A symbol never seen before is no fault.

>>> from penstock.pipeline.market.series import Series
>>> came = Series.of(ts=[5, 6, 6, 4, 7], bid=[10, 10, 10, 10, -1], ask=[11] * 5)
>>> rows = Arrivals(symbols=("B",), number=np.array([0, 1, 1, 2, 3]), quotes=came)
>>> judged = screen(rows, last=np.array([UNKNOWN]), newest=np.array([UNKNOWN]))
>>> judged.accepted.tolist(), judged.refused["duplicate"], judged.refused["late"]
([True, True, False, False, False], 1, 1)
"""  # noqa: E501  # a table has long lines

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.model.compiling import entry, inlined
from penstock.pipeline.market.arrivals import UNKNOWN, Arrivals
from penstock.pipeline.market.series import ColumnArrays, Flags, Longs, plain

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
    found = np.bincount(verdict, minlength=len(REASONS) + 1)[1:].tolist()
    refused = dict(zip(REASONS, found, strict=True))
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
