"""Tuples to choose the best of: generated ones that never end, or recorded ones again and again.

>>> Tuples(seed=1, dimensions=2).columns(np.arange(2))["a1"].to_pylist()  # from 0 up to 1,000
[176.0125625659424, 578.125391628098]
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from penstock.core.chance import uniform
from penstock.core.errors import FileError

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

_SPAN: Final = 1000.0
_SPREAD: Final = {"correlated": 0.15, "anti-correlated": 0.05}
"""How far tuples lie from the diagonal, and from the plane across it, as a share of the span."""
_MOST_DIMENSIONS: Final = 32
_OURS: Final = ("ts", "number", "window", "dominance_factor")
"""Columns that tuples have besides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuples:
    """Tuple number i is always the same."""

    seed: int = 0
    dimensions: int = 8
    data: str = "uniform"

    @property
    def schema(self) -> str:
        """Its number, and its coordinates."""
        return f"number long, {', '.join(f'{name} double' for name in self.names)}"

    @property
    def names(self) -> tuple[str, ...]:
        """The coordinates."""
        return tuple(f"a{place + 1}" for place in range(self.dimensions))

    def columns(self, index: Longs) -> dict[str, pa.Array]:
        """The columns of tuples with these numbers."""
        values = self._values(index)
        named = {name: pa.array(values[place]) for place, name in enumerate(self.names)}
        return {"number": pa.array(index), **named}

    def _values(self, index: Longs) -> Floats:
        """By coordinate and tuple."""
        drawn = _SPAN * np.stack([self._draw(index, place) for place in range(self.dimensions)])
        if self.data == "uniform":
            return drawn
        spread = _SPREAD[self.data] * _SPAN
        if self.data == "correlated":
            return self._level(index, _SPAN) + spread * (drawn / _SPAN - 0.5)
        level = 0.5 * _SPAN + self._level(index, spread)
        return np.asarray(drawn - drawn.mean(axis=0) + level)

    def _level(self, index: Longs, span: float) -> Floats:
        return span * self._draw(index, _MOST_DIMENSIONS)

    def _draw(self, index: Longs, purpose: int) -> Floats:
        return uniform(index * (_MOST_DIMENSIONS + 1) + purpose, self.seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The tuples of a file, in their order, and again from the first after the last."""

    path: str

    @property
    def schema(self) -> str:
        """Its number, and its coordinates."""
        quoted = (f"`{name.replace('`', '``')}` double" for name in self.names)
        return f"number long, {', '.join(quoted)}"

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of numbers."""
        return tuple(_recorded(self.path))

    def columns(self, index: Longs) -> dict[str, pa.Array]:
        """The columns of tuples with these numbers."""
        columns = _recorded(self.path)
        place = index % len(next(iter(columns.values())))
        named = {name: pa.array(values[place]) for name, values in columns.items()}
        return {"number": pa.array(index), **named}


@cache
def _recorded(path: str) -> Mapping[str, Floats]:
    """Columns of numbers, by name; read once in every process."""
    table = _read(Path(path))
    numbers = [
        field.name
        for field in table.schema
        if pa.types.is_floating(field.type) or pa.types.is_integer(field.type)
    ]
    for name in table.column_names:
        if name in _OURS or table.column_names.count(name) > 1:
            why = "a name of ours" if name in _OURS else "there twice"
            raise FileError(f"{path} has a column {name!r}, which is {why}; rename it")
    if not table.num_rows or not 1 <= len(numbers) <= _MOST_DIMENSIONS:
        raise FileError(
            f"{path} must have rows and 1 to {_MOST_DIMENSIONS} columns of numbers, "
            f"got {table.num_rows} rows and {len(numbers)}"
        )
    return {name: table[name].cast(pa.float64(), safe=False).to_numpy() for name in numbers}


def _read(path: Path) -> pa.Table:
    try:
        if path.suffix == ".parquet":
            return pyarrow.parquet.read_table(path)
        return pyarrow.csv.read_csv(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise FileError(
            f"tuples cannot be read from {path} ({str(error).splitlines()[0]}); "
            "give a CSV file with a line of names, or a Parquet file"
        ) from None
