"""A batch of rows by symbol: what comes before a quote is accepted or refused.

>>> batch = pa.RecordBatch.from_pydict({
...     "ts": pa.array([1, 2, 3], pa.timestamp("us", "UTC")), "number": [0, 1, 2],
...     "symbol": ["B", None, "B"], "bid": [10.0, 10.0, None], "bid_size": [1, 1, 0],
...     "ask": [11.0, 11.0, 12.0], "ask_size": [1, 1, 5],
... })
>>> came = Arrivals.of(batch)
>>> came.symbols, came.number.tolist(), came.quotes.lengths.tolist()
(('B', ''), [0, 2, 1], [2, 1])
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.core.errors import UserError
from penstock.pipeline.market.series import Series, offsets

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
