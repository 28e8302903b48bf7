"""Quotes of several keys in a row: the columns end to end, and where each key begins.

>>> two = Series.of(ts=[5, 6, 7], bid=[1, 2, 3], ask=[4, 5, 6], lengths=[2, 1])
>>> two.lengths.tolist(), two.ts[two.offsets[1] :].tolist()
([2, 1], [7])
>>> trim(two, two, window=3).ts.tolist()
[6, 5, 6, 7, 7]

`Arrivals` are the rows of a batch by symbol, before any is accepted or refused:

>>> batch = pa.RecordBatch.from_pydict({
...     "ts": pa.array([1, 2, 3], pa.timestamp("us", "UTC")), "number": [0, 1, 2],
...     "symbol": ["B", None, "B"], "bid": [10.0, 10.0, None], "bid_size": [1, 1, 0],
...     "ask": [11.0, 11.0, 12.0], "ask_size": [1, 1, 5],
... })
>>> came = Arrivals.of(batch)
>>> came.symbols, came.number.tolist(), came.quotes.lengths.tolist()
(('B', ''), [0, 2, 1], [2, 1])
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from penstock.core.errors import UserError

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


UNKNOWN: Final = np.iinfo(np.int64).min
"""Stands for a number or a moment that a row lacks."""
_TYPES: Final = {
    "ts": (pa.int64(), UNKNOWN),
    "number": (pa.int64(), UNKNOWN),
    "bid": (pa.float64(), np.nan),
    "ask": (pa.float64(), np.nan),
    "bid_size": (pa.int32(), -1),
    "ask_size": (pa.int32(), -1),
}
"""Each column with what stands for null; the last two are sizes that no quote can have."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Arrivals:
    """Rows grouped by symbol, those of a symbol in the order in which they came."""

    symbols: tuple[str, ...]
    """The keys, in the order of their first row; rows without a symbol are under ''."""
    number: NDArray[np.int64]
    """Of each row, as the source counts them."""
    quotes: Series

    @classmethod
    def of(cls, batch: pa.RecordBatch | pa.Table) -> "Arrivals":
        """Group a batch with the columns of `Quotes` and `ts`; others are left out."""
        _check(batch.schema.names)
        coded = _encode(batch["symbol"])
        codes = coded.indices.to_numpy(zero_copy_only=False)
        order = np.argsort(codes.astype(_narrow(len(coded.dictionary))), kind="stable")
        lengths = np.bincount(codes, minlength=len(coded.dictionary))
        columns = {name: _numbers(batch[name], name)[order] for name in _TYPES}
        number = columns.pop("number")
        quotes = Series(offsets=offsets(lengths), **columns)
        return cls(symbols=tuple(coded.dictionary.to_pylist()), number=number, quotes=quotes)


def _check(names: list[str]) -> None:
    for name in ("symbol", *_TYPES):
        if name not in names:
            raise UserError(f"quotes need a column {name}; the batch has {', '.join(names)}")


def _encode(symbols: Any) -> pa.DictionaryArray:
    names = symbols.combine_chunks() if isinstance(symbols, pa.ChunkedArray) else symbols
    return pc.fill_null(names.cast(pa.string()), "").dictionary_encode()


def _narrow(codes: int) -> type[np.unsignedinteger[Any]]:
    """The type by which numpy sorts fastest: short ones by radix."""
    return np.uint16 if codes <= 1 << 16 else np.uint32


def _numbers(column: Any, name: str) -> NDArray[Any]:
    kind, otherwise = _TYPES[name]
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64())
    filled = pc.fill_null(column.cast(kind), pa.scalar(otherwise, kind))
    return np.asarray(filled)
