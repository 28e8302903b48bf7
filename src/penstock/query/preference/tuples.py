"""Rows of an Arrow table as points: smaller is better, and the order of every value is kept.

>>> table = pa.table({"price": [3, 1], "stars": [4.0, 5.0]})
>>> points(table, on=("price", "stars"), maximise=frozenset({"stars"}))
array([[ 3., -4.],
       [ 1., -5.]])
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_EXACT: Final = 2**53
"""Integers up to here are exact as doubles."""
_EXACT_DIGITS: Final = 15


def points(
    table: pa.Table, on: Sequence[str], maximise: frozenset[str], *, ranked: bool = True
) -> Floats:
    """The values of `on`, a row for each row.

    Numbers that doubles cannot represent exactly, such as long integers and decimals, are replaced
    by their ranks in the table: comparisons have the same results. If not `ranked`, they are the
    nearest doubles.
    """
    made = np.empty((table.num_rows, len(on)))
    for place, name in enumerate(on):
        values = _ordered(table[name]) if ranked else _doubles(table[name])
        made[:, place] = -values if name in maximise else values
    return made


def _ordered(column: pa.ChunkedArray) -> Floats:
    """Doubles in the order of the column's values."""
    if _fits(column):
        return _doubles(column)
    ranks = pc.rank(column.combine_chunks(), sort_keys="ascending", tiebreaker="dense")
    return np.asarray(ranks.to_numpy(zero_copy_only=False).astype(np.float64))


def _doubles(column: pa.ChunkedArray) -> Floats:
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy())


def _fits(column: pa.ChunkedArray) -> bool:
    """Whether the column's values are exact as doubles."""
    kind = column.type
    if pa.types.is_decimal(kind):
        return bool(kind.precision <= _EXACT_DIGITS)
    if pa.types.is_integer(kind) and kind.bit_width > 32 and len(column):
        low, high = pc.min_max(column).as_py().values()
        return bool(low >= -_EXACT and high <= _EXACT)
    return True


def usable(table: pa.Table, on: Sequence[str], time: str) -> pa.Array:
    """Which rows can be compared: those with a time and values that are neither null nor NaN.

    >>> rows = pa.table({"ts": [1, None, 3, 4], "x": [1.0, 2.0, None, float("nan")]})
    >>> usable(rows, on=["x"], time="ts").to_pylist()
    [True, False, False, False]
    """
    good = pc.is_valid(table[time])
    for name in on:
        column = table[name]
        good = pc.and_(good, pc.is_valid(column))
        if pa.types.is_floating(column.type):
            good = pc.and_not(good, pc.fill_null(pc.is_nan(column), True))
    return good.combine_chunks() if isinstance(good, pa.ChunkedArray) else good


def times(table: pa.Table, time: str) -> Ints:
    """Microseconds since 1970 of each row."""
    micros = table[time].cast(pa.timestamp("us", table[time].type.tz)).cast(pa.int64())
    return np.asarray(micros.to_numpy())


def in_utc(table: pa.Table) -> pa.Table:
    """Timestamps in UTC, whatever the session's time zone: a restarted query may have another.

    >>> rows = pa.table({"t": pa.array([0], pa.timestamp("us", "Europe/Rome"))})
    >>> in_utc(rows).schema.field("t").type
    TimestampType(timestamp[us, tz=UTC])
    """
    for place, column in enumerate(table.schema):
        zone = getattr(column.type, "tz", None)
        if zone not in (None, "UTC"):
            moments = table.column(place).cast(pa.timestamp(column.type.unit, "UTC"))
            table = table.set_column(place, column.name, moments)
    return table


@dataclass(frozen=True, slots=True)
class Groups:
    """Rows ordered by group: `order` lists the rows, group by group."""

    order: Ints
    starts: Ints
    """Where each group begins in that order, and where the last one ends."""

    @classmethod
    def of(cls, codes: Ints) -> "Groups":
        """Rows with the same code belong together, and keep their order.

        >>> Groups.of(np.array([7, 3, 7]))
        Groups(order=array([1, 0, 2]), starts=array([0, 1, 3]))
        """
        if len(codes) == 0 or (codes[0] == codes[-1] and (codes == codes[0]).all()):
            return cls(np.arange(len(codes)), np.unique([0, len(codes)]).astype(np.int64))
        order = np.argsort(codes, kind="stable")
        placed = codes[order]
        edges = np.flatnonzero(placed[1:] != placed[:-1]) + 1
        return cls(order, np.concatenate([[0], edges, [len(codes)]]).astype(np.int64))


def codes_of(table: pa.Table, by: Sequence[str]) -> Ints:
    """A number for each row, equal where all columns of `by` are; null is a value like others.

    >>> rows = pa.table({"a": ["x", "y", "x", None], "b": [1, 1, 1, 1]})
    >>> codes_of(rows, ["a", "b"])
    array([0, 1, 0, 2])
    """
    codes = np.zeros(table.num_rows, np.int64)
    for name in by:
        codes = combine(codes, _codes(table[name]))
    return codes


def combine(left: Ints, right: Ints) -> Ints:
    """Numbers that are equal where both are."""
    if not len(left):
        return left
    _, left = np.unique(left, return_inverse=True)
    _, right = np.unique(right, return_inverse=True)
    return (left * (int(right.max()) + 1) + right).astype(np.int64)


def _codes(column: pa.ChunkedArray) -> Ints:
    if pa.types.is_floating(column.type):
        column = pc.add(column, pa.scalar(0.0, column.type))  # -0.0 is the key 0.0, as in Spark
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False)).astype(np.int64)
