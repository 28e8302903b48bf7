"""Quotes of several keys in a row: the columns end to end, and where each key begins.

>>> two = Series.of(ts=[5, 6, 7], bid=[1, 2, 3], ask=[4, 5, 6], lengths=[2, 1])
>>> two.lengths.tolist(), two.ts[two.offsets[1] :].tolist()
([2, 1], [7])
>>> trim(two, two, window=3).ts.tolist()
[6, 5, 6, 7, 7]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

T = TypeVar("T", bound=np.generic)
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Flags = NDArray[np.bool_]
ColumnArrays = tuple[Longs, Longs, Floats, Floats, Ints, Ints]

COLUMNS: Final = ("ts", "bid", "ask", "bid_size", "ask_size")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Series:
    """The quotes of K keys, in each key in the order in which they came."""

    offsets: Longs
    """Key k has rows `offsets[k]` up to `offsets[k + 1]`: K + 1 values, from 0 to all rows."""
    ts: Longs
    """Microseconds since the epoch."""
    bid: Floats
    ask: Floats
    bid_size: Ints
    """Zero where there is no such side; its price then means nothing."""
    ask_size: Ints

    @classmethod
    def of(
        cls,
        *,
        ts: ArrayLike,
        bid: ArrayLike,
        ask: ArrayLike,
        bid_size: ArrayLike = 1,
        ask_size: ArrayLike = 1,
        lengths: ArrayLike | None = None,
    ) -> "Series":
        """From anything that numpy reads; sizes may be one for all, and the rows of one key."""
        moments = np.asarray(ts, np.int64)
        return cls(
            offsets=offsets([len(moments)] if lengths is None else lengths),
            ts=moments,
            bid=np.asarray(bid, np.float64),
            ask=np.asarray(ask, np.float64),
            bid_size=_sizes(bid_size, len(moments)),
            ask_size=_sizes(ask_size, len(moments)),
        )

    @classmethod
    def empty(cls, keys: int) -> "Series":
        """So many keys without a quote."""
        return cls.of(ts=[], bid=[], ask=[], lengths=np.zeros(keys, np.int64))

    @property
    def lengths(self) -> Longs:
        """Quotes of each key."""
        return np.diff(self.offsets)

    @property
    def arrays(self) -> ColumnArrays:
        """Offsets and columns as compiled code takes them, the same memory where it can be."""
        return (
            *(plain(self.offsets), plain(self.ts), plain(self.bid), plain(self.ask)),
            *(plain(self.bid_size), plain(self.ask_size)),
        )

    def keep(self, mask: Flags) -> "Series":
        """Those rows only; a key that loses all of them stays, with none."""
        before = np.concatenate(([0], np.cumsum(mask)))
        return self._taken(mask, np.asarray(before[self.offsets], np.int64))

    def _taken(self, rows: Flags | Longs, starts: Longs) -> "Series":
        return Series(offsets=starts, **{name: getattr(self, name)[rows] for name in COLUMNS})


def concatenate(parts: Sequence[Series]) -> Series:
    """The keys of several series, one series after the other."""
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS}
    lengths = np.concatenate([part.lengths for part in parts])
    return Series(offsets=offsets(lengths), **columns)


def trim(history: Series, fresh: Series, window: int) -> Series:
    """What the next batch needs to know: of each key the last `window` quotes."""
    both = concatenate((history, fresh))
    old, new = history.lengths, fresh.lengths
    kept_new = np.minimum(new, window)
    kept_old = np.minimum(old, window - kept_new)
    lengths = kept_old + kept_new
    starts = offsets(lengths)
    rank = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
    first_old = history.offsets[1:] - kept_old
    first_new = len(history.ts) + fresh.offsets[1:] - kept_new - kept_old
    from_old = rank < np.repeat(kept_old, lengths)
    rows = rank + np.where(from_old, np.repeat(first_old, lengths), np.repeat(first_new, lengths))
    return both._taken(rows, starts)


def offsets(lengths: ArrayLike) -> Longs:
    """Where each of several stretches begins, and where the last one ends.

    >>> offsets([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    return np.concatenate(([0], np.cumsum(np.asarray(lengths, np.int64)))).astype(np.int64)


def plain(array: NDArray[T]) -> NDArray[T]:
    """In one piece and writable: other kinds of arrays would be compiled for once more."""
    return np.require(array, requirements=["C", "W"])


def _sizes(given: ArrayLike, rows: int) -> Ints:
    return np.ascontiguousarray(np.broadcast_to(np.asarray(given, np.int32), rows))
